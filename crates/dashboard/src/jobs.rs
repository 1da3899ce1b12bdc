//! Lists and searches the jobs of a project, and creates jobs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::Uri;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    Filter, IdempotencyKey, Job, JobId, NewJob, Project, Prompt, PullFilter, Quotation, Receipt, Render,
    Status, Terms, Token, Usage,
};

use super::quotations;
use super::readers::evidence::Evidence;
use super::session::{FormFields, ProjectContext, nav};
use super::view::{
    JobRow, JobState, Jobs, OfflineHint, PullRef, PullState, Section, count, headline, sentence, with_commas,
};
use super::{PageError, display_time, not_found_page, page, page_with};
use app::App;
use app::hosts::pull_number;
use app::models::OFFLINE;
use app::path::query_value;
use app::time::duration;

const PER_PAGE: u32 = 20;
const UNSIGNED_LINK: &str = "The evidence of this link was left out, because this server didn't create the link, or it was \
                             altered. Go to Readers, and click Create a job in the row.";
/// The longest idempotency token of a form. The tokens of this server are shorter.
const MAX_TOKEN_BYTES: usize = 64;

/// `GET /p/{projectId}`: the URL that a job names as its repository.
pub(crate) async fn redirect_to_list(ctx: ProjectContext) -> Redirect {
    Redirect::to(&format!("{}/jobs", ctx.root()))
}

/// `GET /p/{projectId}/jobs?state&q&offset`: an unknown state doesn't filter.
pub(crate) async fn list(
    State(app): State<App>,
    ctx: ProjectContext,
    uri: Uri,
) -> Result<Response, PageError> {
    let query = JobListQuery {
        state: JobState::from_name(&query_value(&uri, "state")),
        words: query_value(&uri, "q").trim().to_owned(),
        offset: query_value(&uri, "offset").parse().unwrap_or(0),
    };
    let mut jobs = jobs_page(&app, &ctx, query).await?;
    let Some(evidence) = Evidence::from_query(&uri) else { return Ok(page(&jobs)) };
    let quotation = evidence.quotation();
    if !quotations::is_signed(&app, &ctx.project.id, &quotation, &query_value(&uri, "signature")) {
        jobs.error = Some(UNSIGNED_LINK.into());
        return Ok(page_with(StatusCode::BAD_REQUEST, &jobs));
    }
    jobs.prompt = evidence.suggested_prompt().into();
    jobs.quotations = vec![quotations::field(&app, &ctx.project.id, &quotation)];
    if let Some(offline) = &mut jobs.offline {
        offline.needs_model = true;
        offline.alternative = evidence.prompt_without_model();
    }
    Ok(page(&jobs))
}

/// `POST /p/{projectId}/jobs`
pub(crate) async fn create(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    let quotations = quotations::read(&app, &ctx.project.id, &fields);
    let typed = quotations.clone().unwrap_or_default();
    let parsed = match quotations {
        Ok(valid) => Prompt::with_context(fields.get("prompt"), valid).map_err(|error| error.to_string()),
        Err(refusal) => Err(refusal.to_owned()),
    };
    let prompt = match parsed {
        Ok(prompt) => prompt,
        Err(error) => {
            let jobs = jobs_page(&app, &ctx, JobListQuery::default()).await?;
            let field = |quotation| quotations::field(&app, &ctx.project.id, quotation);
            let quotations = typed.iter().map(field).collect();
            let prompt = fields.get("prompt").into();
            let refused = Jobs { error: Some(error), prompt, quotations, ..jobs };
            return Ok(page_with(StatusCode::BAD_REQUEST, &refused));
        }
    };
    let new = NewJob {
        project: ctx.project.id.clone(),
        prompt,
        model: ctx.project.model.clone(),
        base_ref: None,
        branch: None,
        draft: false,
        findings: Vec::new(),
    };
    match start_once(&app, &ctx, &new, ("create", fields.get("once"))).await? {
        Ok(response) => Ok(response),
        Err(refusal) => {
            let jobs = jobs_page(&app, &ctx, JobListQuery::default()).await?;
            let error = Some(refusal.sentence());
            let refused = Jobs { error, prompt: fields.get("prompt").into(), ..jobs };
            Ok(refusal.set_retry_after(page_with(refusal.status(), &refused)))
        }
    }
}

/// Creates a job, once per form. A form that is sent again while its job is active redirects to that job: the response
/// was lost, or the person clicked twice. A form for findings always does: it was for this fix of them.
pub(super) async fn start_once(
    app: &App,
    ctx: &ProjectContext,
    new: &NewJob,
    (action, form): (&str, &str),
) -> Result<Result<Response, StartRefusal>, PageError> {
    match app.jobs.insert(new, &idempotent_terms(app, ctx, action, form, &new.prompt)).await? {
        Receipt::Replayed(id) => match app.jobs.find(&ctx.project.id, &JobId(id)).await? {
            Some(job) if job.status == Status::Active || !new.findings.is_empty() => {
                Ok(Ok(Redirect::to(&href(&ctx.project, &job.id)).into_response()))
            }
            _ => start(app, ctx, new).await,
        },
        Receipt::KeyReused => start(app, ctx, new).await,
        receipt => Ok(redirect_to_job(ctx, receipt)),
    }
}

/// Terms with an idempotency key made of the action, the form's token and the content. A form without a token has no
/// key. The action is part of the key, because the forms of a page share one token.
pub(super) fn idempotent_terms(
    app: &App,
    ctx: &ProjectContext,
    action: &str,
    form: &str,
    prompt: &Prompt,
) -> Terms {
    if form.is_empty() || form.len() > MAX_TOKEN_BYTES {
        return terms(app, ctx);
    }
    let mut content = prompt.as_str().as_bytes().to_vec();
    for Quotation { label, text } in prompt.context() {
        [label, text].into_iter().for_each(|part| content.extend([b"\0", part.as_bytes()].concat()));
    }
    let key = IdempotencyKey::new(&format!("form {action} {form}"), &content);
    Terms { once: Some((key, Render(Arc::new(|job| job.id.0.clone())))), ..terms(app, ctx) }
}

/// Terms without an idempotency key, with the signed-in person as the actor. Jobs and follow-ups count towards the
/// project's limit, whether they come from the API or from the dashboard.
pub(super) fn terms(app: &App, ctx: &ProjectContext) -> Terms {
    Terms { once: None, limit: Some(app.job_limit(&ctx.project.id.0)), actor: Some(ctx.user.actor()) }
}

/// Why the store created no job.
pub(super) enum StartRefusal {
    LimitReached(Usage),
    /// The findings have another job, or are closed. The text says so.
    Refused(String),
}

impl StartRefusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::LimitReached(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Refused(_) => StatusCode::CONFLICT,
        }
    }

    pub(super) fn sentence(&self) -> String {
        match self {
            Self::LimitReached(usage) => format!(
                "This project has reached its limit of {} jobs and follow-ups per hour. Try again in {}.",
                usage.max,
                minutes_left(usage)
            ),
            Self::Refused(why) => sentence(why),
        }
    }

    pub(super) fn set_retry_after(&self, mut response: Response) -> Response {
        if let Self::LimitReached(usage) = self {
            let seconds = usage.left_for.as_secs().max(1);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// The time until a limit resets, rounded up.
pub(super) fn minutes_left(usage: &Usage) -> String {
    count(usage.left_for.as_mins().max(0) as u64 + 1, "minute")
}

/// The idempotency token of the forms of a new page.
pub(super) fn new_form_token() -> String {
    Token::random().reveal().to_owned()
}

async fn start(
    app: &App,
    ctx: &ProjectContext,
    new: &NewJob,
) -> Result<Result<Response, StartRefusal>, PageError> {
    Ok(redirect_to_job(ctx, app.jobs.insert(new, &terms(app, ctx)).await?))
}

fn redirect_to_job(ctx: &ProjectContext, receipt: Receipt) -> Result<Response, StartRefusal> {
    match receipt {
        Receipt::Done { job, .. } => Ok(Redirect::to(&href(&ctx.project, &job.id)).into_response()),
        Receipt::LimitReached(usage) => Err(StartRefusal::LimitReached(usage)),
        Receipt::Refused(why) => Err(StartRefusal::Refused(why)),
        _ => Ok(not_found_page("job")),
    }
}

/// The filters of the list, and the offset of its page.
#[derive(Default)]
struct JobListQuery {
    state: Option<JobState>,
    words: String,
    offset: u64,
}

impl JobListQuery {
    fn filter(&self) -> Filter {
        let completed = |pull| (Some(Status::Completed), pull);
        let with_state = |state| completed(PullFilter::WithState(state));
        let (status, pull) = match self.state {
            None => (None, PullFilter::Any),
            Some(JobState::Running) => (Some(Status::Active), PullFilter::Any),
            Some(JobState::Review) => with_state(store::PullState::Open),
            Some(JobState::Merged) => with_state(store::PullState::Merged),
            Some(JobState::Closed) => with_state(store::PullState::Closed),
            Some(JobState::NoChange) => completed(PullFilter::Without),
            Some(JobState::Failed) => (Some(Status::Failed), PullFilter::Any),
            Some(JobState::Archived) => (Some(Status::Archived), PullFilter::Any),
        };
        Filter { status, pull, prompt_contains: self.words.clone(), limit: PER_PAGE, offset: self.offset }
    }

    /// The URL of this list with another state and offset.
    fn href(&self, root: &str, state: Option<JobState>, offset: u64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(state) = state {
            query.append_pair("state", state.name());
        }
        if !self.words.is_empty() {
            query.append_pair("q", &self.words);
        }
        if offset > 0 {
            query.append_pair("offset", &offset.to_string());
        }
        match query.finish() {
            none if none.is_empty() => format!("{root}/jobs"),
            query => format!("{root}/jobs?{query}"),
        }
    }
}

async fn jobs_page(app: &App, ctx: &ProjectContext, query: JobListQuery) -> Result<Jobs, PageError> {
    let jobs = app.jobs.list(&ctx.project.id, &query.filter()).await?;
    app.hosts.refresh_pull_states(&ctx.project, &jobs.items);
    let (root, per_page, offset) = (ctx.root(), u64::from(PER_PAGE), query.offset);
    let page_href = |offset| query.href(&root, query.state, offset);
    let states = std::iter::once(None).chain(JobState::ALL.map(Some));
    Ok(Jobs {
        shell: ctx.shell("Jobs", Section::Jobs),
        jobs: rows(app, &ctx.project, &jobs.items),
        states: states.map(|state| (state, query.href(&root, state, 0))).collect(),
        newer: (offset > 0).then(|| page_href(offset.saturating_sub(per_page))),
        older: jobs.has_more.then(|| page_href(offset.saturating_add(per_page))),
        error: None,
        once: new_form_token(),
        prompt: String::new(),
        quotations: Vec::new(),
        offline: offline_hint(app, &ctx.project),
        state: query.state,
        words: query.words,
    })
}

fn offline_hint(app: &App, project: &Project) -> Option<OfflineHint> {
    let has_models = app.models.names().len() > 1;
    (project.model == OFFLINE).then_some(OfflineHint { has_models, needs_model: false, alternative: None })
}

pub(super) fn rows(app: &App, project: &Project, jobs: &[Job]) -> Vec<JobRow> {
    let now = app.clock.now();
    let row = |job: &Job| JobRow {
        href: href(project, &job.id),
        state: state(job),
        title: headline(&job.prompt),
        branch: job.pull_branch().to_owned(),
        pull: pull_ref(app, job),
        added: job.added,
        removed: job.removed,
        tokens: (job.tokens > 0).then(|| with_commas(job.tokens)),
        when: display_time(job.created_at, now),
        duration: run_time(job),
    };
    jobs.iter().map(row).collect()
}

pub(super) fn href(project: &Project, id: &JobId) -> String {
    format!("{}/jobs/{id}", nav(project).root())
}

pub(super) fn pull_ref(app: &App, job: &Job) -> Option<PullRef> {
    pull_link(app, job.pr_link.as_deref(), job.pr_state)
}

/// A link to this server becomes relative, because the server can have several host names.
pub(super) fn pull_link(app: &App, link: Option<&str>, state: Option<store::PullState>) -> Option<PullRef> {
    let link = link?;
    let relative = link.strip_prefix(&*app.public_url).filter(|path| path.starts_with('/'));
    let href =
        relative.or_else(|| (link.starts_with("https://") || link.starts_with("http://")).then_some(link))?;
    let state = match state? {
        store::PullState::Open => PullState::Open,
        store::PullState::Merged => PullState::Merged,
        store::PullState::Closed => PullState::Closed,
    };
    Some(PullRef { href: href.to_owned(), number: pull_number(link)?, state })
}

/// The status of the job, and of a completed job the state of its pull request.
pub(super) fn state(job: &Job) -> JobState {
    match (job.status, job.pr_state) {
        (Status::Active, _) => JobState::Running,
        (Status::Failed, _) => JobState::Failed,
        (Status::Archived, _) => JobState::Archived,
        (Status::Completed, None) => JobState::NoChange,
        (Status::Completed, Some(store::PullState::Open)) => JobState::Review,
        (Status::Completed, Some(store::PullState::Merged)) => JobState::Merged,
        (Status::Completed, Some(store::PullState::Closed)) => JobState::Closed,
    }
}

pub(super) fn run_time(job: &Job) -> Option<String> {
    job.ended_at.map(|end| duration(end.duration_since(job.created_at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_list_keep_its_filters() {
        let query = JobListQuery { state: None, words: "a & b".into(), offset: 40 };
        assert_eq!(query.href("/p/x", None, 0), "/p/x/jobs?q=a+%26+b");
        assert_eq!(
            query.href("/p/x", Some(JobState::Review), 20),
            "/p/x/jobs?state=review&q=a+%26+b&offset=20"
        );
        assert_eq!(JobListQuery::default().href("/p/x", None, 0), "/p/x/jobs");
    }
}
