//! Returns the events of a job: those so far as JSON, or a stream of server-sent events.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::sse;
use axum::response::{IntoResponse, Response};
use store::Event;
use traffic::weighted_items;

use super::caller::{Caller, JobPath};
use super::error::ApiError;
use app::App;
use app::watch::{Watch, job_event, last_event_id};

/// `GET /v2/agent/{projectId}/job/{id}/events`
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Caller { project, credential, .. } = caller;
    if !wants_stream(&headers) {
        let events = app.jobs.events(&project.id, &id, 0).await?.ok_or(ApiError::NoSuchJob)?;
        return Ok(Json(events.into_iter().map(job_event).collect::<Vec<_>>()).into_response());
    }
    app.jobs.find(&project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    let watch = Watch::open(app, &project, credential, id, last_event_id(&headers).unwrap_or(0));
    Ok(watch.ok_or(ApiError::Busy)?.into_response(sse_event))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(weighted_items).any(|item| item.name.eq_ignore_ascii_case("text/event-stream"))
}

/// Whether a response with these headers is a stream of events.
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

fn sse_event(event: Event) -> sse::Event {
    let (number, kind) = (event.number.to_string(), event.kind.clone());
    let data = serde_json::to_string(&job_event(event)).unwrap_or_default();
    sse::Event::default().id(number).event(kind).data(data)
}
