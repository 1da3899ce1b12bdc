//! Imitates the API of Gitea and Forgejo.

pub(crate) mod json;
mod pulls;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::Kind;
use crate::access::{Access, Caller};
use crate::extractors::{Body, Branch, Refusal, Site};
use crate::git;
use crate::state::{Host, Repository, User};

pub(crate) fn routes() -> Router<Arc<Host>> {
    let api = Router::new()
        .route("/version", get(version))
        .route("/user", get(user))
        .route("/repos/{owner}/{repo}", get(repository))
        .route("/repos/{owner}/{repo}/branches/{*branch}", get(branch))
        .route("/repos/{owner}/{repo}/labels", get(labels).post(add_label))
        .route("/repos/{owner}/{repo}/pulls", get(pulls::list).post(pulls::open))
        .route("/repos/{owner}/{repo}/pulls/{number}", get(pulls::show).patch(pulls::change))
        .route("/repos/{owner}/{repo}/pulls/{number}/merge", post(pulls::merge))
        .route("/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", post(pulls::request_reviewers))
        .route("/repos/{owner}/{repo}/pulls/{number}/{*branch}", get(pulls::by_branches))
        .route("/repos/{owner}/{repo}/issues/{number}/labels", post(pulls::add_labels));
    Router::new().nest("/api/v1", api)
}

pub(crate) fn refusal(host: &Host, status: u16, message: &str) -> Refusal {
    Refusal::new(status, json!({ "message": message, "url": format!("{}/api/swagger", host.url) }))
}

pub(crate) fn not_found(host: &Host) -> Refusal {
    let mut refusal = refusal(host, 404, "The target couldn't be found.");
    refusal.1["errors"] = json!([]);
    refusal
}

pub(crate) fn unauthorized(host: &Host) -> Refusal {
    refusal(host, 401, "invalid username, password or token")
}

fn may_change<'a>(host: &Host, site: &'a Site) -> Result<&'a Repository, Refusal> {
    match site.caller.access() {
        None => Err(refusal(host, 401, "token is required")),
        Some(Access::Full) if site.repository.settings.archived => {
            Err(refusal(host, 423, "This repository is archived"))
        }
        Some(Access::Full) => Ok(&site.repository),
        Some(_) => Err(refusal(
            host,
            403,
            "token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository",
        )),
    }
}

async fn version(State(host): State<Arc<Host>>) -> Json<Value> {
    let version = match host.kind {
        Kind::Forgejo => "11.0.1+gitea-1.22.0",
        _ => "1.23.7",
    };
    Json(json!({ "version": version }))
}

/// `GET /user`
async fn user(State(host): State<Arc<Host>>, caller: Caller) -> Result<Json<Value>, Refusal> {
    match caller.0 {
        Some(_) => Ok(Json(json::user(&host, &User::bot()))),
        None => Err(refusal(&host, 401, "token is required")),
    }
}

/// `GET /repos/{owner}/{repo}`
async fn repository(State(host): State<Arc<Host>>, site: Site) -> Json<Value> {
    let mut shown = json::repository(&host, &site.repository);
    shown["permissions"] =
        json!({ "admin": false, "push": site.caller.reported_push_permission(), "pull": true });
    Json(shown)
}

/// `GET /repos/{owner}/{repo}/branches/{branch}`
async fn branch(
    State(host): State<Arc<Host>>,
    site: Site,
    Branch(name): Branch,
) -> Result<Json<Value>, Refusal> {
    let Site { repository, caller } = site;
    let sha = git::tip(&repository.git_dir, &name).ok_or_else(|| not_found(&host))?;
    let protected = repository.settings.protected.contains(&name);
    Ok(Json(json!({
        "name": name,
        "commit": { "id": sha, "url": format!("{}/{}/commit/{sha}", host.url, repository.name) },
        "protected": protected,
        "user_can_push": caller.may_push() && !protected,
        "user_can_merge": caller.may_change_pulls(),
    })))
}

/// `GET /repos/{owner}/{repo}/labels`
async fn labels(site: Site) -> Json<Vec<Value>> {
    let labels = &site.repository.labels;
    Json(labels.iter().map(|name| json::label(&site.repository, name)).collect())
}

#[derive(serde::Deserialize)]
struct NewLabel {
    name: String,
}

/// `POST /repos/{owner}/{repo}/labels`
async fn add_label(
    State(host): State<Arc<Host>>,
    site: Site,
    Body(body): Body<NewLabel>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let name = &may_change(&host, &site)?.name;
    let mut data = host.data();
    let repository = data.repositories.get_mut(name).ok_or_else(|| not_found(&host))?;
    repository.labels.push(body.name.clone());
    Ok((StatusCode::CREATED, Json(json::label(repository, &body.name))))
}
