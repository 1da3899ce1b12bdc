//! Agent jobs: create, poll, and see what happens inside.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::IntoResponse;
use store::{Event, Job, NewJob, Project, Prompt};
use wire::{AgentJob, CreateJob, JobEvent, Source};

use super::body::Json;
use super::caller::{Caller, JobPath};
use super::error::ApiError;
use crate::app::App;
use crate::time::rfc3339;

/// `POST /v2/agent/{projectId}/job`: starts an edit of the project's docs repository.
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<CreateJob>,
) -> Result<impl IntoResponse, ApiError> {
    let prompt = Prompt::parse(&body.prompt)?;
    let new = NewJob { project: caller.project.id.clone(), prompt, model: caller.project.model.clone() };
    let job = app.jobs.insert(&new).await?;
    let location = format!("/v2/agent/{}/job/{}", caller.project.id, job.id);
    let job = agent_job(&app, &caller.project, &job);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Answer(job)))
}

/// `GET /v2/agent/{projectId}/job/{id}`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<Answer<AgentJob>, ApiError> {
    let job = app.jobs.find(&caller.project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    Ok(Answer(agent_job(&app, &caller.project, &job)))
}

/// `GET /v2/agent/{projectId}/job/{id}/events`
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<Answer<Vec<JobEvent>>, ApiError> {
    let events = app.jobs.events(&caller.project.id, &id, 0).await?.ok_or(ApiError::NoSuchJob)?;
    Ok(Answer(events.into_iter().map(job_event).collect()))
}

/// `GET /v2/agent/{projectId}/job/{id}/diff`
pub(super) async fn diff(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<impl IntoResponse, ApiError> {
    let diff = app.jobs.diff(&caller.project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    Ok(([(CONTENT_TYPE, "text/x-diff; charset=utf-8")], diff))
}

fn agent_job(app: &App, project: &Project, job: &Job) -> AgentJob {
    AgentJob {
        id: job.id.0.clone(),
        status: job.status.as_str().into(),
        source: Source { repository: app.hosts.web_url(project), r#ref: job.branch.clone() },
        model: job.model.clone(),
        pr_link: job.pr_link.clone(),
        created_at: rfc3339(job.created_at),
        archived_at: job.archived_at.map(rfc3339),
    }
}

fn job_event(event: Event) -> JobEvent {
    JobEvent { number: event.number, at: rfc3339(event.at), r#type: event.kind, data: event.data }
}
