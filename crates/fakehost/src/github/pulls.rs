//! Handles `/repos/{owner}/{repo}/pulls`: pull requests with their reviewers, labels and merges.

use std::sync::Arc;

use axum::Json;
use axum::extract::{OriginalUri, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json::{full_pull, label, pull as pull_json};
use super::{not_accessible, refusal};
use crate::extractors::{Body, Lag, Number, Refusal, Site};
use crate::git;
use crate::paging::page;
use crate::pulls::{
    Change, ChangeError, Filter, MergeError, MergeOptions, NewPull, OpenError, Pull, PullState,
};
use crate::state::{Host, Repository};

#[derive(Deserialize)]
pub(super) struct ListQuery {
    state: Option<String>,
    head: Option<String>,
    base: Option<String>,
}

/// `GET /repos/{owner}/{repo}/pulls`
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
    // GitHub ignores a head without its owner; the format is `owner:branch`.
    let (mut head, mut is_ours) = (None, true);
    if let Some((owner, branch)) = query.head.as_deref().and_then(|head| head.split_once(':')) {
        (head, is_ours) = (Some(branch.to_owned()), owner == site.repository.owner());
    }
    let filter = Filter { states, head, base: query.base, lag };
    let mut found = host.list_pulls(&site.repository, &filter);
    found.retain(|_| is_ours);
    let page = page(found, &host.url, &uri, "per_page", 30, 100);
    let mut headers = HeaderMap::new();
    if let Ok(link) = HeaderValue::from_str(&page.link)
        && !page.link.is_empty()
    {
        headers.insert("link", link);
    }
    (headers, Json(page.items.iter().map(|pull| pull_json(&host, &site.repository, pull)).collect()))
}

#[derive(Deserialize)]
pub(super) struct OpenBody {
    #[serde(default)]
    title: String,
    body: Option<String>,
    #[serde(default)]
    head: String,
    #[serde(default)]
    base: String,
    #[serde(default)]
    draft: bool,
}

/// `POST /repos/{owner}/{repo}/pulls`
pub(super) async fn open(
    State(host): State<Arc<Host>>,
    site: Site,
    Body(body): Body<OpenBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let repository = may_change(&site)?;
    if body.title.trim().is_empty() {
        return Err(validation_error(
            json!({ "resource": "PullRequest", "code": "missing_field", "field": "title" }),
        ));
    }
    let head = match body.head.split_once(':') {
        Some((owner, branch)) if owner == repository.owner() => branch.to_owned(),
        Some(_) => return Err(invalid_field_error("head")),
        None => body.head,
    };
    let new = NewPull {
        title: body.title,
        body: body.body.unwrap_or_default(),
        head,
        base: body.base,
        ..NewPull::default()
    };
    let new = NewPull { draft: body.draft, ..new };
    if let (Some(head), Some(base)) =
        (git::tip(&repository.git_dir, &new.head), git::tip(&repository.git_dir, &new.base))
        && !git::is_ahead(&repository.git_dir, &base, &head).await.map_err(internal_error)?
    {
        return Err(custom_error(&format!("No commits between {} and {}", new.base, new.head)));
    }
    let branch = new.head.clone();
    let opened = host.open_pull(repository, new).map_err(|why| match why {
        OpenError::NoHead => invalid_field_error("head"),
        OpenError::NoBase => invalid_field_error("base"),
        OpenError::Same => custom_error(&format!("No commits between {branch} and {branch}")),
        OpenError::Exists(_) => {
            custom_error(&format!("A pull request already exists for {}:{branch}.", repository.owner()))
        }
    })?;
    Ok((StatusCode::CREATED, pull_response(&host, repository, &opened).await))
}

/// `GET /repos/{owner}/{repo}/pulls/{number}`
pub(super) async fn show(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
) -> Result<Json<Value>, Refusal> {
    let pull = host.pull(&site.repository, number).ok_or_else(|| refusal(404, "Not Found"))?;
    Ok(pull_response(&host, &site.repository, &pull).await)
}

#[derive(Deserialize)]
pub(super) struct ChangeBody {
    title: Option<String>,
    body: Option<String>,
    base: Option<String>,
    state: Option<String>,
}

/// `PATCH /repos/{owner}/{repo}/pulls/{number}`
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<ChangeBody>,
) -> Result<Json<Value>, Refusal> {
    let repository = may_change(&site)?;
    let open = body.state.as_deref().map(|state| state == "open");
    let change = Change { title: body.title, body: body.body, base: body.base, open, ..Change::default() };
    let pull = change_pull(&host, repository, number, change)?;
    Ok(pull_response(&host, repository, &pull).await)
}

#[derive(Deserialize)]
pub(super) struct Reviewers {
    #[serde(default)]
    reviewers: Vec<String>,
}

/// `POST /repos/{owner}/{repo}/pulls/{number}/requested_reviewers`
pub(super) async fn request_reviewers(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<Reviewers>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let repository = may_change(&site)?;
    let requested: Option<Vec<_>> = {
        let data = host.data();
        body.reviewers.iter().map(|login| data.user(login)).collect()
    };
    let Some(requested) = requested else {
        let name = &repository.name;
        return Err(refusal(
            422,
            &format!(
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the {name} repository."
            ),
        ));
    };
    let pull = host.pull(repository, number).ok_or_else(|| refusal(404, "Not Found"))?;
    let mut reviewers = pull.reviewers;
    reviewers.extend(requested);
    reviewers.sort_by_key(|user| user.id);
    reviewers.dedup();
    let change = Change { reviewers: Some(reviewers), ..Change::default() };
    let pull = change_pull(&host, repository, number, change)?;
    // Like in lists, without computed fields.
    Ok((StatusCode::CREATED, Json(pull_json(&host, repository, &pull))))
}

/// GitHub accepts both formats.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Labels {
    Object { labels: Vec<String> },
    List(Vec<String>),
}

/// `POST /repos/{owner}/{repo}/issues/{number}/labels`: creates missing labels.
pub(super) async fn add_labels(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<Labels>,
) -> Result<Json<Vec<Value>>, Refusal> {
    let repository = may_change(&site)?;
    let pull = host.pull(repository, number).ok_or_else(|| refusal(404, "Not Found"))?;
    let mut labels = pull.labels;
    let (Labels::Object { labels: added } | Labels::List(added)) = body;
    labels.extend(added.into_iter().filter(|name| !name.is_empty()));
    let mut seen = std::collections::HashSet::new();
    labels.retain(|name| seen.insert(name.clone()));
    let shown = labels.iter().map(|name| label(name)).collect();
    change_pull(&host, repository, number, Change { labels: Some(labels), ..Change::default() })?;
    Ok(Json(shown))
}

#[derive(Deserialize)]
pub(super) struct MergeBody {
    sha: Option<String>,
    commit_title: Option<String>,
    merge_method: Option<String>,
}

/// `PUT /repos/{owner}/{repo}/pulls/{number}/merge`
pub(super) async fn merge(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<MergeBody>,
) -> Result<Json<Value>, Refusal> {
    let repository = may_change(&site)?;
    if body.merge_method.as_deref() == Some("rebase") {
        return Err(refusal(405, "Rebase merges are not allowed on this repository."));
    }
    let squash = body.merge_method.as_deref() == Some("squash");
    let merge = MergeOptions { sha: body.sha, message: body.commit_title, squash };
    let pull = host.merge_pull(repository, number, merge).await.map_err(|why| match why {
        MergeError::NotFound => refusal(404, "Not Found"),
        MergeError::NotOpen => refusal(405, "Pull Request is not mergeable"),
        MergeError::Draft => refusal(405, "Pull Request is still a draft"),
        MergeError::Conflict => refusal(405, "Pull Request has merge conflicts"),
        MergeError::HeadMoved(_) => refusal(409, "Head branch was modified. Review and try the merge again."),
        MergeError::BaseMoved => refusal(405, "Base branch was modified. Review and try the merge again."),
        MergeError::Git(error) => internal_error(error),
    })?;
    let message = "Pull Request successfully merged";
    Ok(Json(json!({ "sha": pull.merge_commit, "merged": true, "message": message })))
}

fn may_change(site: &Site) -> Result<&Repository, Refusal> {
    match () {
        () if !site.caller.may_change_pulls() => Err(not_accessible(&site.caller)),
        () if site.repository.settings.archived => {
            Err(refusal(403, "Repository was archived so is read-only."))
        }
        () => Ok(&site.repository),
    }
}

fn change_pull(host: &Host, repository: &Repository, number: u64, change: Change) -> Result<Pull, Refusal> {
    host.change_pull(repository, number, change).map_err(|why| match why {
        ChangeError::NotFound => refusal(404, "Not Found"),
        ChangeError::Merged => state_error("The pull request cannot be reopened."),
        ChangeError::HeadGone => state_error("The head branch has been deleted."),
        ChangeError::Exists(_) => state_error("There is already an open pull request for this branch."),
    })
}

async fn pull_response(host: &Host, repository: &Repository, pull: &Pull) -> Json<Value> {
    let mergeable = host.is_mergeable(repository, pull).await.unwrap_or(false);
    Json(full_pull(host, repository, pull, mergeable))
}

fn validation_error(error: Value) -> Refusal {
    let mut refusal = refusal(422, "Validation Failed");
    refusal.1["errors"] = json!([error]);
    refusal
}

fn invalid_field_error(field: &str) -> Refusal {
    validation_error(json!({ "resource": "PullRequest", "field": field, "code": "invalid" }))
}

fn custom_error(message: &str) -> Refusal {
    validation_error(json!({ "resource": "PullRequest", "code": "custom", "message": message }))
}

fn state_error(why: &str) -> Refusal {
    let message = format!("state cannot be changed. {why}");
    validation_error(
        json!({ "resource": "PullRequest", "field": "state", "code": "invalid", "message": message }),
    )
}

fn internal_error(error: anyhow::Error) -> Refusal {
    refusal(500, &format!("{error:#}"))
}
