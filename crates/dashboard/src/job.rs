//! A job: what was asked, what happened as it happens, what came of it, and what can be done about it.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::sse::Event as Sent;
use axum::response::{IntoResponse, Redirect, Response};
use store::{Archived, Event, Job, JobId, MAX_ENTRY_BYTES, NewJob, Prompt, Receipt, Status};

use super::jobs::{
    href, limit_sentence, new_form, once, pull_ref, retry_after, start_once, state, terms, took, with_commas,
};
use super::session::{Fields, InProject, Named};
use super::view::{self, Ended, Section, Step, When, blocks, diff_files, fit, headline};
use super::{Oops, missing, notice, page_with, when};
use app::App;
use app::hosts::is_on_the_web;
use app::path::query_value;
use app::time::{duration, rfc3339};
use app::watch::{Credential, Watch, last_seen};

/// How long a page waits for a worker to let go; the wish is kept, and the page tells when it is fulfilled.
const ARCHIVE_LOOKS: u32 = 20;
const HOST_PATIENCE: Duration = Duration::from_secs(1);
const ARCHIVE_LOOK: Duration = Duration::from_millis(100);

/// `GET /p/{projectId}/jobs/{id}`
pub(crate) async fn show(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
    uri: Uri,
) -> Result<Response, Oops> {
    let (all, id) = (query_value(&uri, "all") == "1", JobId(id));
    ask_the_host(&app, &at, &id).await?;
    job_page(&app, &at, &id, Shown { all, ..Shown::default() }).await
}

/// What is on the page is to be so now, if the host is quick to say it.
async fn ask_the_host(app: &App, at: &InProject, id: &JobId) -> Result<(), Oops> {
    if !is_on_the_web(&at.project.repository) {
        return Ok(());
    }
    let job = app.jobs.find(&at.project.id, id).await?;
    if let Some(looking) = job.and_then(|job| app.hosts.look_at(&at.project, &job)) {
        let _ = tokio::time::timeout(HOST_PATIENCE, looking).await;
    }
    Ok(())
}

/// `GET /p/{projectId}/jobs/{id}/events`: says that there is news, and the page fetches itself.
pub(crate) async fn events(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Oops> {
    let id = JobId(id);
    if app.jobs.find(&at.project.id, &id).await?.is_none() {
        return Ok(missing("job"));
    }
    let seen = last_seen(&headers).or_else(|| query_value(&uri, "after").parse().ok());
    let credential = Credential::Session(at.visitor.token);
    match Watch::open(app, &at.project, credential, id, seen.unwrap_or(0)) {
        Some(watch) => {
            Ok(watch.answer(|event: Event| Sent::default().id(event.number.to_string()).data("news")))
        }
        None => Ok(busy()),
    }
}

/// `GET /p/{projectId}/jobs/{id}/transcript`
pub(crate) async fn transcript(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
) -> Result<Response, Oops> {
    let Some(room) = app.answers.take(MAX_ENTRY_BYTES) else { return Ok(busy()) };
    let (actor, project, id) = (at.visitor.actor(), at.project, JobId(id));
    let lines = app::transcript::lines(app.clone(), room, project.id.clone(), id.clone()).await?;
    let Some(lines) = lines else { return Ok(missing("job")) };
    app::transcript::note_download(&app, &actor, &project, &id).await?;
    let file = "attachment; filename=\"transcript.ndjson\"";
    Ok(([(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, file)], lines).into_response())
}

/// `POST /p/{projectId}/jobs/{id}/message`
pub(crate) async fn message(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
    fields: Fields,
) -> Result<Response, Oops> {
    let (id, typed) = (JobId(id), fields.get("prompt"));
    let again = |status, error| Shown { status, error: Some(error), typed: typed.into(), all: false };
    let prompt = match Prompt::parse(typed) {
        Ok(prompt) => prompt,
        Err(error) => {
            return job_page(&app, &at, &id, again(StatusCode::BAD_REQUEST, error.to_string())).await;
        }
    };
    let this = once(&app, &at, "message", fields.get("once"), &prompt);
    let mut sent = app.jobs.message(&at.project.id, &id, &prompt, &this).await?;
    if matches!(sent, Some(Receipt::KeyReused)) {
        sent = app.jobs.message(&at.project.id, &id, &prompt, &terms(&app, &at)).await?;
    }
    match sent {
        Some(Receipt::LimitReached(usage)) => {
            let shown = again(StatusCode::TOO_MANY_REQUESTS, limit_sentence(&usage));
            Ok(retry_after(job_page(&app, &at, &id, shown).await?, &usage))
        }
        Some(Receipt::Refused(why)) => job_page(&app, &at, &id, again(StatusCode::CONFLICT, why)).await,
        Some(_) => Ok(Redirect::to(&href(&at.project, &id)).into_response()),
        None => Ok(missing("job")),
    }
}

/// `POST /p/{projectId}/jobs/{id}/archive`
pub(crate) async fn archive(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
    _checked: Fields,
) -> Result<Response, Oops> {
    let id = JobId(id);
    let Some(before) = app.jobs.find(&at.project.id, &id).await? else { return Ok(missing("job")) };
    for _ in 0..ARCHIVE_LOOKS {
        match app.jobs.archive(&at.project.id, &id).await? {
            None => return Ok(missing("job")),
            Some(Archived::Done(_)) => break,
            Some(Archived::Waiting) => tokio::time::sleep(ARCHIVE_LOOK).await,
        }
    }
    if before.status != Status::Archived {
        at.visitor.note(&app, "archived the job", &format!("{} {id}", at.project.name)).await?;
    }
    Ok(Redirect::to(&href(&at.project, &id)).into_response())
}

/// `POST /p/{projectId}/jobs/{id}/retry`: the same once more, on a branch of its own.
pub(crate) async fn retry(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
    fields: Fields,
) -> Result<Response, Oops> {
    let id = JobId(id);
    let Some(job) = app.jobs.find(&at.project.id, &id).await? else { return Ok(missing("job")) };
    let new = NewJob {
        project: job.project,
        prompt: Prompt::with_context(&job.prompt, job.context)?,
        model: job.model,
        base_ref: job.base_ref,
        branch: None,
        draft: job.draft,
    };
    match start_once(&app, &at, &new, ("retry", fields.get("once"))).await? {
        Ok(response) => Ok(response),
        Err(usage) => {
            let (status, error) = (StatusCode::TOO_MANY_REQUESTS, Some(limit_sentence(&usage)));
            let shown = Shown { status, error, ..Shown::default() };
            Ok(retry_after(job_page(&app, &at, &id, shown).await?, &usage))
        }
    }
}

fn busy() -> Response {
    let message = "Too many are watching or downloading. Try again in a moment.";
    notice(StatusCode::SERVICE_UNAVAILABLE, "The server cannot keep up", message)
}

/// The page, beside what it is about.
#[derive(Default)]
struct Shown {
    status: StatusCode,
    error: Option<String>,
    typed: String,
    /// All of the change, however heavy the page gets.
    all: bool,
}

async fn job_page(app: &App, at: &InProject, id: &JobId, shown: Shown) -> Result<Response, Oops> {
    let project = &at.project;
    let found = app.jobs.find(&project.id, id).await?.zip(app.jobs.events(&project.id, id, 0).await?);
    let Some((job, events)) = found else { return Ok(missing("job")) };
    let mut diff = diff_files(&app.jobs.diff(&project.id, id).await?.unwrap_or_default());
    let cut = !shown.all && fit(&mut diff);
    let (own, state) = (href(project, id), state(&job));
    let page = view::Job {
        shell: at.shell(&headline(&job.prompt), Section::Jobs),
        id: id.0.clone(),
        state,
        branch: job.branch.clone(),
        base: job.base_ref.clone(),
        model: job.model.clone(),
        when: when(job.created_at, app.clock.now()),
        creator: job.created_by.as_ref().map(ToString::to_string),
        duration: took(&job),
        usage: usage(&job, &events),
        steps: events.iter().filter(|event| event.kind != "ended").map(|event| step(event, &job)).collect(),
        waiting: state.active() && is_waiting(&events),
        diff,
        whole: cut.then(|| format!("{own}?all=1")),
        ended: events.iter().rev().find(|event| event.kind == "ended").filter(|_| !state.active()).map(ended),
        pull: pull_ref(app, &job),
        href: own,
        prompt: job.prompt,
        quotations: job.context.into_iter().map(|quotation| (quotation.label, quotation.text)).collect(),
        error: shown.error,
        follow_up: shown.typed,
        once: new_form(),
    };
    Ok(page_with(shown.status, &page))
}

/// Since it was last asked for something, nobody has begun with it.
fn is_waiting(events: &[Event]) -> bool {
    let told =
        events.iter().rev().find(|event| matches!(event.kind.as_str(), "created" | "message" | "started"));
    told.is_none_or(|event| event.kind != "started")
}

/// What all runs cost, as far as that is known.
fn usage(job: &Job, events: &[Event]) -> Option<String> {
    let costs = events.iter().filter_map(|event| event.data.get("usage")?.get("cost")?.as_f64());
    let tokens = (job.tokens > 0).then(|| format!("{} tokens", with_commas(job.tokens)))?;
    match costs.fold(None, |sum: Option<f64>, cost| Some(sum.unwrap_or(0.0) + cost)) {
        Some(cost) => Some(format!("{tokens}, ${cost:.2}")),
        None => Some(tokens),
    }
}

/// Timed from the moment it was asked for: that is what one waits from.
fn step(event: &Event, job: &Job) -> Step {
    let since = duration(event.at.duration_since(job.created_at));
    let when = When { iso: rfc3339(event.at), text: since };
    let message = match event.kind.as_str() {
        "message" => format!("Asked for more: {}{}", headline(&text(event, "prompt")), quoted(event)),
        _ => text(event, "message"),
    };
    Step { number: event.number, kind: event.kind.replace('_', " "), text: message, when }
}

/// How many quotations a follow-up has; nothing, when it has none.
fn quoted(event: &Event) -> String {
    let context = event.data.get("context").and_then(|context| context.as_array());
    match context.map_or(0, Vec::len) {
        0 => String::new(),
        1 => " (with 1 quotation)".into(),
        count => format!(" (with {count} quotations)"),
    }
}

fn ended(event: &Event) -> Ended {
    let report = event.data.get("report");
    let summary = report.and_then(|report| report.get("summary")?.as_str()).unwrap_or_default();
    Ended {
        reason: text(event, "message"),
        summary: blocks(summary),
        notes: sentences(report.and_then(|report| report.get("notes"))),
        checks: sentences(event.data.get("checks")),
    }
}

fn sentences(list: Option<&serde_json::Value>) -> Vec<String> {
    let list = list.and_then(|list| list.as_array()).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

fn text(event: &Event, field: &str) -> String {
    event.data.get(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}
