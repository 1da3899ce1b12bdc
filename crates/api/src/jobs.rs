//! Creates, polls, lists and archives agent jobs, sends follow-ups to them, and returns their diffs.

use std::sync::Arc;
use std::time::Duration;

use axum::Json as JsonResponse;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use failpoints::with_failpoints;
use store::{
    Actor, Archived, Filter, IdempotencyKey, Job, NewAuditEntry, NewJob, Project, Prompt, PromptError,
    PullFilter, PullState, Quotation, Receipt, Render, Status, Terms,
};
use wire::{AgentJob, CreateJob, FollowUp, JobCreator, JobList, Source};

use super::body::Json;
use super::caller::{Caller, JobPath};
use super::error::ApiError;
use super::limits::{self, JobLimitCheck};
use super::query::Query;
use super::{etag, idempotency};
use app::App;
use app::time::rfc3339;

/// Together 16 seconds, which is longer than a lease: by then the worker released the job, or its lease
/// ended.
const ARCHIVE_ATTEMPTS: u32 = 160;
const ARCHIVE_RETRY_DELAY: Duration = Duration::from_millis(100);

/// `POST /v2/agent/{projectId}/job`: starts an edit of the project's docs repository.
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    _: JobLimitCheck,
    headers: HeaderMap,
    Json(body, bytes): Json<CreateJob>,
) -> Result<Response, ApiError> {
    let new = new_job(&app, &caller.project, body)?;
    let terms = job_terms(&app, &caller, &headers, &bytes)?;
    insert(&app, &caller.project, &new, &terms).await
}

/// Stores a new job, and answers 201.
pub(super) async fn insert(
    app: &App,
    project: &Project,
    new: &NewJob,
    terms: &Terms,
) -> Result<Response, ApiError> {
    let receipt = with_failpoints("insert", app.jobs.insert(new, terms)).await?;
    let mut response = receipt_response(app, project, receipt, StatusCode::CREATED)?;
    if let Some(id) = response.extensions_mut().remove::<store::JobId>() {
        let location = format!("/v2/agent/{}/job/{id}", project.id);
        response
            .headers_mut()
            .insert(LOCATION, HeaderValue::from_str(&location).map_err(anyhow::Error::from)?);
    }
    Ok(response)
}

/// `GET /v2/agent/{projectId}/job/{id}`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = app.jobs.find(&caller.project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    Ok(etag::respond_json(&headers, render(&app, &caller.project, &job)))
}

/// `GET /v2/agent/{projectId}/jobs?limit&offset&status&pull`
pub(super) async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    let mut query = Query::new(&uri);
    let limit = query.integer("limit", 1, 100, 20);
    let offset = query.integer("offset", 0, i64::MAX, 0);
    let status = query.one_of("status", &["active", "completed", "archived", "failed"]);
    let pull = query.one_of("pull", &["open", "merged", "closed", "none"]);
    query.finish()?;
    let filter = Filter {
        status: status.and_then(Status::parse),
        pull: pull.map_or(PullFilter::Any, |word| {
            PullState::parse(word).map_or(PullFilter::Without, PullFilter::WithState)
        }),
        limit: limit as u32,
        offset: offset.unsigned_abs(),
        ..Filter::default()
    };
    let page = app.jobs.list(&caller.project.id, &filter).await?;
    let jobs = page.items.iter().map(|job| agent_job(&app, &caller.project, job)).collect();
    let mut response = JsonResponse(JobList { jobs, has_more: page.has_more }).into_response();
    query.set_link_header(response.headers_mut(), limit, offset, page.has_more);
    Ok(response)
}

/// `POST /v2/agent/{projectId}/job/{id}/message`: sends a follow-up, which continues on the job's branch.
pub(super) async fn message(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    _: JobLimitCheck,
    headers: HeaderMap,
    Json(body, bytes): Json<FollowUp>,
) -> Result<Response, ApiError> {
    let prompt = parse_prompt(&body.prompt, body.context)?;
    let terms = job_terms(&app, &caller, &headers, &bytes)?;
    let receipt =
        with_failpoints("message", app.jobs.message(&caller.project.id, &id, &prompt, &terms)).await?;
    receipt_response(&app, &caller.project, receipt.ok_or(ApiError::NoSuchJob)?, StatusCode::OK)
}

/// `POST /v2/agent/{projectId}/job/{id}/archive`: stops the job permanently, then responds.
pub(super) async fn archive(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
) -> Result<JsonResponse<AgentJob>, ApiError> {
    let before = app.jobs.find(&caller.project.id, &id).await?.ok_or(ApiError::NoSuchJob)?;
    let mut is_recorded = before.status == Status::Archived;
    for _ in 0..ARCHIVE_ATTEMPTS {
        let archived = with_failpoints("archive", app.jobs.archive(&caller.project.id, &id)).await?;
        let archived = archived.ok_or(ApiError::NoSuchJob)?;
        if !std::mem::replace(&mut is_recorded, true) {
            record_archive(&app, &caller, &before).await?;
        }
        match archived {
            Archived::Done(job) => return Ok(JsonResponse(agent_job(&app, &caller.project, &job))),
            Archived::Waiting => tokio::time::sleep(ARCHIVE_RETRY_DELAY).await,
        }
    }
    // The store keeps the request, and the next worker that looks for jobs archives this one.
    Err(ApiError::Busy)
}

async fn record_archive(app: &App, caller: &Caller, job: &Job) -> Result<(), ApiError> {
    let entry = NewAuditEntry {
        organization: caller.project.organization.clone(),
        who: caller.actor.to_string(),
        what: "archived the job".into(),
        about: format!("{} {}", caller.project.name, job.id),
    };
    Ok(app.people.record_audit(&entry).await?)
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

fn new_job(app: &App, project: &Project, body: CreateJob) -> Result<NewJob, ApiError> {
    let prompt = parse_prompt(&body.prompt, body.context)?;
    for (name, branch) in [("ref", &body.r#ref), ("branch", &body.branch)] {
        if let Some(Err(error)) = branch.as_deref().map(forge::valid_branch) {
            return Err(ApiError::invalid("invalid_branch", format!("{name}: {error}")));
        }
    }
    let base = body.r#ref.as_ref().or(project.base_ref.as_ref());
    if body.branch.is_some() && body.branch.as_ref() == base {
        let sentence = "branch must not be the branch to merge into; a pull request needs its own branch";
        return Err(ApiError::invalid("invalid_branch", sentence.to_owned()));
    }
    let model = allowed_model(app, project, body.model)?;
    Ok(NewJob {
        project: project.id.clone(),
        prompt,
        model,
        base_ref: body.r#ref,
        branch: body.branch,
        draft: body.draft.unwrap_or(false),
        findings: Vec::new(),
    })
}

/// The model of a new job: the requested one, or the project's.
pub(super) fn allowed_model(app: &App, project: &Project, model: Option<String>) -> Result<String, ApiError> {
    let model = model.unwrap_or_else(|| project.model.clone());
    let allowed = app.models.allowed(project);
    match allowed.contains(&model.as_str()) {
        true => Ok(model),
        false => Err(ApiError::invalid("invalid_model", model_not_allowed(&allowed))),
    }
}

/// `prompt` is the instruction. The entries of `context` are quotations.
fn parse_prompt(text: &str, context: Option<Vec<wire::Quotation>>) -> Result<Prompt, PromptError> {
    let quotation = |wire::Quotation { label, text }| Quotation { label, text };
    Prompt::with_context(text, context.unwrap_or_default().into_iter().map(quotation).collect())
}

fn model_not_allowed(allowed: &[&str]) -> String {
    match allowed {
        [] => {
            "this server has none of the models that the project allows; allow another model for the project"
                .to_owned()
        }
        names => format!("model must be one that the project allows: {}", names.join(", ")),
    }
}

pub(super) fn job_terms(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Terms, ApiError> {
    let once = idempotency::parse_key(headers)?.map(|key| {
        let (app, project) = (app.clone(), caller.project.clone());
        (IdempotencyKey::new(&key, body), Render(Arc::new(move |job| render(&app, &project, job))))
    });
    let (limit, actor) = (app.job_limit(&caller.project.id.0), caller.actor.clone());
    Ok(Terms { once, limit: Some(limit), actor: Some(actor) })
}

fn receipt_response(
    app: &App,
    project: &Project,
    receipt: Receipt,
    status: StatusCode,
) -> Result<Response, ApiError> {
    match receipt {
        Receipt::Done { job, usage } => {
            let mut response = json(status, render(app, project, &job));
            if let Some(usage) = usage {
                limits::set_rate_limit_headers(response.headers_mut(), &usage);
            }
            response.extensions_mut().insert(job.id);
            Ok(response)
        }
        Receipt::Replayed(body) => Ok(idempotency::mark_as_replay(json(status, body))),
        Receipt::KeyReused => Err(ApiError::KeyReused),
        Receipt::LimitReached(usage) => Err(ApiError::LimitReached(usage)),
        Receipt::Refused(sentence) => Err(ApiError::Conflict(sentence)),
    }
}

fn json(status: StatusCode, body: String) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

/// The job as JSON. The store keeps the text for replays.
fn render(app: &App, project: &Project, job: &Job) -> String {
    serde_json::to_string(&agent_job(app, project, job)).unwrap_or_default()
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
        created_by: job.created_by.as_ref().map(creator),
    }
}

fn creator(actor: &Actor) -> JobCreator {
    let (r#type, name, key_prefix) = match actor {
        Actor::Member { name } => ("member", name, None),
        Actor::LoginLink { name } => ("loginLink", name, None),
        Actor::ApiKey { name, prefix, .. } => ("apiKey", name, Some(prefix.clone())),
    };
    JobCreator { r#type: r#type.into(), name: name.clone(), key_prefix }
}
