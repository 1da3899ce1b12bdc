//! Streams a job's events as they happen, to a client of the API or a page of the dashboard.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::future::poll_immediate;
use futures_util::stream::{self, Stream};
use store::{Event, JobId, KeyText, Project, ProjectId, Status, Token};
use wire::JobEvent;

use crate::app::App;
use crate::streams::StreamPermit;
use crate::time::rfc3339;

/// How often to poll for events without a notification, such as those of another process.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The credential that a stream was opened with. The stream ends when the credential does.
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
    last_event: u64,
    has_ended: bool,
}

impl Watch {
    /// Starts after the event `last_event`. `None` when too many streams are open.
    pub fn open(
        app: App,
        project: &Project,
        credential: Credential,
        id: JobId,
        last_event: u64,
    ) -> Option<Self> {
        let permit = app.streams.open(&project.organization, credential.hash())?;
        let project = project.id.clone();
        Some(Self { permit, app, credential, project, id, last_event, has_ended: false })
    }

    /// Renders each event with `render`.
    pub fn into_response(self, render: fn(Event) -> SseEvent) -> Response {
        let events = stream(self, render);
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
    }

    /// Waits for the next events. `None` when there will be no more.
    async fn next(&mut self) -> Option<Vec<Event>> {
        while !self.has_ended {
            // Subscribes before the read, so that no event is missed between the two.
            let mut notification = self.app.jobs.wait_for_events();
            let is_notified = poll_immediate(&mut notification).await.is_some();
            // Reads the status first: if the job ended, all its events exist.
            let progress = self.app.jobs.progress(&self.project, &self.id).await.ok()??;
            self.has_ended = progress.status != Status::Active;
            let events = match progress.last_event > self.last_event {
                true => self.app.jobs.events(&self.project, &self.id, self.last_event).await.ok()??,
                false => Vec::new(),
            };
            // Checks the credential after the read, so that no event from after its end is sent.
            let exists = self.app.accounts.project(&self.project).await.ok()?.is_some();
            if !exists || !self.credential.is_valid(&self.app).await.ok()? {
                return None;
            }
            if let Some(last) = events.last() {
                self.last_event = last.number;
                return Some(events);
            }
            if !self.has_ended && !is_notified {
                let _ = tokio::time::timeout(POLL_INTERVAL, notification).await;
            }
        }
        None
    }
}

/// Ends when the job ended and all its events were sent. Also ends between two events when the server stops
/// or the stream is closed for another one: the client can reconnect and name its last event.
fn stream(watch: Watch, render: fn(Event) -> SseEvent) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    let (stop, cut) = (watch.app.stop.clone(), watch.permit.cut.clone());
    let end = async move {
        tokio::select! { () = stop.cancelled() => {}, () = cut.cancelled() => {} }
    };
    let batches = stream::unfold(watch, move |mut watch| async move {
        let events = watch.next().await?;
        Some((stream::iter(events.into_iter().map(move |event| Ok(render(event)))), watch))
    });
    batches.flatten().take_until(end)
}

/// The number of the last event that a reconnecting client received. Other values of the header are ignored.
pub fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

pub fn job_event(event: Event) -> JobEvent {
    JobEvent { number: event.number, at: rfc3339(event.at), r#type: event.kind, data: event.data }
}
