//! Receives webhooks of repository hosts when a pull request changes.
//!
//! A webhook has a signature instead of an API key. A sender without a valid one learns nothing. The content
//! is only a hint: the server asks the host for the state of the pull request, so a replayed webhook changes
//! nothing.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use forge::{Host as _, HostKind, WebhookEvent, read_webhook};
use net::Secret;
use store::{Project, ProjectId};

use super::body::{is_json, media_type, read_body};
use super::error::ApiError;
use app::App;
use app::hosts::{HOOK_SECRET, stored_state};

/// Hosts send the whole pull request, with its text.
const MAX_BODY_BYTES: usize = 2 << 20;

/// `POST /hooks/{provider}/{projectId}`
pub(super) async fn receive(
    State(app): State<App>,
    path: Result<Path<(String, String)>, PathRejection>,
    request: Request,
) -> Result<StatusCode, ApiError> {
    let Path((provider, id)) = path.map_err(|_| ApiError::UnsignedHook)?;
    let expected = find_expected(&app, provider, ProjectId(id)).await?;
    let (project, kind, secret) = expected.ok_or(ApiError::UnsignedHook)?;
    if !media_type(request.headers()).is_some_and(|media| is_json(&media)) {
        return Err(ApiError::UnsupportedMediaType("application/json"));
    }
    let (parts, body) = request.into_parts();
    let body = read_body(&app, &parts, body, MAX_BODY_BYTES).await?;
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let hook = read_webhook(kind, &secret, header, &body).map_err(webhook_error)?;
    if let WebhookEvent::PullChanged { number, .. } = hook.event {
        update_pull(&app, &project, &hook.repository, number).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The project, the host and the webhook secret, if the project expects webhooks of this kind of host.
async fn find_expected(
    app: &App,
    provider: String,
    id: ProjectId,
) -> Result<Option<(Project, HostKind, Secret)>, ApiError> {
    let Some(project) = app.accounts.project(&id).await? else { return Ok(None) };
    let kind = provider.parse().ok().filter(|_| project.hosting.kind.as_ref() == Some(&provider));
    let secret = app.secrets.secret(&project.id.0, HOOK_SECRET).await?;
    let secret = secret.and_then(|bytes| Secret::parse(&String::from_utf8_lossy(&bytes)));
    Ok(kind.zip(secret).map(|(kind, secret)| (project, kind, secret)))
}

fn webhook_error(error: forge::WebhookError) -> ApiError {
    match error {
        forge::WebhookError::BadSignature => ApiError::UnsignedHook,
        other => ApiError::invalid("invalid_body", other.to_string()),
    }
}

async fn update_pull(app: &App, project: &Project, repository: &str, number: u64) -> Result<(), ApiError> {
    let host = app.hosts.web(project).await.map_err(host_error)?;
    // A webhook of a whole organization also reports other repositories.
    if !repository.eq_ignore_ascii_case(host.path()) {
        return Ok(());
    }
    let Some(pull) = host.get(number).await.map_err(host_error)? else { return Ok(()) };
    app.pulls.record_pull_state(&project.id, &pull.url, stored_state(pull.state)).await?;
    Ok(())
}

fn host_error(error: forge::Error) -> ApiError {
    tracing::warn!("the host did not answer after it sent a webhook: {error}");
    ApiError::NoHost
}
