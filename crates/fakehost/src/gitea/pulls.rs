//! Handles `/repos/{owner}/{repo}/pulls`: pull requests with their reviewers, labels and merges.

use std::sync::Arc;

use axum::Json;
use axum::extract::{OriginalUri, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{json, may_change, not_found, refusal};
use crate::extractors::{Body, Lag, Number, Refusal, Site};
use crate::paging::page;
use crate::pulls::{
    Change, ChangeError, Filter, MergeError, MergeOptions, NewPull, OpenError, Pull, PullState,
};
use crate::state::{Host, Repository, User};

#[derive(Deserialize)]
pub(super) struct ListQuery {
    state: Option<String>,
}

/// `GET /repos/{owner}/{repo}/pulls`: filters only by state, not by branch.
pub(super) async fn list(
    State(host): State<Arc<Host>>,
    site: Site,
    Lag(lag): Lag,
    Query(query): Query<ListQuery>,
    OriginalUri(uri): OriginalUri,
) -> (HeaderMap, Json<Vec<Value>>) {
    let states = match query.state.as_deref() {
        Some("all") => None,
        Some("closed") => Some(vec![PullState::Closed, PullState::Merged]),
        _ => Some(vec![PullState::Open]),
    };
    let found = host.list_pulls(&site.repository, &Filter { states, lag, ..Filter::default() });
    let page = page(found, &host.url, &uri, "limit", 30, 50);
    let mut headers = HeaderMap::new();
    headers.insert("x-total-count", page.total.into());
    if let Ok(link) = HeaderValue::from_str(&page.link)
        && !page.link.is_empty()
    {
        headers.insert("link", link);
    }
    let shown = page.items.iter().map(|pull| json::pull(&host, &site.repository, pull, true)).collect();
    (headers, Json(shown))
}

/// A label by its id or by its name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Id(usize),
    Name(String),
}

/// The request body of a new or changed pull request.
#[derive(Deserialize)]
pub(super) struct PullBody {
    title: Option<String>,
    body: Option<String>,
    head: Option<String>,
    base: Option<String>,
    state: Option<String>,
    labels: Option<Vec<Label>>,
    reviewers: Option<Vec<String>>,
}

/// `POST /repos/{owner}/{repo}/pulls`
pub(super) async fn open(
    State(host): State<Arc<Host>>,
    site: Site,
    Body(body): Body<PullBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let repository = may_change(&host, &site)?;
    let title = body.title.unwrap_or_default();
    if title.trim().is_empty() {
        return Err(refusal(&host, 422, "[Title]: Required"));
    }
    let head = body.head.unwrap_or_default();
    let own = format!("{}:", repository.owner());
    let new = NewPull {
        draft: is_draft(&title),
        title,
        body: body.body.unwrap_or_default(),
        head: head.strip_prefix(&own).unwrap_or(&head).to_owned(),
        base: body.base.unwrap_or_default(),
        labels: find_labels(&host, repository, body.labels.unwrap_or_default())?,
        reviewers: find_reviewers(&host, body.reviewers.unwrap_or_default())?,
    };
    let (head, base) = (new.head.clone(), new.base.clone());
    let pull = host.open_pull(repository, new).map_err(|why| match why {
        OpenError::NoHead | OpenError::NoBase => not_found(&host),
        OpenError::Same => {
            refusal(&host, 422, "Invalid PullRequest: There are no changes between the head and the base")
        }
        OpenError::Exists(open) => already_exists_error(&host, repository, open, &head, &base),
    })?;
    Ok((StatusCode::CREATED, pull_response(&host, repository, &pull).await))
}

/// `GET /repos/{owner}/{repo}/pulls/{number}`
pub(super) async fn show(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
) -> Result<Json<Value>, Refusal> {
    let pull = host.pull(&site.repository, number).ok_or_else(|| not_found(&host))?;
    Ok(pull_response(&host, &site.repository, &pull).await)
}

/// `GET /repos/{owner}/{repo}/pulls/{base}/{head}`: the newest one, in any state.
pub(super) async fn by_branches(
    State(host): State<Arc<Host>>,
    site: Site,
    Lag(lag): Lag,
    Path((_, _, base, head)): Path<(String, String, String, String)>,
) -> Result<Json<Value>, Refusal> {
    let filter = Filter { states: None, head: Some(head), base: Some(base), lag };
    let found = host.list_pulls(&site.repository, &filter);
    let pull = found.first().ok_or_else(|| not_found(&host))?;
    Ok(pull_response(&host, &site.repository, pull).await)
}

/// `PATCH /repos/{owner}/{repo}/pulls/{number}`: responds with 201.
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<PullBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let repository = may_change(&host, &site)?;
    let change = Change {
        draft: body.title.as_deref().map(is_draft),
        title: body.title,
        body: body.body,
        base: body.base,
        open: body.state.map(|state| state == "open"),
        labels: body.labels.map(|all| find_labels(&host, repository, all)).transpose()?,
        reviewers: None,
    };
    let pull = change_pull(&host, repository, number, change)?;
    Ok((StatusCode::CREATED, pull_response(&host, repository, &pull).await))
}

#[derive(Deserialize)]
pub(super) struct Reviewers {
    #[serde(default)]
    reviewers: Vec<String>,
}

/// `POST /repos/{owner}/{repo}/pulls/{number}/requested_reviewers`: one review for each.
pub(super) async fn request_reviewers(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<Reviewers>,
) -> Result<(StatusCode, Json<Vec<Value>>), Refusal> {
    let repository = may_change(&host, &site)?;
    let requested = find_reviewers(&host, body.reviewers)?;
    let reviews = requested.iter().map(|user| {
        serde_json::json!({ "user": json::user(&host, user), "state": "REQUEST_REVIEW", "stale": false })
    });
    let reviews = reviews.collect();
    let mut all = host.pull(repository, number).ok_or_else(|| not_found(&host))?.reviewers;
    all.extend(requested);
    all.sort_by_key(|user| user.id);
    all.dedup();
    change_pull(&host, repository, number, Change { reviewers: Some(all), ..Change::default() })?;
    Ok((StatusCode::CREATED, Json(reviews)))
}

#[derive(Deserialize)]
pub(super) struct Labels {
    labels: Vec<Label>,
}

/// `POST /repos/{owner}/{repo}/issues/{number}/labels`
pub(super) async fn add_labels(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<Labels>,
) -> Result<Json<Vec<Value>>, Refusal> {
    let repository = may_change(&host, &site)?;
    let added = find_labels(&host, repository, body.labels)?;
    let mut all = host.pull(repository, number).ok_or_else(|| not_found(&host))?.labels;
    all.extend(added);
    let mut seen = std::collections::HashSet::new();
    all.retain(|name| seen.insert(name.clone()));
    let pull = change_pull(&host, repository, number, Change { labels: Some(all), ..Change::default() })?;
    Ok(Json(pull.labels.iter().map(|name| json::label(repository, name)).collect()))
}

#[derive(Deserialize)]
pub(super) struct MergeBody {
    #[serde(rename = "Do")]
    style: Option<String>,
    head_commit_id: Option<String>,
    #[serde(rename = "MergeTitleField")]
    title: Option<String>,
}

/// `POST /repos/{owner}/{repo}/pulls/{number}/merge`: responds with an empty body.
pub(super) async fn merge(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<MergeBody>,
) -> Result<(), Refusal> {
    let repository = may_change(&host, &site)?;
    let squash = match body.style.as_deref() {
        Some("merge") => false,
        Some("squash") => true,
        Some(_) => return Err(refusal(&host, 405, "Invalid merge style")),
        None => return Err(refusal(&host, 422, "[Do]: Required")),
    };
    let sha = body.head_commit_id.filter(|sha| !sha.is_empty());
    let merge = MergeOptions { sha, message: body.title, squash };
    host.merge_pull(repository, number, merge).await.map(drop).map_err(|why| match why {
        MergeError::NotFound => not_found(&host),
        MergeError::NotOpen => refusal(&host, 405, "Please try again later"),
        MergeError::Draft => refusal(&host, 405, "Work in progress PRs cannot be merged"),
        MergeError::Conflict => refusal(&host, 409, "merge conflict"),
        MergeError::HeadMoved(_) => refusal(&host, 409, "head out of date"),
        MergeError::BaseMoved => refusal(&host, 409, "merge push out of date"),
        MergeError::Git(cause) => refusal(&host, 500, &format!("{cause:#}")),
    })
}

fn change_pull(host: &Host, repository: &Repository, number: u64, change: Change) -> Result<Pull, Refusal> {
    host.change_pull(repository, number, change).map_err(|why| match why {
        ChangeError::NotFound => not_found(host),
        ChangeError::Merged => {
            refusal(host, 412, "cannot change state of this pull request, it was already merged")
        }
        ChangeError::HeadGone => refusal(host, 422, "the head branch does not exist"),
        ChangeError::Exists(open) => {
            refusal(host, 409, &format!("pull request already exists for these targets [id: {open}]"))
        }
    })
}

fn already_exists_error(host: &Host, repository: &Repository, open: u64, head: &str, base: &str) -> Refusal {
    let id = repository.id;
    let message = format!(
        "pull request already exists for these targets [id: {open}, issue_id: {open}, head_repo_id: {id}, base_repo_id: {id}, head_branch: {head}, base_branch: {base}]"
    );
    refusal(host, 409, &message)
}

fn find_labels(host: &Host, repository: &Repository, labels: Vec<Label>) -> Result<Vec<String>, Refusal> {
    let known = |label: Label| match label {
        Label::Id(id) => repository.labels.get(id.checked_sub(1)?).cloned(),
        Label::Name(name) => repository.labels.contains(&name).then_some(name),
    };
    labels.into_iter().map(known).collect::<Option<_>>().ok_or_else(|| not_found(host))
}

fn find_reviewers(host: &Host, logins: Vec<String>) -> Result<Vec<User>, Refusal> {
    let data = host.data();
    let known = |login: &String| {
        let missing = || refusal(host, 404, &format!("user does not exist [uid: 0, name: {login}]"));
        data.user(login).ok_or_else(missing)
    };
    logins.iter().map(known).collect()
}

fn is_draft(title: &str) -> bool {
    ["WIP:", "[WIP]"].iter().any(|mark| title.to_ascii_uppercase().starts_with(mark))
}

async fn pull_response(host: &Host, repository: &Repository, pull: &Pull) -> Json<Value> {
    let mergeable = host.is_mergeable(repository, pull).await.unwrap_or(false);
    Json(json::pull(host, repository, pull, mergeable))
}
