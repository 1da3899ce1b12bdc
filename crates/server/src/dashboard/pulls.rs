//! Pull requests of the embedded host.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use forge::{Host, Local, Oid, PullRequest, State as PullIs};
use jiff::Timestamp;
use store::JobId;

use super::session::{Fields, InProject};
use super::view::{self, Commit, Link, PullRow, PullState, Pulls, Section, blocks, diff_files};
use super::{Oops, jobs, missing, page, page_with, when};
use crate::app::App;

const LISTED: usize = 100;

/// `GET /p/{projectId}/pulls`
pub(crate) async fn list(State(app): State<App>, at: InProject) -> Result<Response, Oops> {
    let host = app.hosts.local(&at.project).await?;
    let now = app.clock.now();
    let row = |pull: PullRequest| PullRow {
        href: format!("{}/pulls/{}", at.root(), pull.number),
        number: pull.number,
        state: state(&pull),
        when: when(opened(&pull), now),
        title: pull.title,
        head: pull.head,
        base: pull.base,
    };
    let rows = host.list(LISTED).await?.into_iter().map(row).collect();
    let shell = at.shell("Pull requests", Section::Pulls);
    Ok(page(&Pulls { shell, rows, newer: None, older: None }))
}

/// `GET /p/{projectId}/pulls/{n}`: what `prLink` names.
pub(crate) async fn show(State(app): State<App>, at: InProject, number: Number) -> Result<Response, Oops> {
    let host = app.hosts.local(&at.project).await?;
    let Some(pull) = host.get(number.get()).await? else { return Ok(missing("pull request")) };
    let pull = pull_page(&app, &at, &host, &pull, None).await?;
    Ok(page(&pull))
}

/// `POST /p/{projectId}/pulls/{n}/merge`
pub(crate) async fn merge(
    State(app): State<App>,
    at: InProject,
    number: Number,
    fields: Fields,
) -> Result<Response, Oops> {
    let host = app.hosts.local(&at.project).await?;
    // Nobody merges what they have not looked at: a head that moved since is refused.
    let merged = match Oid::parse(fields.get("seen")) {
        Ok(seen) => host.merge(number.get(), Some(&seen)).await,
        Err(error) => Err(error),
    };
    settled(&app, &at, &host, number.get(), merged).await
}

/// `POST /p/{projectId}/pulls/{n}/close`
pub(crate) async fn close(
    State(app): State<App>,
    at: InProject,
    number: Number,
    _checked: Fields,
) -> Result<Response, Oops> {
    let host = app.hosts.local(&at.project).await?;
    let closed = host.close(number.get()).await;
    settled(&app, &at, &host, number.get(), closed).await
}

/// The number in the path; what is no number names nothing.
pub(crate) type Number = Path<PullPath>;

#[derive(serde::Deserialize)]
pub(crate) struct PullPath {
    n: String,
}

impl PullPath {
    fn get(&self) -> u64 {
        self.n.parse().unwrap_or(0)
    }
}

/// Back to the page; what could not be done is said on it.
async fn settled(
    app: &App,
    at: &InProject,
    host: &Local,
    number: u64,
    result: forge::Result<PullRequest>,
) -> Result<Response, Oops> {
    let error = match result {
        Ok(_) => return Ok(Redirect::to(&format!("{}/pulls/{number}", at.root())).into_response()),
        Err(forge::Error::NoSuchPull(_)) => return Ok(missing("pull request")),
        Err(error) => error.to_string(),
    };
    let Some(pull) = host.get(number).await? else { return Ok(missing("pull request")) };
    let pull = pull_page(app, at, host, &pull, Some(error)).await?;
    Ok(page_with(StatusCode::CONFLICT, &pull))
}

async fn pull_page(
    app: &App,
    at: &InProject,
    host: &Local,
    pull: &PullRequest,
    error: Option<String>,
) -> Result<view::Pull, Oops> {
    let now = app.clock.now();
    let commit = |line: forge::CommitLine| Commit {
        id: line.id.as_str()[..10].to_owned(),
        subject: line.subject,
        author: line.author,
        when: when(Timestamp::from_second(line.time).unwrap_or_default(), now),
    };
    let job = pull
        .job
        .as_ref()
        .map(|id| Link { href: jobs::href(&at.project, &JobId(id.clone())), label: "a job".into() });
    Ok(view::Pull {
        shell: at.shell(&pull.title, Section::Pulls),
        number: pull.number,
        state: state(pull),
        head: pull.head.clone(),
        base: pull.base.clone(),
        seen: pull.head_commit.to_string(),
        when: when(opened(pull), now),
        job,
        body: blocks(&pull.body),
        commits: host.commits(pull).await?.into_iter().map(commit).collect(),
        files: diff_files(&host.diff(pull).await?),
        can_merge: pull.state == PullIs::Open,
        merge_hint: None,
        error,
    })
}

fn opened(pull: &PullRequest) -> Timestamp {
    Timestamp::from_millisecond(pull.created_at).unwrap_or_default()
}

fn state(pull: &PullRequest) -> PullState {
    match pull.state {
        PullIs::Open => PullState::Open,
        PullIs::Merged => PullState::Merged,
        PullIs::Closed => PullState::Closed,
    }
}
