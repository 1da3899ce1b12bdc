//! Lists pull requests, and shows, merges and closes those of the embedded host. For a repository on another host, the
//! list has the pull requests of the project's jobs.

use std::cmp::Reverse;
use std::collections::HashSet;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use forge::{Host, Local, Oid, PullRequest, State as HostState};
use jiff::Timestamp;
use store::{Filter, JobId, PullFilter};

use super::findings::load_fixed_findings;
use super::session::{FormFields, ProjectContext, ResourceId};
use super::view::{
    self, Commit, FixedFindings, Link, PullRow, PullState, Pulls, Section, blocks, diff_files, headline,
    truncate_files,
};
use super::{PageError, display_time, jobs, not_found_page, notice_page, page, page_with};
use app::App;
use app::hosts::is_on_the_web;
use app::path::query_value;

const MAX_LISTED: usize = 100;

/// `GET /p/{projectId}/pulls?state`: an unknown state doesn't filter.
pub(crate) async fn list(
    State(app): State<App>,
    ctx: ProjectContext,
    uri: Uri,
) -> Result<Response, PageError> {
    let filter = PullState::from_name(&query_value(&uri, "state"));
    let shell = ctx.shell("Pull requests", Section::Pulls);
    if is_on_the_web(&ctx.project.repository) {
        let (rows, is_truncated) = pulls_of_jobs(&app, &ctx, filter).await?;
        let host = Some(ctx.project.repository.clone());
        return Ok(page(&Pulls { shell, rows, state: filter, is_truncated, host }));
    }
    let host = local_host(&app, &ctx).await?;
    let now = app.clock.now();
    let row = |pull: PullRequest| PullRow {
        href: format!("{}/pulls/{}", ctx.root(), pull.number),
        number: pull.number,
        state: state(&pull),
        when: display_time(opened_at(&pull), now),
        title: pull.title,
        head: pull.head,
        base: pull.base,
    };
    let newest = host.list(MAX_LISTED).await.map_err(unreadable_repository)?;
    let is_truncated = newest.len() == MAX_LISTED;
    let rows = newest.into_iter().map(row).filter(|row| filter.is_none_or(|state| row.state == state));
    Ok(page(&Pulls { shell, rows: rows.collect(), state: filter, is_truncated, host: None }))
}

/// The pull requests of the project's jobs in their last known states, newest job first, and whether there are more.
/// Refreshes the states in the background.
async fn pulls_of_jobs(
    app: &App,
    ctx: &ProjectContext,
    filter: Option<PullState>,
) -> Result<(Vec<PullRow>, bool), PageError> {
    let mut found = Vec::new();
    for state in PullState::ALL.into_iter().filter(|state| filter.is_none_or(|filter| filter == *state)) {
        let pull = PullFilter::WithState(stored_state(state));
        let filter = Filter { pull, limit: MAX_LISTED as u32, ..Filter::default() };
        found.extend(app.jobs.list(&ctx.project.id, &filter).await?.items);
    }
    app.hosts.refresh_pull_states(&ctx.project, &found);
    found.sort_by_key(|job| Reverse(job.created_at));
    let (mut hrefs, now) = (HashSet::new(), app.clock.now());
    let rows = found.iter().filter_map(|job| jobs::pull_ref(app, job).map(|pull| (job, pull)));
    let rows = rows.filter(|(_, pull)| hrefs.insert(pull.href.clone())).map(|(job, pull)| PullRow {
        href: pull.href,
        number: pull.number,
        state: pull.state,
        when: display_time(job.created_at, now),
        title: headline(&job.prompt),
        head: job.pull_branch().to_owned(),
        base: job.base_ref.clone().unwrap_or_default(),
    });
    Ok((rows.take(MAX_LISTED).collect(), found.len() >= MAX_LISTED))
}

fn stored_state(state: PullState) -> store::PullState {
    match state {
        PullState::Open => store::PullState::Open,
        PullState::Merged => store::PullState::Merged,
        PullState::Closed => store::PullState::Closed,
    }
}

/// `GET /p/{projectId}/pulls/{n}`: the page that `prLink` links to.
pub(crate) async fn show(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(number): ResourceId,
    uri: Uri,
) -> Result<Response, PageError> {
    let host = local_host(&app, &ctx).await?;
    let Some(pull) = host.get(parse_number(&number)).await? else {
        return Ok(not_found_page("pull request"));
    };
    let mut pull_view = pull_page(&app, &ctx, &host, &pull, None).await?;
    if query_value(&uri, "all") != "1" && truncate_files(&mut pull_view.files) {
        pull_view.full_diff = Some(format!("{}/pulls/{}?all=1", ctx.root(), pull.number));
    }
    Ok(page(&pull_view))
}

/// `POST /p/{projectId}/pulls/{n}/merge`
pub(crate) async fn merge(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(number): ResourceId,
    fields: FormFields,
) -> Result<Response, PageError> {
    let host = local_host(&app, &ctx).await?;
    // Only the commit that the person saw is merged. If the head moved since, the merge is refused.
    let Ok(reviewed) = Oid::parse(fields.get("seen")) else {
        let why = "The field seen must be the commit that you reviewed. Open the pull request again, and merge it there.";
        return Ok(notice_page(StatusCode::BAD_REQUEST, "Nothing was merged", why));
    };
    let merged = host.merge(parse_number(&number), Some(&reviewed)).await;
    if merged.is_ok() {
        ctx.user
            .record_audit(&app, "merged the pull request", &format!("{} #{number}", ctx.project.name))
            .await?;
    }
    show_result(&app, &ctx, &host, parse_number(&number), merged).await
}

/// `POST /p/{projectId}/pulls/{n}/close`
pub(crate) async fn close(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(number): ResourceId,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    let host = local_host(&app, &ctx).await?;
    let before = host.get(parse_number(&number)).await?;
    let closed = host.close(parse_number(&number)).await;
    if closed.is_ok() && before.is_some_and(|pull| pull.state == HostState::Open) {
        ctx.user
            .record_audit(&app, "closed the pull request", &format!("{} #{number}", ctx.project.name))
            .await?;
    }
    show_result(&app, &ctx, &host, parse_number(&number), closed).await
}

/// No pull request has the number 0.
fn parse_number(number: &str) -> u64 {
    number.parse().unwrap_or(0)
}

async fn local_host(app: &App, ctx: &ProjectContext) -> Result<Local, PageError> {
    app.hosts.local(&ctx.project).await.map_err(unreadable_repository)
}

/// The repository may have been moved or deleted. The person sees the cause, and can tell the operator.
fn unreadable_repository(error: forge::Error) -> PageError {
    let title = match &error {
        forge::Error::Refused(_) => "Pull requests are on another host",
        forge::Error::Repository(_) | forge::Error::NoSuchBranch(_) => "Can't read the repository",
        _ => return error.into(),
    };
    PageError(notice_page(StatusCode::CONFLICT, title, &error.to_string()))
}

/// Redirects to the page of the pull request, or shows it with the error.
async fn show_result(
    app: &App,
    ctx: &ProjectContext,
    host: &Local,
    number: u64,
    result: forge::Result<PullRequest>,
) -> Result<Response, PageError> {
    let error = match result {
        Ok(_) => return Ok(Redirect::to(&format!("{}/pulls/{number}", ctx.root())).into_response()),
        Err(forge::Error::NoSuchPull(_)) => return Ok(not_found_page("pull request")),
        Err(error) => error.to_string(),
    };
    let Some(pull) = host.get(number).await? else { return Ok(not_found_page("pull request")) };
    let pull = pull_page(app, ctx, host, &pull, Some(error)).await?;
    Ok(page_with(StatusCode::CONFLICT, &pull))
}

async fn pull_page(
    app: &App,
    ctx: &ProjectContext,
    host: &Local,
    pull: &PullRequest,
    error: Option<String>,
) -> Result<view::Pull, PageError> {
    let now = app.clock.now();
    let commit = |line: forge::CommitLine| Commit {
        id: line.id.as_str()[..10].to_owned(),
        subject: line.subject,
        author: line.author,
        when: display_time(Timestamp::from_second(line.time).unwrap_or_default(), now),
    };
    let job = pull
        .job
        .as_ref()
        .map(|id| Link { href: jobs::href(&ctx.project, &JobId(id.clone())), label: "a job".into() });
    let fixes = match &pull.job {
        Some(id) => match app.jobs.find(&ctx.project.id, &JobId(id.clone())).await? {
            Some(job) => load_fixed_findings(app, ctx, &job).await?,
            None => FixedFindings::default(),
        },
        None => FixedFindings::default(),
    };
    // If the head was deleted, its changes are lost. The page then shows the record and the error.
    let (commits, diff, error) = match (host.commits(pull).await, host.diff(pull).await) {
        (Ok(commits), Ok(diff)) => (commits, diff, error),
        (Err(lost), _) | (_, Err(lost)) => (Vec::new(), String::new(), error.or(Some(lost.to_string()))),
    };
    let merge_hint = match pull.state {
        HostState::Open => match host.merge_by_hand(pull).await? {
            None => describe_conflict(host, pull).await,
            by_hand => by_hand,
        },
        _ => None,
    };
    Ok(view::Pull {
        shell: ctx.shell(&pull.title, Section::Pulls),
        number: pull.number,
        state: state(pull),
        head: pull.head.clone(),
        base: pull.base.clone(),
        head_commit: pull.head_commit.to_string(),
        when: display_time(opened_at(pull), now),
        job,
        fixes,
        body: blocks(&pull.body),
        commits: commits.into_iter().map(commit).collect(),
        files: diff_files(&diff),
        full_diff: None,
        can_merge: pull.state == HostState::Open && merge_hint.is_none(),
        merge_hint,
        error,
    })
}

/// Says that a merge would conflict, before the person tries. The page shows other errors of the head elsewhere.
async fn describe_conflict(host: &Local, pull: &PullRequest) -> Option<String> {
    let why = host.conflict(pull).await.ok().flatten()?;
    Some(format!(
        "{why}\n\nTo resolve it, send a follow-up to the job, or push a merge commit to `{}`.",
        pull.head
    ))
}

fn opened_at(pull: &PullRequest) -> Timestamp {
    Timestamp::from_millisecond(pull.created_at).unwrap_or_default()
}

fn state(pull: &PullRequest) -> PullState {
    match pull.state {
        HostState::Open => PullState::Open,
        HostState::Merged => PullState::Merged,
        HostState::Closed => PullState::Closed,
    }
}
