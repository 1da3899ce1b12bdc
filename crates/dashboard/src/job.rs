//! Shows a job with its prompt, its live steps, its result and its diff, and handles follow-ups, archive and retry.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::sse::Event as SseEvent;
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    Archived, Event, Finding, Job, JobId, MAX_ENTRY_BYTES, NewJob, Prompt, Quotation, Receipt, Status,
};

use super::findings::load_fixed_findings;
use super::jobs::{
    StartRefusal, href, idempotent_terms, new_form_token, pull_ref, run_time, start_once, state, terms,
};
use super::session::{FormFields, ProjectContext, ResourceId};
use super::view::{
    self, DisplayTime, JobResult, Section, Step, blocks, count, diff_files, headline, truncate_files,
};
use super::{PageError, display_time, not_found_page, notice_page, page_with};
use app::App;
use app::hosts::is_on_the_web;
use app::path::query_value;
use app::time::{duration, rfc3339};
use app::watch::{Credential, Watch, last_event_id};

/// How often a request checks whether the worker released the job. The archive happens even if that takes longer.
const ARCHIVE_POLLS: u32 = 20;
const ARCHIVE_POLL_INTERVAL: Duration = Duration::from_millis(100);
const HOST_TIMEOUT: Duration = Duration::from_secs(1);

/// `GET /p/{projectId}/jobs/{id}`
pub(crate) async fn show(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    uri: Uri,
) -> Result<Response, PageError> {
    let (all, id) = (query_value(&uri, "all") == "1", JobId(id));
    refresh_pull_state(&app, &ctx, &id).await?;
    job_page(&app, &ctx, &id, PageState { all, ..PageState::default() }).await
}

/// Asks the host for the state of the pull request. If the host is slow, the page shows the last known state.
async fn refresh_pull_state(app: &App, ctx: &ProjectContext, id: &JobId) -> Result<(), PageError> {
    if !is_on_the_web(&ctx.project.repository) {
        return Ok(());
    }
    let job = app.jobs.find(&ctx.project.id, id).await?;
    if let Some(refresh) = job.and_then(|job| app.hosts.refresh_pull_state(&ctx.project, &job)) {
        let _ = tokio::time::timeout(HOST_TIMEOUT, refresh).await;
    }
    Ok(())
}

/// `GET /p/{projectId}/jobs/{id}/events`: notifies the page of new events. The page then fetches itself again.
pub(crate) async fn events(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let id = JobId(id);
    if app.jobs.find(&ctx.project.id, &id).await?.is_none() {
        return Ok(not_found_page("job"));
    }
    let last_event = last_event_id(&headers).or_else(|| query_value(&uri, "after").parse().ok());
    let credential = Credential::Session(ctx.user.token);
    match Watch::open(app, &ctx.project, credential, id, last_event.unwrap_or(0)) {
        Some(watch) => {
            Ok(watch
                .into_response(|event: Event| SseEvent::default().id(event.number.to_string()).data("news")))
        }
        None => Ok(busy_page()),
    }
}

/// `GET /p/{projectId}/jobs/{id}/transcript`
pub(crate) async fn transcript(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
) -> Result<Response, PageError> {
    let Some(budget) = app.response_budget.try_acquire(MAX_ENTRY_BYTES) else { return Ok(busy_page()) };
    let (actor, project, id) = (ctx.user.actor(), ctx.project, JobId(id));
    let lines = app::transcript::stream_lines(app.clone(), budget, project.id.clone(), id.clone()).await?;
    let Some(lines) = lines else { return Ok(not_found_page("job")) };
    app::transcript::audit_download(&app, &actor, &project, &id).await?;
    let file = "attachment; filename=\"transcript.ndjson\"";
    Ok(([(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, file)], lines).into_response())
}

/// `POST /p/{projectId}/jobs/{id}/message`
pub(crate) async fn message(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    fields: FormFields,
) -> Result<Response, PageError> {
    let (id, typed) = (JobId(id), fields.get("prompt"));
    let refused = |status, error| PageState { status, error: Some(error), typed: typed.into(), all: false };
    let prompt = match Prompt::parse(typed) {
        Ok(prompt) => prompt,
        Err(error) => {
            return job_page(&app, &ctx, &id, refused(StatusCode::BAD_REQUEST, error.to_string())).await;
        }
    };
    let once = idempotent_terms(&app, &ctx, "message", fields.get("once"), &prompt);
    let mut receipt = app.jobs.message(&ctx.project.id, &id, &prompt, &once).await?;
    if matches!(receipt, Some(Receipt::KeyReused)) {
        receipt = app.jobs.message(&ctx.project.id, &id, &prompt, &terms(&app, &ctx)).await?;
    }
    match receipt {
        Some(Receipt::LimitReached(usage)) => {
            let refusal = StartRefusal::LimitReached(usage);
            let state = refused(refusal.status(), refusal.sentence());
            Ok(refusal.set_retry_after(job_page(&app, &ctx, &id, state).await?))
        }
        Some(Receipt::Refused(why)) => job_page(&app, &ctx, &id, refused(StatusCode::CONFLICT, why)).await,
        Some(_) => Ok(Redirect::to(&href(&ctx.project, &id)).into_response()),
        None => Ok(not_found_page("job")),
    }
}

/// `POST /p/{projectId}/jobs/{id}/archive`
pub(crate) async fn archive(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    let id = JobId(id);
    let Some(before) = app.jobs.find(&ctx.project.id, &id).await? else { return Ok(not_found_page("job")) };
    for _ in 0..ARCHIVE_POLLS {
        match app.jobs.archive(&ctx.project.id, &id).await? {
            None => return Ok(not_found_page("job")),
            Some(Archived::Done(_)) => break,
            Some(Archived::Waiting) => tokio::time::sleep(ARCHIVE_POLL_INTERVAL).await,
        }
    }
    if before.status != Status::Archived {
        ctx.user.record_audit(&app, "archived the job", &format!("{} {id}", ctx.project.name)).await?;
    }
    Ok(Redirect::to(&href(&ctx.project, &id)).into_response())
}

/// `POST /p/{projectId}/jobs/{id}/retry`: creates a new job with the same prompt, on a new branch.
pub(crate) async fn retry(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    fields: FormFields,
) -> Result<Response, PageError> {
    let id = JobId(id);
    let Some(job) = app.jobs.find(&ctx.project.id, &id).await? else { return Ok(not_found_page("job")) };
    let findings = app.findings.findings_of_job(&ctx.project.id, &id).await?;
    let waiting = findings.into_iter().filter(Finding::waits_for_job);
    let new = NewJob {
        project: job.project,
        prompt: Prompt::with_context(&job.prompt, job.context)?,
        model: job.model,
        base_ref: job.base_ref,
        branch: None,
        draft: job.draft,
        findings: waiting.map(|finding| finding.id).collect(),
    };
    match start_once(&app, &ctx, &new, ("retry", fields.get("once"))).await? {
        Ok(response) => Ok(response),
        Err(refusal) => {
            let (status, error) = (refusal.status(), Some(refusal.sentence()));
            let state = PageState { status, error, ..PageState::default() };
            Ok(refusal.set_retry_after(job_page(&app, &ctx, &id, state).await?))
        }
    }
}

fn busy_page() -> Response {
    let message = "Too many people are watching jobs or downloading transcripts. Try again later.";
    notice_page(StatusCode::SERVICE_UNAVAILABLE, "The server is overloaded", message)
}

/// What the page shows beside the job.
#[derive(Default)]
struct PageState {
    status: StatusCode,
    error: Option<String>,
    /// The follow-up as typed, if it was refused.
    typed: String,
    /// Show the full diff, however large it is.
    all: bool,
}

async fn job_page(
    app: &App,
    ctx: &ProjectContext,
    id: &JobId,
    page_state: PageState,
) -> Result<Response, PageError> {
    let project = &ctx.project;
    let found = app.jobs.find(&project.id, id).await?.zip(app.jobs.events(&project.id, id, 0).await?);
    let Some((job, events)) = found else { return Ok(not_found_page("job")) };
    let mut diff = diff_files(&app.jobs.diff(&project.id, id).await?.unwrap_or_default());
    let is_truncated = !page_state.all && truncate_files(&mut diff);
    let (own_href, state) = (href(project, id), state(&job));
    let page = view::Job {
        shell: ctx.shell(&headline(&job.prompt), Section::Jobs),
        id: id.0.clone(),
        state,
        branch: job.pull_branch().to_owned(),
        names_other_pull: job.pr_head.is_some(),
        base: job.base_ref.clone(),
        model: job.model.clone(),
        when: display_time(job.created_at, app.clock.now()),
        creator: job.created_by.as_ref().map(ToString::to_string),
        duration: run_time(&job),
        usage: usage(&job, &events),
        steps: events.iter().filter(|event| event.kind != "ended").map(|event| step(event, &job)).collect(),
        is_waiting: state.is_active() && is_waiting(&events),
        diff,
        full_diff: is_truncated.then(|| format!("{own_href}?all=1")),
        result: events
            .iter()
            .rev()
            .find(|event| event.kind == "ended")
            .filter(|_| !state.is_active())
            .map(read_result),
        pull: pull_ref(app, &job),
        fixes: load_fixed_findings(app, ctx, &job).await?,
        href: own_href,
        prompt: job.prompt,
        quotations: job.context.into_iter().map(quoted).collect(),
        error: page_state.error,
        follow_up: page_state.typed,
        once: new_form_token(),
    };
    Ok(page_with(page_state.status, &page))
}

fn quoted(quotation: Quotation) -> (String, view::Quotation) {
    (quotation.label, view::Quotation::new(&quotation.text))
}

/// Whether no worker has started since the job was created or got its last follow-up.
fn is_waiting(events: &[Event]) -> bool {
    let last =
        events.iter().rev().find(|event| matches!(event.kind.as_str(), "created" | "message" | "started"));
    last.is_none_or(|event| event.kind != "started")
}

/// The tokens of all runs, and their cost if it's known.
fn usage(job: &Job, events: &[Event]) -> Option<String> {
    let costs = events.iter().filter_map(|event| event.data.get("usage")?.get("cost")?.as_f64());
    let tokens = (job.tokens > 0).then(|| count(job.tokens, "token"))?;
    match costs.fold(None, |sum: Option<f64>, cost| Some(sum.unwrap_or(0.0) + cost)) {
        Some(cost) => Some(format!("{tokens}, ${cost:.2}")),
        None => Some(tokens),
    }
}

/// The time of a step is the time since the job was created.
fn step(event: &Event, job: &Job) -> Step {
    let elapsed = duration(event.at.duration_since(job.created_at));
    let when = DisplayTime { iso: rfc3339(event.at), text: elapsed };
    let message = match event.kind.as_str() {
        "message" => format!("Follow-up: {}{}", headline(&text(event, "prompt")), quotation_count(event)),
        _ => text(event, "message"),
    };
    Step { number: event.number, kind: event.kind.replace('_', " "), text: message, when }
}

/// The number of quotations of a follow-up. Empty if it has none.
fn quotation_count(event: &Event) -> String {
    let context = event.data.get("context").and_then(|context| context.as_array());
    match context.map_or(0, Vec::len) {
        0 => String::new(),
        quotations => format!(" (with {})", count(quotations as u64, "quotation")),
    }
}

fn read_result(event: &Event) -> JobResult {
    let report = event.data.get("report");
    let summary = report.and_then(|report| report.get("summary")?.as_str()).unwrap_or_default();
    JobResult {
        reason: text(event, "message"),
        summary: blocks(summary),
        notes: sentences(report.and_then(|report| report.get("notes"))),
        checks: sentences(event.data.get("checks")),
    }
}

fn sentences(list: Option<&serde_json::Value>) -> Vec<String> {
    let list = list.and_then(|list| list.as_array()).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn text(event: &Event, field: &str) -> String {
    event.data.get(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}
