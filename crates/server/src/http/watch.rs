//! A job's events: as they happen, or all that there are.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::future::poll_immediate;
use futures_util::stream::{self, Stream};
use store::{Event, JobId, ProjectId, Status};
use tokio::sync::OwnedSemaphorePermit;
use wire::JobEvent;

use super::caller::{Caller, JobPath};
use super::error::ApiError;
use crate::app::App;
use crate::time::rfc3339;

/// How often to look for what nobody rang the bell for, such as another process's doing.
const LOOK: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `GET /v2/agent/{projectId}/job/{id}/events`
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let project = caller.project.id;
    if !wants_stream(&headers) {
        let events = app.jobs.events(&project, &id, 0).await?.ok_or(ApiError::NoSuchJob)?;
        return Ok(Answer(events.into_iter().map(job_event).collect::<Vec<_>>()).into_response());
    }
    app.jobs.find(&project, &id).await?.ok_or(ApiError::NoSuchJob)?;
    // A stream is never cut off for a newcomer, so there may be some and no more.
    let open = app.streams.clone().try_acquire_owned().map_err(|_| ApiError::Busy)?;
    let watch = Watch { _open: open, app, project, id, seen: last_seen(&headers), over: false };
    Ok(Sse::new(stream(watch)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// Whether these are the headers of a stream.
pub(crate) fn is_event_stream(answer: &HeaderMap) -> bool {
    answer.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// What is no number was not ours: begin at the beginning.
fn last_seen(headers: &HeaderMap) -> u64 {
    let sent = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    sent.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

struct Watch {
    _open: OwnedSemaphorePermit,
    app: App,
    project: ProjectId,
    id: JobId,
    seen: u64,
    over: bool,
}

/// Ends when the job has ended and all of its events were sent, or between two events when the
/// server stops: the client comes again and says which was its last.
fn stream(watch: Watch) -> impl Stream<Item = Result<Sent, Infallible>> {
    let stop = watch.app.stop.clone().cancelled_owned();
    let batches = stream::unfold(watch, |mut watch| async move {
        let events = watch.next().await?;
        Some((stream::iter(events.into_iter().map(|event| Ok(sent(event)))), watch))
    });
    batches.flatten().take_until(stop)
}

impl Watch {
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

fn sent(event: Event) -> Sent {
    let (number, kind) = (event.number.to_string(), event.kind.clone());
    let data = serde_json::to_string(&job_event(event)).unwrap_or_default();
    Sent::default().id(number).event(kind).data(data)
}

pub(super) fn job_event(event: Event) -> JobEvent {
    JobEvent { number: event.number, at: rfc3339(event.at), r#type: event.kind, data: event.data }
}
