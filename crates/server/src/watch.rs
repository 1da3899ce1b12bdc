//! A job's events as they happen, for whoever may see them: a client of the API, or a page.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::future::poll_immediate;
use futures_util::stream::{self, Stream};
use store::{Event, JobId, ProjectId, Status};
use tokio::sync::OwnedSemaphorePermit;
use wire::JobEvent;

use crate::app::App;
use crate::time::rfc3339;

/// How often to look for what nobody rang the bell for, such as another process's doing.
const LOOK: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) struct Watch {
    _open: OwnedSemaphorePermit,
    app: App,
    project: ProjectId,
    id: JobId,
    seen: u64,
    over: bool,
}

impl Watch {
    /// From the event after number `seen` on. `None` when too many are open: a stream is never cut off for a
    /// newcomer, so there may be some and no more.
    pub(crate) fn open(app: App, project: ProjectId, id: JobId, seen: u64) -> Option<Self> {
        let open = app.streams.clone().try_acquire_owned().ok()?;
        Some(Self { _open: open, app, project, id, seen, over: false })
    }

    /// Each event as `sent` writes it.
    pub(crate) fn answer(self, sent: fn(Event) -> Sent) -> Response {
        let events = stream(self, sent);
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
    }

    /// The next events, once there are some; `None` when there will be no more.
    async fn next(&mut self) -> Option<Vec<Event>> {
        while !self.over {
            // Listened for from before the look, so that nothing falls between the two.
            let mut bell = self.app.jobs.event_came();
            let rang = poll_immediate(&mut bell).await.is_some();
            // The status first: the events of an ended job are all there.
            let job = self.app.jobs.find(&self.project, &self.id).await.ok()??;
            self.over = job.status != Status::Active;
            let events = self.app.jobs.events(&self.project, &self.id, self.seen).await.ok()??;
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

/// Ends when the job has ended and all of its events were sent, or between two events when the
/// server stops: the client comes again and says which was its last.
fn stream(watch: Watch, sent: fn(Event) -> Sent) -> impl Stream<Item = Result<Sent, Infallible>> {
    let stop = watch.app.stop.clone().cancelled_owned();
    let batches = stream::unfold(watch, move |mut watch| async move {
        let events = watch.next().await?;
        Some((stream::iter(events.into_iter().map(move |event| Ok(sent(event)))), watch))
    });
    batches.flatten().take_until(stop)
}

/// The last event that whoever comes again has; what is no number was not ours.
pub(crate) fn last_seen(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

pub(crate) fn job_event(event: Event) -> JobEvent {
    JobEvent { number: event.number, at: rfc3339(event.at), r#type: event.kind, data: event.data }
}
