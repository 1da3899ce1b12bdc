//! Returns the state of a job's pull request. A failed follow-up changes the status of its job, but not the pull
//! request, which may still be open.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use store::{Event, Job, PullState};
use wire::JobPull;

use super::caller::{Caller, JobPath};
use super::error::ApiError;
use app::App;
use app::hosts::pull_number;
use app::time::rfc3339;

/// How long to wait for the host. Afterwards the last known state is returned.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// `GET /v2/agent/{projectId}/job/{id}/pull`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<Json<JobPull>, ApiError> {
    let project = &caller.project;
    let job = app.jobs.find(&project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    if let Some(refreshing) = app.hosts.refresh_pull_state(project, &job) {
        // The refresh continues in the background, and the next request returns its result.
        let _ = tokio::time::timeout(MAX_WAIT, refreshing).await;
    }
    let job = app.jobs.find(&project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    let events = app.jobs.events(&project.id, &id, 0).await?.unwrap_or_default();
    let checked_at = job.pr_link.as_deref().and_then(|link| app.hosts.last_check(link));
    job_pull(&job, &events, checked_at).map(Json).ok_or(ApiError::NoPull)
}

/// `None` if the job has no pull request.
fn job_pull(job: &Job, events: &[Event], checked_at: Option<Timestamp>) -> Option<JobPull> {
    let link = job.pr_link.as_ref()?;
    Some(JobPull {
        state: job.pr_state.unwrap_or(PullState::Open).as_str().into(),
        number: pull_number(link),
        url: link.clone(),
        head: job.pr_head.as_ref().unwrap_or(&job.branch).clone(),
        base: job.base_ref.clone(),
        known_at: known_at(events).map(rfc3339),
        checked_at: checked_at.map(rfc3339),
    })
}

/// When the state became known: at the last event about it, or when the last run succeeded, which needs an open one.
fn known_at(events: &[Event]) -> Option<Timestamp> {
    let is_about_pull = |event: &&Event| {
        let reason = event.data.get("reason").and_then(|reason| reason.as_str());
        event.kind == "pull_request"
            || event.kind == "ended" && matches!(reason, Some("completed" | "already_proposed"))
    };
    events.iter().rfind(is_about_pull).or(events.last()).map(|event| event.at)
}
