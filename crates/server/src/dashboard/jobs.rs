//! Jobs: what was asked, what happened, what came of it.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::Uri;
use axum::response::{IntoResponse, Redirect, Response};
use store::{Event, Filter, Job, JobId, NewJob, Project, Prompt, Pull, Receipt, Status, Terms};

use super::readers::evidence;
use super::session::{Fields, InProject, Named, nav};
use super::view::{
    self, Ended, JobRow, JobState, Jobs, PullRef, PullState, Section, Step, When, blocks, diff_files,
    headline,
};
use super::{Oops, missing, page, page_with, when};
use crate::app::App;
use crate::path::query_value;
use crate::time::{duration, rfc3339};

const PER_PAGE: u32 = 20;

/// `GET /p/{projectId}`: the address that a job names as its repository.
pub(crate) async fn to_list(at: InProject) -> Redirect {
    Redirect::to(&format!("{}/jobs", at.root()))
}

/// `GET /p/{projectId}/jobs`
pub(crate) async fn list(State(app): State<App>, at: InProject, uri: Uri) -> Result<Response, Oops> {
    // Only our own links have one; what is no number is the first page.
    let offset = query_value(&uri, "offset").parse().unwrap_or(0);
    let jobs = Jobs { prompt: evidence::prompt(&uri), ..jobs_page(&app, &at, offset).await? };
    Ok(page(&jobs))
}

/// `POST /p/{projectId}/jobs`
pub(crate) async fn create(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
    let prompt = match Prompt::parse(fields.get("prompt")) {
        Ok(prompt) => prompt,
        Err(error) => {
            let jobs = jobs_page(&app, &at, 0).await?;
            let refused =
                Jobs { error: Some(error.to_string()), prompt: fields.get("prompt").into(), ..jobs };
            return Ok(page_with(StatusCode::BAD_REQUEST, &refused));
        }
    };
    let new = NewJob {
        project: at.project.id.clone(),
        prompt,
        model: at.project.model.clone(),
        base_ref: None,
        branch: None,
        draft: false,
    };
    match app.jobs.insert(&new, &Terms::default()).await? {
        Receipt::Done { job, .. } => Ok(Redirect::to(&href(&at.project, &job.id)).into_response()),
        _ => Ok(missing("job")),
    }
}

/// `GET /p/{projectId}/jobs/{id}`
pub(crate) async fn show(State(app): State<App>, at: InProject, Named(id): Named) -> Result<Response, Oops> {
    let id = JobId(id);
    let project = &at.project;
    let found = app.jobs.find(&project.id, &id).await?.zip(app.jobs.events(&project.id, &id, 0).await?);
    let Some((job, events)) = found else { return Ok(missing("job")) };
    let diff = app.jobs.diff(&project.id, &id).await?.unwrap_or_default();
    let pulls = app.pulls.pulls_by_head(&project.id, &job.branch).await?;
    let now = app.clock.now();
    Ok(page(&view::Job {
        shell: at.shell(&headline(&job.prompt), Section::Jobs),
        id: job.id.0.clone(),
        state: state(&job),
        branch: job.branch.clone(),
        base: job.base_ref.clone(),
        model: job.model.clone(),
        when: when(job.created_at, now),
        duration: took(&job),
        prompt: job.prompt.clone(),
        steps: events.iter().filter(|event| event.kind != "ended").map(|event| step(event, &job)).collect(),
        diff: diff_files(&diff),
        ended: events.iter().rev().find(|event| event.kind == "ended").map(ended),
        pull: pulls.iter().find(|pull| pull.job == job.id.0).map(|pull| pull_ref(project, pull)),
    }))
}

async fn jobs_page(app: &App, at: &InProject, offset: u64) -> Result<Jobs, Oops> {
    let jobs =
        app.jobs.list(&at.project.id, &Filter { limit: PER_PAGE, offset, ..Filter::default() }).await?;
    let turn = |offset: u64| format!("{}/jobs?offset={offset}", at.root());
    let per_page = u64::from(PER_PAGE);
    Ok(Jobs {
        shell: at.shell("Jobs", Section::Jobs),
        jobs: rows(app, &at.project, &jobs.items).await?,
        newer: (offset > 0).then(|| turn(offset.saturating_sub(per_page))),
        older: jobs.has_more.then(|| turn(offset.saturating_add(per_page))),
        error: None,
        prompt: String::new(),
    })
}

pub(super) async fn rows(app: &App, project: &Project, jobs: &[Job]) -> Result<Vec<JobRow>, Oops> {
    let now = app.clock.now();
    let mut rows = Vec::with_capacity(jobs.len());
    for job in jobs {
        let pulls = app.pulls.pulls_by_head(&project.id, &job.branch).await?;
        rows.push(JobRow {
            href: href(project, &job.id),
            state: state(job),
            title: headline(&job.prompt),
            branch: job.branch.clone(),
            pull: pulls.iter().find(|pull| pull.job == job.id.0).map(|pull| pull_ref(project, pull)),
            when: when(job.created_at, now),
            duration: took(job),
        });
    }
    Ok(rows)
}

pub(super) fn href(project: &Project, id: &JobId) -> String {
    format!("{}/jobs/{id}", nav(project).root())
}

pub(super) fn pull_state(state: store::PullState) -> PullState {
    match state {
        store::PullState::Open => PullState::Open,
        store::PullState::Merged => PullState::Merged,
        store::PullState::Closed => PullState::Closed,
    }
}

fn pull_ref(project: &Project, pull: &Pull) -> PullRef {
    let href = format!("{}/pulls/{}", nav(project).root(), pull.number);
    PullRef { href, number: pull.number, state: pull_state(pull.state) }
}

fn state(job: &Job) -> JobState {
    match job.status {
        Status::Active => JobState::Running,
        Status::Completed if job.pr_link.is_none() => JobState::NoChange,
        Status::Completed => JobState::Completed,
        Status::Failed => JobState::Failed,
        Status::Archived => JobState::Archived,
    }
}

fn took(job: &Job) -> Option<String> {
    job.ended_at.map(|end| duration(end.duration_since(job.created_at)))
}

/// Timed from the moment it was asked for: that is what one waits from.
fn step(event: &Event, job: &Job) -> Step {
    let since = duration(event.at.duration_since(job.created_at));
    let when = When { iso: rfc3339(event.at), text: since };
    Step { number: event.number, kind: event.kind.clone(), text: text(event, "message"), when }
}

fn ended(event: &Event) -> Ended {
    let report = event.data.get("report");
    let notes = report.and_then(|report| report.get("notes")?.as_array().cloned()).unwrap_or_default();
    let summary = report.and_then(|report| report.get("summary")?.as_str()).unwrap_or_default();
    Ended {
        reason: text(event, "message"),
        summary: blocks(summary),
        notes: notes.iter().filter_map(|note| note.as_str().map(str::to_owned)).collect(),
    }
}

fn text(event: &Event, field: &str) -> String {
    event.data.get(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}
