//! Imitates the parts of GitLab's API (version 4) that merge requests need.

pub(crate) mod json;
mod merge_requests;

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::access::{Access, BadToken, Caller};
use crate::extractors::{Branch, Refusal, Site};
use crate::git;
use crate::state::{Host, User};

pub(crate) fn routes() -> Router<Arc<Host>> {
    let api = Router::new()
        .route("/version", get(version))
        .route("/user", get(user))
        .route("/users", get(users))
        .route("/personal_access_tokens/self", get(token))
        .route("/projects/{project}", get(project))
        .route("/projects/{project}/repository/branches/{*branch}", get(branch))
        .route("/projects/{project}/merge_requests", get(merge_requests::list).post(merge_requests::open))
        .route(
            "/projects/{project}/merge_requests/{number}",
            get(merge_requests::show).put(merge_requests::change),
        )
        .route("/projects/{project}/merge_requests/{number}/merge", put(merge_requests::merge));
    Router::new().nest("/api/v4", api)
}

/// The error format of GitLab's models.
fn message(status: u16, message: Value) -> Refusal {
    Refusal::new(status, json!({ "message": message }))
}

/// The error format of GitLab's parameter validation.
pub(crate) fn error(status: u16, error: &str) -> Refusal {
    Refusal::new(status, json!({ "error": error }))
}

pub(crate) fn not_found(what: &str) -> Refusal {
    match what {
        "Not Found" => message(404, "404 Not found".into()),
        what => message(404, format!("404 {what} Not Found").into()),
    }
}

pub(crate) fn unauthorized(why: BadToken) -> Refusal {
    match why {
        BadToken::Unknown => message(401, "401 Unauthorized".into()),
        BadToken::Expired => Refusal::new(
            401,
            json!({
                "error": "invalid_token",
                "error_description": "Token is expired. You can either do re-authorization or token refresh.",
            }),
        ),
    }
}

fn insufficient_scope() -> Refusal {
    Refusal::new(
        403,
        json!({
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than provided by the access token.",
            "scope": "api",
        }),
    )
}

/// The name of a project, which is addressed by its path or its id.
pub(crate) fn project_name(host: &Host, project: String) -> String {
    let Ok(id) = project.parse::<u64>() else { return project };
    let data = host.data();
    let found = data.repositories.values().find(|repository| repository.id == id);
    found.map_or(project, |repository| repository.name.clone())
}

async fn version() -> Json<Value> {
    Json(json!({ "version": "17.8.1", "revision": "0000000" }))
}

/// `GET /user`
async fn user(State(host): State<Arc<Host>>, caller: Caller) -> Result<Json<Value>, Refusal> {
    require_token(&caller)?;
    Ok(Json(json::user(&host, &User::bot())))
}

#[derive(serde::Deserialize)]
struct UserQuery {
    username: Option<String>,
}

/// `GET /users?username=`
async fn users(
    State(host): State<Arc<Host>>,
    caller: Caller,
    Query(query): Query<UserQuery>,
) -> Result<Json<Vec<Value>>, Refusal> {
    require_token(&caller)?;
    let mut users = host.data().users.clone();
    users.retain(|user| query.username.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&user.login)));
    Ok(Json(users.iter().map(|user| json::user(&host, user)).collect()))
}

/// `GET /personal_access_tokens/self`
async fn token(caller: Caller) -> Result<Json<Value>, Refusal> {
    require_token(&caller)?;
    let scopes: &[&str] = match caller.access() {
        Some(Access::Full) => &["api"],
        Some(Access::NoPulls) => &["read_api", "write_repository"],
        _ => &["read_api", "read_repository"],
    };
    Ok(Json(json!({
        "id": 1,
        "name": "docs",
        "revoked": false,
        "active": true,
        "scopes": scopes,
        "user_id": User::bot().id,
        "expires_at": null,
    })))
}

/// `GET /projects/{project}`
async fn project(State(host): State<Arc<Host>>, site: Site) -> Json<Value> {
    let mut shown = json::project(&host, &site.repository);
    let level = if site.caller.reported_push_permission() { 40 } else { 20 };
    shown["permissions"] =
        json!({ "project_access": { "access_level": level, "notification_level": 3 }, "group_access": null });
    Json(shown)
}

/// `GET /projects/{project}/repository/branches/{branch}`
async fn branch(
    State(host): State<Arc<Host>>,
    site: Site,
    Branch(name): Branch,
) -> Result<Json<Value>, Refusal> {
    let Site { repository, caller } = site;
    let sha = git::tip(&repository.git_dir, &name).ok_or_else(|| not_found("Branch"))?;
    let protected = repository.settings.protected.contains(&name);
    Ok(Json(json!({
        "name": name,
        "merged": false,
        "protected": protected,
        "default": name == repository.settings.default_branch,
        "can_push": caller.may_push() && !protected,
        "web_url": format!("{}/{}/-/tree/{name}", host.url, repository.name),
        "commit": { "id": sha, "short_id": sha.get(..8) },
    })))
}

fn require_token(caller: &Caller) -> Result<(), Refusal> {
    caller.0.as_ref().map(drop).ok_or_else(|| unauthorized(BadToken::Unknown))
}
