//! Imitates the parts of GitHub's REST API that pull requests need, with its rate limit.

pub(crate) mod json;
mod pulls;

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post, put};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::access::{Access, Caller, Grant};
use crate::app::BadJwt;
use crate::extractors::{Body, Branch, Refusal, Site};
use crate::git;
use crate::state::{Host, REQUESTS_PER_HOUR, User};

const DOCUMENTATION_URL: &str = "https://docs.github.com/rest";
const MISSING_USER_AGENT: &str = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). Check https://developer.github.com for other possible causes.";

pub(crate) fn routes(host: &Arc<Host>) -> Router<Arc<Host>> {
    let api = Router::new()
        .route("/user", get(user))
        .route("/app/installations/{id}/access_tokens", post(installation_token))
        .route("/repos/{owner}/{repo}", get(repository))
        .route("/repos/{owner}/{repo}/branches/{*branch}", get(branch))
        .route("/repos/{owner}/{repo}/git/ref/heads/{*branch}", get(reference))
        .route("/repos/{owner}/{repo}/pulls", get(pulls::list).post(pulls::open))
        .route("/repos/{owner}/{repo}/pulls/{number}", patch(pulls::change).get(pulls::show))
        .route("/repos/{owner}/{repo}/pulls/{number}/merge", put(pulls::merge))
        .route("/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", post(pulls::request_reviewers))
        .route("/repos/{owner}/{repo}/issues/{number}/labels", post(pulls::add_labels))
        .route_layer(middleware::from_fn_with_state(host.clone(), rate_limit));
    Router::new().nest("/api/v3", api.clone()).merge(api)
}

pub(crate) fn refusal(status: u16, message: &str) -> Refusal {
    let body =
        json!({ "message": message, "documentation_url": DOCUMENTATION_URL, "status": status.to_string() });
    Refusal::new(status, body)
}

pub(crate) fn bad_credentials() -> Refusal {
    refusal(401, "Bad credentials")
}

/// The error for a token without the required permission.
fn not_accessible(caller: &Caller) -> Refusal {
    match caller {
        Caller(None) => refusal(401, "Requires authentication"),
        known if known.is_installation() => refusal(403, "Resource not accessible by integration"),
        _ => refusal(403, "Resource not accessible by personal access token"),
    }
}

/// Checks the user agent, counts the request against the rate limit, and adds GitHub's response headers.
async fn rate_limit(State(host): State<Arc<Host>>, request: Request, next: Next) -> Response {
    if request.headers().get("user-agent").is_none_or(|agent| agent.is_empty()) {
        return (StatusCode::FORBIDDEN, MISSING_USER_AGENT).into_response();
    }
    let caller = host.caller(request.headers());
    let opens = request.method() == Method::POST && request.uri().path().ends_with("/pulls");
    let (left, reset) = {
        let mut data = host.data();
        let left = data.requests_left.checked_sub(1);
        data.requests_left = left.unwrap_or(0);
        (left, data.now().as_second() + 3600)
    };
    let mut answer = match left {
        Some(_) => next.run(request).await,
        None => refusal(403, "API rate limit exceeded for user ID 1.").into_response(),
    };
    let left = left.unwrap_or(0);
    let headers = answer.headers_mut();
    headers.insert("x-ratelimit-limit", REQUESTS_PER_HOUR.into());
    headers.insert("x-ratelimit-remaining", left.into());
    headers.insert("x-ratelimit-used", REQUESTS_PER_HOUR.saturating_sub(left).into());
    headers.insert("x-ratelimit-reset", reset.into());
    headers.insert("x-ratelimit-resource", HeaderValue::from_static("core"));
    if opens {
        headers.insert("x-accepted-github-permissions", HeaderValue::from_static("pull_requests=write"));
    }
    // Only classic tokens have scopes. Here, tokens with full access are classic.
    if caller.is_ok_and(|caller| caller.access() == Some(Access::Full) && !caller.is_installation()) {
        headers.insert("x-oauth-scopes", HeaderValue::from_static("repo"));
    }
    answer
}

/// `GET /user`
async fn user(State(host): State<Arc<Host>>, caller: Caller) -> Result<Json<Value>, Refusal> {
    match &caller.0 {
        Some(grant) if !grant.is_installation => Ok(Json(json::user(&host, &User::bot()))),
        _ => Err(not_accessible(&caller)),
    }
}

/// `GET /repos/{owner}/{repo}`
async fn repository(State(host): State<Arc<Host>>, site: Site) -> Json<Value> {
    let mut shown = json::repository(&host, &site.repository);
    let push = site.caller.reported_push_permission();
    shown["permissions"] = json!({ "admin": false, "push": push, "pull": true });
    Json(shown)
}

/// `GET /repos/{owner}/{repo}/branches/{branch}`
async fn branch(
    State(host): State<Arc<Host>>,
    site: Site,
    Branch(name): Branch,
) -> Result<Json<Value>, Refusal> {
    let Site { repository, .. } = site;
    let sha = git::tip(&repository.git_dir, &name).ok_or_else(|| refusal(404, "Branch not found"))?;
    let url = format!("{}/repos/{}/commits/{sha}", host.url, repository.name);
    let protected = repository.settings.protected.contains(&name);
    Ok(Json(json!({ "name": name, "commit": { "sha": sha, "url": url }, "protected": protected })))
}

/// `GET /repos/{owner}/{repo}/git/ref/heads/{branch}`
async fn reference(
    State(host): State<Arc<Host>>,
    site: Site,
    Branch(name): Branch,
) -> Result<Json<Value>, Refusal> {
    let Site { repository, .. } = site;
    let sha = git::tip(&repository.git_dir, &name).ok_or_else(|| refusal(404, "Not Found"))?;
    let base = format!("{}/repos/{}/git", host.url, repository.name);
    Ok(Json(json!({
        "ref": format!("refs/heads/{name}"),
        "url": format!("{base}/refs/heads/{name}"),
        "object": { "type": "commit", "sha": sha, "url": format!("{base}/commits/{sha}") },
    })))
}

#[derive(serde::Deserialize)]
struct NewToken {
    /// Repository names without the owner.
    repositories: Option<Vec<String>>,
}

/// `POST /app/installations/{id}/access_tokens`, with the app's JWT.
async fn installation_token(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(body): Body<NewToken>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let jwt = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let mut data = host.data();
    let (now, number) = (data.now(), data.new_id());
    let app = data.app.as_ref().ok_or_else(|| refusal(404, "Integration not found"))?;
    app.check(jwt.unwrap_or_default(), now).map_err(bad_jwt)?;
    if id != app.installation.to_string() {
        return Err(refusal(404, "Not Found"));
    }
    let wanted = |name: &String| {
        body.repositories
            .as_ref()
            .is_none_or(|all| all.iter().any(|short| name.ends_with(&format!("/{short}"))))
    };
    let repositories = data.repositories.keys().filter(|name| wanted(name)).cloned().collect();
    let expires_at = now + jiff::SignedDuration::from_hours(1);
    let grant = Grant {
        access: Access::Full,
        repositories: body.repositories.is_some().then_some(repositories),
        expires_at: Some(expires_at),
        is_installation: true,
    };
    let token = format!("ghs_{number:036}");
    data.grants.insert(token.clone(), grant);
    let selection = if body.repositories.is_some() { "selected" } else { "all" };
    Ok((
        StatusCode::CREATED,
        Json(json!({
            "token": token,
            "expires_at": json::time(expires_at),
            "permissions": { "contents": "write", "metadata": "read", "pull_requests": "write" },
            "repository_selection": selection,
        })),
    ))
}

fn bad_jwt(why: BadJwt) -> Refusal {
    match why {
        BadJwt::Undecodable => refusal(401, "A JSON web token could not be decoded"),
        BadJwt::Expired => refusal(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ),
        BadJwt::TooLong => refusal(401, "'Expiration time' claim ('exp') is too far in the future"),
        BadJwt::IssuedLater => refusal(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ),
        BadJwt::OtherApp => refusal(404, "Integration not found"),
    }
}
