//! Pull requests: those of the embedded host, and on another one those of the project's jobs.

use std::cmp::Reverse;
use std::collections::HashSet;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use forge::{Host, Local, Oid, PullRequest, State as PullIs};
use jiff::Timestamp;
use store::{Filter, JobId};

use super::session::{Fields, InProject, Named};
use super::view::{
    self, Commit, Link, PullRow, PullState, Pulls, Section, blocks, diff_files, fit, headline,
};
use super::{Oops, jobs, missing, notice, page, page_with, when};
use app::App;
use app::hosts::is_on_the_web;
use app::path::query_value;

const LISTED: usize = 100;

/// `GET /p/{projectId}/pulls?state`: what is none of our words is no filter.
pub(crate) async fn list(State(app): State<App>, at: InProject, uri: Uri) -> Result<Response, Oops> {
    let wanted = PullState::named(&query_value(&uri, "state"));
    let shell = at.shell("Pull requests", Section::Pulls);
    if is_on_the_web(&at.project.repository) {
        let (rows, cut) = of_jobs(&app, &at, wanted).await?;
        return Ok(page(&Pulls {
            shell,
            rows,
            state: wanted,
            cut,
            host: Some(at.project.repository.clone()),
        }));
    }
    let host = host(&app, &at).await?;
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
    let newest = host.list(LISTED).await.map_err(unreachable_repository)?;
    let cut = newest.len() == LISTED;
    let rows = newest.into_iter().map(row).filter(|row| wanted.is_none_or(|wanted| row.state == wanted));
    Ok(page(&Pulls { shell, rows: rows.collect(), state: wanted, cut, host: None }))
}

/// What our jobs opened or adopted on a host, as far as we were told; it is asked for news meanwhile. Newest job first,
/// and whether there are more.
async fn of_jobs(app: &App, at: &InProject, wanted: Option<PullState>) -> Result<(Vec<PullRow>, bool), Oops> {
    let mut found = Vec::new();
    for state in PullState::ALL.into_iter().filter(|state| wanted.is_none_or(|wanted| wanted == *state)) {
        let filter = Filter { pull: Some(Some(kept(state))), limit: LISTED as u32, ..Filter::default() };
        found.extend(app.jobs.list(&at.project.id, &filter).await?.items);
    }
    app.hosts.look_again(&at.project, &found);
    found.sort_by_key(|job| Reverse(job.created_at));
    let (mut seen, now) = (HashSet::new(), app.clock.now());
    let rows = found.iter().filter_map(|job| jobs::pull_ref(app, job).map(|pull| (job, pull)));
    let rows = rows.filter(|(_, pull)| seen.insert(pull.href.clone())).map(|(job, pull)| PullRow {
        href: pull.href,
        number: pull.number,
        state: pull.state,
        when: when(job.created_at, now),
        title: headline(&job.prompt),
        head: job.branch.clone(),
        base: job.base_ref.clone().unwrap_or_default(),
    });
    Ok((rows.take(LISTED).collect(), found.len() >= LISTED))
}

fn kept(state: PullState) -> store::PullState {
    match state {
        PullState::Open => store::PullState::Open,
        PullState::Merged => store::PullState::Merged,
        PullState::Closed => store::PullState::Closed,
    }
}

/// `GET /p/{projectId}/pulls/{n}`: what `prLink` names.
pub(crate) async fn show(
    State(app): State<App>,
    at: InProject,
    Named(number): Named,
    uri: Uri,
) -> Result<Response, Oops> {
    let host = host(&app, &at).await?;
    let Some(pull) = host.get(parse(&number)).await? else { return Ok(missing("pull request")) };
    let mut page_of = pull_page(&app, &at, &host, &pull, None).await?;
    if query_value(&uri, "all") != "1" && fit(&mut page_of.files) {
        page_of.whole = Some(format!("{}/pulls/{}?all=1", at.root(), pull.number));
    }
    Ok(page(&page_of))
}

/// `POST /p/{projectId}/pulls/{n}/merge`
pub(crate) async fn merge(
    State(app): State<App>,
    at: InProject,
    Named(number): Named,
    fields: Fields,
) -> Result<Response, Oops> {
    let host = host(&app, &at).await?;
    // Nobody merges what they have not looked at: a head that moved since is refused.
    let Ok(seen) = Oid::parse(fields.get("seen")) else {
        let why =
            "The field seen must be the commit that you looked at. Open the page of the pull request again.";
        return Ok(notice(StatusCode::BAD_REQUEST, "Nothing was merged", why));
    };
    let merged = host.merge(parse(&number), Some(&seen)).await;
    if merged.is_ok() {
        at.visitor.note(&app, "merged the pull request", &format!("{} #{number}", at.project.name)).await?;
    }
    settled(&app, &at, &host, parse(&number), merged).await
}

/// `POST /p/{projectId}/pulls/{n}/close`
pub(crate) async fn close(
    State(app): State<App>,
    at: InProject,
    Named(number): Named,
    _checked: Fields,
) -> Result<Response, Oops> {
    let host = host(&app, &at).await?;
    let before = host.get(parse(&number)).await?;
    let closed = host.close(parse(&number)).await;
    if closed.is_ok() && before.is_some_and(|pull| pull.state == PullIs::Open) {
        at.visitor.note(&app, "closed the pull request", &format!("{} #{number}", at.project.name)).await?;
    }
    settled(&app, &at, &host, parse(&number), closed).await
}

/// What is no number names nothing.
fn parse(number: &str) -> u64 {
    number.parse().unwrap_or(0)
}

/// The repository may have been moved or deleted: that is for the operator to mend, and to read.
async fn host(app: &App, at: &InProject) -> Result<Local, Oops> {
    app.hosts.local(&at.project).await.map_err(unreachable_repository)
}

fn unreachable_repository(error: forge::Error) -> Oops {
    match error {
        error @ forge::Error::Refused(_) => {
            Oops(notice(StatusCode::CONFLICT, "They are on another host", &error.to_string()))
        }
        error @ (forge::Error::Repository(_) | forge::Error::NoSuchBranch(_)) => {
            Oops(notice(StatusCode::CONFLICT, "The repository cannot be read", &error.to_string()))
        }
        other => other.into(),
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
    // A head that was deleted leaves the record; what it changed is lost, and said so.
    let (commits, diff, error) = match (host.commits(pull).await, host.diff(pull).await) {
        (Ok(commits), Ok(diff)) => (commits, diff, error),
        (Err(gone), _) | (_, Err(gone)) => (Vec::new(), String::new(), error.or(Some(gone.to_string()))),
    };
    let by_hand = match pull.state {
        PullIs::Open => match host.merge_by_hand(pull).await? {
            None => conflict(host, pull).await,
            by_hand => by_hand,
        },
        _ => None,
    };
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
        commits: commits.into_iter().map(commit).collect(),
        files: diff_files(&diff),
        whole: None,
        can_merge: pull.state == PullIs::Open && by_hand.is_none(),
        merge_hint: by_hand,
        error,
    })
}

/// Said before somebody tries; a head that cannot be read is said elsewhere on the page.
async fn conflict(host: &Local, pull: &PullRequest) -> Option<String> {
    let why = host.conflict(pull).await.ok().flatten()?;
    Some(format!("{why}\n\nAsk its job for it in a follow-up, or push a merge to `{}` yourself.", pull.head))
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
