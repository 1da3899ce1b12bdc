//! The jobs of a project: asked for, found again, counted.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::Uri;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    Filter, IdempotencyKey, Job, JobId, NewJob, Project, Prompt, Quotation, Receipt, Render, Status, Terms,
    Token, Usage,
};

use super::quotations;
use super::readers::evidence::Evidence;
use super::session::{Fields, InProject, nav};
use super::view::{JobRow, JobState, Jobs, Offline, PullRef, PullState, Section, headline};
use super::{Oops, missing, page, page_with, when};
use app::App;
use app::hosts::number;
use app::models::OFFLINE;
use app::path::query_value;
use app::time::duration;

const PER_PAGE: u32 = 20;
const UNSIGNED_LINK: &str = "The evidence of this link was left out, because this server did not make the link, or it was \
                             altered. Open the row under Readers and choose Create a job there.";
/// Of what a form is known by; ours is shorter.
const MAX_ONCE: usize = 64;

/// `GET /p/{projectId}`: the address that a job names as its repository.
pub(crate) async fn to_list(at: InProject) -> Redirect {
    Redirect::to(&format!("{}/jobs", at.root()))
}

/// `GET /p/{projectId}/jobs?state&q&offset`: what is none of our words is no filter.
pub(crate) async fn list(State(app): State<App>, at: InProject, uri: Uri) -> Result<Response, Oops> {
    let wanted = Wanted {
        state: JobState::named(&query_value(&uri, "state")),
        words: query_value(&uri, "q").trim().to_owned(),
        offset: query_value(&uri, "offset").parse().unwrap_or(0),
    };
    let mut jobs = jobs_page(&app, &at, wanted).await?;
    let Some(evidence) = Evidence::of(&uri) else { return Ok(page(&jobs)) };
    let quotation = evidence.quotation();
    if !quotations::is_signed(&app, &at.project.id, &quotation, &query_value(&uri, "signature")) {
        jobs.error = Some(UNSIGNED_LINK.into());
        return Ok(page_with(StatusCode::BAD_REQUEST, &jobs));
    }
    jobs.prompt = evidence.task().into();
    jobs.quotations = vec![quotations::field(&app, &at.project.id, &quotation)];
    if let Some(offline) = &mut jobs.offline {
        offline.beyond = true;
        offline.instead = evidence.without_model();
    }
    Ok(page(&jobs))
}

/// `POST /p/{projectId}/jobs`
pub(crate) async fn create(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
    let quoted = quotations::read(&app, &at.project.id, &fields);
    let kept = quoted.clone().unwrap_or_default();
    let parsed = match quoted {
        Ok(quoted) => Prompt::with_context(fields.get("prompt"), quoted).map_err(|error| error.to_string()),
        Err(refusal) => Err(refusal.to_owned()),
    };
    let prompt = match parsed {
        Ok(prompt) => prompt,
        Err(error) => {
            let jobs = jobs_page(&app, &at, Wanted::default()).await?;
            let quotations = kept.iter().map(|one| quotations::field(&app, &at.project.id, one)).collect();
            let prompt = fields.get("prompt").into();
            let refused = Jobs { error: Some(error), prompt, quotations, ..jobs };
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
    match start_once(&app, &at, &new, ("create", fields.get("once"))).await? {
        Ok(response) => Ok(response),
        Err(usage) => {
            let jobs = jobs_page(&app, &at, Wanted::default()).await?;
            let error = Some(limit_sentence(&usage));
            let refused = Jobs { error, prompt: fields.get("prompt").into(), ..jobs };
            Ok(retry_after(page_with(StatusCode::TOO_MANY_REQUESTS, &refused), &usage))
        }
    }
}

/// A form that is sent again while its job is at work leads to that one: the answer to the first was lost, or somebody
/// was quick with the mouse. The error is the limit of the project's jobs.
pub(super) async fn start_once(
    app: &App,
    at: &InProject,
    new: &NewJob,
    (action, form): (&str, &str),
) -> Result<Result<Response, Usage>, Oops> {
    match app.jobs.insert(new, &once(app, at, action, form, &new.prompt)).await? {
        Receipt::Replayed(id) => match app.jobs.find(&at.project.id, &JobId(id)).await? {
            Some(job) if job.status == Status::Active => {
                Ok(Ok(Redirect::to(&href(&at.project, &job.id)).into_response()))
            }
            _ => start(app, at, new).await,
        },
        Receipt::KeyReused => start(app, at, new).await,
        made => Ok(leading(at, made)),
    }
}

/// What a form asks for is done once, as long as it says the same; one that is known by nothing, each time.
/// A page has several forms: what one of them did is not done by another.
pub(super) fn once(app: &App, at: &InProject, action: &str, form: &str, prompt: &Prompt) -> Terms {
    if form.is_empty() || form.len() > MAX_ONCE {
        return terms(app, at);
    }
    let mut asked = prompt.as_str().as_bytes().to_vec();
    for Quotation { label, text } in prompt.context() {
        [label, text].into_iter().for_each(|part| asked.extend([b"\0", part.as_bytes()].concat()));
    }
    let once = IdempotencyKey::new(&format!("form {action} {form}"), &asked);
    Terms { once: Some((once, Render(Arc::new(|job| job.id.0.clone())))), ..terms(app, at) }
}

/// Each time, and in the name of who is signed in. Jobs and follow-ups count towards the project's limit, whether they
/// come from the API or from the dashboard.
pub(super) fn terms(app: &App, at: &InProject) -> Terms {
    Terms { once: None, limit: Some(app.job_limit(&at.project.id.0)), actor: Some(at.visitor.actor()) }
}

pub(super) fn limit_sentence(usage: &Usage) -> String {
    let (most, minutes) = (usage.max, usage.left_for.as_secs() / 60 + 1);
    format!(
        "This project has reached its limit of {most} jobs and follow-ups an hour. Try again in {minutes} min."
    )
}

pub(super) fn retry_after(mut response: Response, usage: &Usage) -> Response {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(usage.left_for.as_secs().max(1)));
    response
}

/// What a form of a page that is made now is known by.
pub(super) fn new_form() -> String {
    Token::random().reveal().to_owned()
}

async fn start(app: &App, at: &InProject, new: &NewJob) -> Result<Result<Response, Usage>, Oops> {
    Ok(leading(at, app.jobs.insert(new, &terms(app, at)).await?))
}

/// To the page of the new job.
fn leading(at: &InProject, made: Receipt) -> Result<Response, Usage> {
    match made {
        Receipt::Done { job, .. } => Ok(Redirect::to(&href(&at.project, &job.id)).into_response()),
        Receipt::LimitReached(usage) => Err(usage),
        _ => Ok(missing("job")),
    }
}

/// Which part of which list.
#[derive(Default)]
struct Wanted {
    state: Option<JobState>,
    words: String,
    offset: u64,
}

impl Wanted {
    fn filter(&self) -> Filter {
        let completed = |pull| (Some(Status::Completed), Some(pull));
        let (status, pull) = match self.state {
            None => (None, None),
            Some(JobState::Running) => (Some(Status::Active), None),
            Some(JobState::Review) => completed(Some(store::PullState::Open)),
            Some(JobState::Merged) => completed(Some(store::PullState::Merged)),
            Some(JobState::Closed) => completed(Some(store::PullState::Closed)),
            Some(JobState::NoChange) => completed(None),
            Some(JobState::Failed) => (Some(Status::Failed), None),
            Some(JobState::Archived) => (Some(Status::Archived), None),
        };
        Filter { status, pull, words: self.words.clone(), limit: PER_PAGE, offset: self.offset }
    }

    /// The address of the list that is like this one, but for its state and where it begins.
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

async fn jobs_page(app: &App, at: &InProject, wanted: Wanted) -> Result<Jobs, Oops> {
    let jobs = app.jobs.list(&at.project.id, &wanted.filter()).await?;
    app.hosts.look_again(&at.project, &jobs.items);
    let (root, per_page, offset) = (at.root(), u64::from(PER_PAGE), wanted.offset);
    let turn = |offset| wanted.href(&root, wanted.state, offset);
    let states = std::iter::once(None).chain(JobState::ALL.map(Some));
    Ok(Jobs {
        shell: at.shell("Jobs", Section::Jobs),
        jobs: rows(app, &at.project, &jobs.items),
        states: states.map(|state| (state, wanted.href(&root, state, 0))).collect(),
        newer: (offset > 0).then(|| turn(offset.saturating_sub(per_page))),
        older: jobs.has_more.then(|| turn(offset.saturating_add(per_page))),
        error: None,
        once: new_form(),
        prompt: String::new(),
        quotations: Vec::new(),
        offline: offline(app, &at.project),
        state: wanted.state,
        words: wanted.words,
    })
}

fn offline(app: &App, project: &Project) -> Option<Offline> {
    let has_models = app.models.names().len() > 1;
    (project.model == OFFLINE).then_some(Offline { has_models, beyond: false, instead: None })
}

pub(super) fn rows(app: &App, project: &Project, jobs: &[Job]) -> Vec<JobRow> {
    let now = app.clock.now();
    let row = |job: &Job| JobRow {
        href: href(project, &job.id),
        state: state(job),
        title: headline(&job.prompt),
        branch: job.branch.clone(),
        pull: pull_ref(app, job),
        added: job.added,
        removed: job.removed,
        tokens: (job.tokens > 0).then(|| with_commas(job.tokens)),
        when: when(job.created_at, now),
        duration: took(job),
    };
    jobs.iter().map(row).collect()
}

pub(super) fn href(project: &Project, id: &JobId) -> String {
    format!("{}/jobs/{id}", nav(project).root())
}

/// A link of our own leads on from where one is, since a
/// server may be known by more names than one.
pub(super) fn pull_ref(app: &App, job: &Job) -> Option<PullRef> {
    let link = job.pr_link.as_deref()?;
    let own = link.strip_prefix(&*app.public_url).filter(|path| path.starts_with('/'));
    let href =
        own.or_else(|| (link.starts_with("https://") || link.starts_with("http://")).then_some(link))?;
    let state = match job.pr_state? {
        store::PullState::Open => PullState::Open,
        store::PullState::Merged => PullState::Merged,
        store::PullState::Closed => PullState::Closed,
    };
    Some(PullRef { href: href.to_owned(), number: number(link)?, state })
}

/// A completed job is where its pull request is; the API's four words do not tell.
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

pub(super) fn took(job: &Job) -> Option<String> {
    job.ended_at.map(|end| duration(end.duration_since(job.created_at)))
}

/// `18204` as people write it: `18,204`.
pub(super) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (number, written) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (18_204, "18,204"), (123_456_789, "123,456,789")]
        {
            assert_eq!(with_commas(number), written);
        }
    }

    #[test]
    fn a_list_keeps_what_it_was_narrowed_to() {
        let wanted = Wanted { state: None, words: "a & b".into(), offset: 40 };
        assert_eq!(wanted.href("/p/x", None, 0), "/p/x/jobs?q=a+%26+b");
        assert_eq!(
            wanted.href("/p/x", Some(JobState::Review), 20),
            "/p/x/jobs?state=review&q=a+%26+b&offset=20"
        );
        assert_eq!(Wanted::default().href("/p/x", None, 0), "/p/x/jobs");
    }
}
