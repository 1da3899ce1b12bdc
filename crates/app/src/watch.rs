//! A job's events as they happen, for whoever may see them: a client of the API, or a page.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::future::poll_immediate;
use futures_util::stream::{self, Stream};
use store::{Event, JobId, KeyText, Project, ProjectId, Status, Token};
use wire::JobEvent;

use crate::app::App;
use crate::streams::StreamPermit;
use crate::time::rfc3339;

/// How often to look for what nobody rang the bell for, such as another process's doing.
const LOOK: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a stream was opened with. The stream ends when this does.
pub enum Credential {
    Key(KeyText),
    Session(Token),
}

impl Credential {
    fn hash(&self) -> Vec<u8> {
        match self {
            Self::Key(text) => text.hash(),
            Self::Session(token) => token.hash(),
        }
    }

    async fn is_valid(&self, app: &App) -> store::Result<bool> {
        Ok(match self {
            Self::Key(text) => app.accounts.key(text).await?.is_some_and(|key| key.is_live),
            Self::Session(token) => app.sessions.session(token).await?.is_some(),
        })
    }
}

pub struct Watch {
    permit: StreamPermit,
    app: App,
    credential: Credential,
    project: ProjectId,
    id: JobId,
    seen: u64,
    over: bool,
}

impl Watch {
    /// From the event after number `seen` on. `None` when too many are open, and nobody has more than this
    /// organization and this credential.
    pub fn open(app: App, project: &Project, credential: Credential, id: JobId, seen: u64) -> Option<Self> {
        let permit = app.streams.open(&project.organization, credential.hash())?;
        Some(Self { permit, app, credential, project: project.id.clone(), id, seen, over: false })
    }

    /// Each event as `sent` writes it.
    pub fn answer(self, sent: fn(Event) -> Sent) -> Response {
        let events = stream(self, sent);
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
    }

    /// The next events, once there are some; `None` when there will be no more.
    async fn next(&mut self) -> Option<Vec<Event>> {
        while !self.over {
            // Listened for from before the look, so that nothing falls between the two.
            let mut bell = self.app.jobs.wait_for_events();
            let rang = poll_immediate(&mut bell).await.is_some();
            // The status first: the events of an ended job are all there.
            let progress = self.app.jobs.progress(&self.project, &self.id).await.ok()??;
            self.over = progress.status != Status::Active;
            let events = match progress.last_event > self.seen {
                true => self.app.jobs.events(&self.project, &self.id, self.seen).await.ok()??,
                false => Vec::new(),
            };
            // Checked after the events are read: nothing that was written after the end of a key or a session is sent.
            let is_there = self.app.accounts.project(&self.project).await.ok()?.is_some();
            if !is_there || !self.credential.is_valid(&self.app).await.ok()? {
                return None;
            }
            if let Some(last) = events.last() {
                self.seen = last.number;
                return Some(events);
            }
            if !self.over && !rang {
                let _ = tokio::time::timeout(LOOK, bell).await;
            }
        }
        None
    }
}

/// Ends when the job has ended and all of its events were sent, or between two events when the server stops or the
/// stream gives way to another: the client comes again and says which was its last.
fn stream(watch: Watch, sent: fn(Event) -> Sent) -> impl Stream<Item = Result<Sent, Infallible>> {
    let (stop, cut) = (watch.app.stop.clone(), watch.permit.cut.clone());
    let end = async move {
        tokio::select! { () = stop.cancelled() => {}, () = cut.cancelled() => {} }
    };
    let batches = stream::unfold(watch, move |mut watch| async move {
        let events = watch.next().await?;
        Some((stream::iter(events.into_iter().map(move |event| Ok(sent(event)))), watch))
    });
    batches.flatten().take_until(end)
}

/// The last event that whoever comes again has; what is no number was not ours.
pub fn last_seen(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

pub fn job_event(event: Event) -> JobEvent {
    JobEvent { number: event.number, at: rfc3339(event.at), r#type: event.kind, data: event.data }
}
