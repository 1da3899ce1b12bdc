//! Returns the transcript of a job: its events and its conversation with the model, as lines of JSON.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use store::MAX_ENTRY_BYTES;

use super::caller::{Caller, JobPath};
use super::error::ApiError;
use app::App;
use app::transcript;

/// `GET /v2/agent/{projectId}/job/{id}/transcript`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<impl IntoResponse, ApiError> {
    app.jobs.find(&caller.project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    let memory = app.response_budget.try_acquire(MAX_ENTRY_BYTES).ok_or(ApiError::Busy)?;
    let Caller { project, actor, .. } = caller;
    let lines = transcript::stream_lines(app.clone(), memory, project.id.clone(), id.clone()).await?;
    let lines = lines.ok_or(ApiError::NoSuchJob)?;
    transcript::audit_download(&app, &actor, &project, &id).await?;
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], lines))
}
