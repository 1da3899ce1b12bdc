//! Handles `/projects/{project}/merge_requests`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{OriginalUri, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{error, insufficient_scope, json, message, not_found, unauthorized};
use crate::access::BadToken;
use crate::extractors::{Body, Lag, Number, Refusal, Site};
use crate::paging::{Page, page};
use crate::pulls::{
    Change, ChangeError, Filter, MergeError, MergeOptions, NewPull, OpenError, Pull, PullState,
};
use crate::state::{Host, Repository, User};

#[derive(Deserialize)]
pub(super) struct ListQuery {
    state: Option<String>,
    source_branch: Option<String>,
    target_branch: Option<String>,
}

/// `GET /projects/{project}/merge_requests`
pub(super) async fn list(
    State(host): State<Arc<Host>>,
    site: Site,
    Lag(lag): Lag,
    Query(query): Query<ListQuery>,
    OriginalUri(uri): OriginalUri,
) -> (HeaderMap, Json<Vec<Value>>) {
    let states = match query.state.as_deref() {
        Some("opened") => Some(vec![PullState::Open]),
        Some("closed") => Some(vec![PullState::Closed]),
        Some("merged") => Some(vec![PullState::Merged]),
        _ => None,
    };
    let filter = Filter { states, head: query.source_branch, base: query.target_branch, lag };
    let found = host.list_pulls(&site.repository, &filter);
    let page = page(found, &host.url, &uri, "per_page", 20, 100);
    let shown = page.items.iter().map(|pull| json::pull(&host, &site.repository, pull, true)).collect();
    (page_headers(&page), Json(shown))
}

fn page_headers<T>(page: &Page<T>) -> HeaderMap {
    let number = |wanted: bool, number: usize| if wanted { number.to_string() } else { String::new() };
    let all = [
        ("x-total", page.total.to_string()),
        ("x-total-pages", page.pages.to_string()),
        ("x-page", page.number.to_string()),
        ("x-per-page", page.size.to_string()),
        ("x-next-page", number(page.number < page.pages, page.number + 1)),
        ("x-prev-page", number(page.number > 1, page.number - 1)),
        ("link", page.link.clone()),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, HeaderValue::from_str(&value).ok()?)))
        .collect()
}

/// A list, or a text with commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum StringList {
    List(Vec<String>),
    Text(String),
}

impl StringList {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::List(words) => words,
            Self::Text(text) => text.split(',').map(|word| word.trim().to_owned()).collect(),
        }
    }
}

/// The request body of a new or changed merge request.
#[derive(Deserialize)]
pub(super) struct PullBody {
    source_branch: Option<String>,
    target_branch: Option<String>,
    title: Option<String>,
    description: Option<String>,
    labels: Option<StringList>,
    add_labels: Option<StringList>,
    reviewer_ids: Option<Vec<u64>>,
    state_event: Option<String>,
}

/// `POST /projects/{project}/merge_requests`
pub(super) async fn open(
    State(host): State<Arc<Host>>,
    site: Site,
    Body(body): Body<PullBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let repository = may_change(&site)?;
    let members = [
        ("title", &body.title),
        ("source_branch", &body.source_branch),
        ("target_branch", &body.target_branch),
    ];
    let missing: Vec<_> = members
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| format!("{name} is missing"))
        .collect();
    if !missing.is_empty() {
        return Err(error(400, &missing.join(", ")));
    }
    let title = body.title.unwrap_or_default();
    if title.trim().is_empty() {
        return Err(message(400, json!({ "title": ["can't be blank"] })));
    }
    let new = NewPull {
        draft: is_draft(&title),
        title,
        body: body.description.unwrap_or_default(),
        head: body.source_branch.unwrap_or_default(),
        base: body.target_branch.unwrap_or_default(),
        labels: body.labels.map(StringList::into_vec).unwrap_or_default(),
        reviewers: find_reviewers(&host, &body.reviewer_ids.unwrap_or_default()),
    };
    let pull = host.open_pull(repository, new).map_err(|why| match why {
        OpenError::NoHead => message(400, json!({ "source_branch": ["does not exist"] })),
        OpenError::NoBase => message(400, json!({ "target_branch": ["does not exist"] })),
        OpenError::Same => message(422, json!(["You can't use same project/branch for source and target"])),
        OpenError::Exists(open) => already_exists_error(open),
    })?;
    Ok((StatusCode::CREATED, pull_response(&host, repository, &pull).await))
}

/// `GET /projects/{project}/merge_requests/{iid}`
pub(super) async fn show(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
) -> Result<Json<Value>, Refusal> {
    let pull = host.pull(&site.repository, number).ok_or_else(|| not_found("Not Found"))?;
    Ok(pull_response(&host, &site.repository, &pull).await)
}

/// `PUT /projects/{project}/merge_requests/{iid}`
pub(super) async fn change(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<PullBody>,
) -> Result<Json<Value>, Refusal> {
    let repository = may_change(&site)?;
    let pull = host.pull(repository, number).ok_or_else(|| not_found("Not Found"))?;
    let mut labels = body.labels.map_or(pull.labels, StringList::into_vec);
    labels.extend(body.add_labels.map(StringList::into_vec).unwrap_or_default());
    let change = Change {
        draft: body.title.as_deref().map(is_draft),
        title: body.title,
        body: body.description,
        base: body.target_branch,
        open: body.state_event.map(|event| event == "reopen"),
        labels: Some(labels),
        reviewers: body.reviewer_ids.map(|ids| find_reviewers(&host, &ids)),
    };
    let pull = host.change_pull(repository, number, change).map_err(|why| match why {
        ChangeError::NotFound => not_found("Not Found"),
        ChangeError::Merged => message(400, json!({ "state": ["cannot transition via \"reopen\""] })),
        ChangeError::HeadGone => message(400, json!({ "source_branch": ["does not exist"] })),
        ChangeError::Exists(open) => already_exists_error(open),
    })?;
    Ok(pull_response(&host, repository, &pull).await)
}

#[derive(Deserialize)]
pub(super) struct MergeBody {
    sha: Option<String>,
    merge_commit_message: Option<String>,
    #[serde(default)]
    squash: bool,
}

/// `PUT /projects/{project}/merge_requests/{iid}/merge`
pub(super) async fn merge(
    State(host): State<Arc<Host>>,
    site: Site,
    Number(number): Number,
    Body(body): Body<MergeBody>,
) -> Result<Json<Value>, Refusal> {
    let repository = may_change(&site)?;
    let merge = MergeOptions { sha: body.sha, message: body.merge_commit_message, squash: body.squash };
    let pull = host.merge_pull(repository, number, merge).await.map_err(|why| match why {
        MergeError::NotFound => not_found("Not Found"),
        MergeError::NotOpen | MergeError::Draft => message(405, "405 Method Not Allowed".into()),
        MergeError::Conflict | MergeError::BaseMoved => message(422, "Branch cannot be merged".into()),
        MergeError::HeadMoved(sha) => {
            message(409, format!("SHA does not match HEAD of source branch: {sha}").into())
        }
        MergeError::Git(cause) => error(500, &format!("{cause:#}")),
    })?;
    Ok(pull_response(&host, repository, &pull).await)
}

fn may_change(site: &Site) -> Result<&Repository, Refusal> {
    match () {
        () if site.caller.0.is_none() => Err(unauthorized(BadToken::Unknown)),
        () if !site.caller.may_change_pulls() => Err(insufficient_scope()),
        () if site.repository.settings.archived => Err(message(403, "403 Forbidden".into())),
        () => Ok(&site.repository),
    }
}

fn already_exists_error(open: u64) -> Refusal {
    message(
        409,
        json!([format!("Another open merge request already exists for this source branch: !{open}")]),
    )
}

fn is_draft(title: &str) -> bool {
    ["Draft: ", "[Draft]", "(Draft)"].iter().any(|mark| title.starts_with(mark))
}

/// The users with these ids. GitLab silently ignores unknown ids.
fn find_reviewers(host: &Host, ids: &[u64]) -> Vec<User> {
    host.data().users.iter().filter(|user| ids.contains(&user.id)).cloned().collect()
}

async fn pull_response(host: &Host, repository: &Repository, pull: &Pull) -> Json<Value> {
    let mergeable = host.is_mergeable(repository, pull).await.unwrap_or(false);
    Json(json::pull(host, repository, pull, mergeable))
}
