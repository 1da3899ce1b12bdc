//! Word from a repository host that a pull request moved on. No key: it is signed, and what is not
//! signed as it should be learns nothing. What it says is a hint only: the host is asked, so that an
//! old one that comes again changes nothing.

use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use forge::{Host as _, HostKind, WebhookEvent, read_webhook};
use net::Secret;
use store::{Project, ProjectId};

use super::body::{is_json, media_type, read};
use super::error::ApiError;
use app::App;
use app::hosts::{HOOK_SECRET, recorded};
use app::path::segment;

/// Where they stand in the path, counted from the empty one before its first slash.
const PROVIDER: usize = 2;
const PROJECT: usize = 3;

/// Hosts send the whole pull request, with its text.
const MAX_BYTES: usize = 2 << 20;

/// `POST /hooks/{provider}/{projectId}`
pub(super) async fn take(State(app): State<App>, request: Request) -> Result<StatusCode, ApiError> {
    let (project, kind, secret) = expected(&app, request.uri()).await?.ok_or(ApiError::UnsignedHook)?;
    if !media_type(request.headers()).is_some_and(|media| is_json(&media)) {
        return Err(ApiError::UnsupportedMediaType("application/json"));
    }
    let (parts, body) = request.into_parts();
    let body = read(&app, &parts, body, MAX_BYTES).await?;
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let hook = read_webhook(kind, &secret, header, &body).map_err(refusal)?;
    if let WebhookEvent::PullChanged { number, .. } = hook.event {
        pull_changed(&app, &project, &hook.repository, number).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Whether the project waits for hooks of this kind, and what they are signed with.
async fn expected(app: &App, uri: &Uri) -> Result<Option<(Project, HostKind, Secret)>, ApiError> {
    let Some((provider, id)) = segment(uri, PROVIDER).zip(segment(uri, PROJECT)) else { return Ok(None) };
    let Some(project) = app.accounts.project(&ProjectId(id)).await? else { return Ok(None) };
    let kind = provider.parse().ok().filter(|_| project.hosting.kind.as_ref() == Some(&provider));
    let secret = app.secrets.secret(&project.id.0, HOOK_SECRET).await?;
    let secret = secret.and_then(|bytes| Secret::parse(&String::from_utf8_lossy(&bytes)));
    Ok(kind.zip(secret).map(|(kind, secret)| (project, kind, secret)))
}

fn refusal(error: forge::WebhookError) -> ApiError {
    match error {
        forge::WebhookError::BadSignature => ApiError::UnsignedHook,
        other => ApiError::invalid("invalid_body", other.to_string()),
    }
}

async fn pull_changed(app: &App, project: &Project, repository: &str, number: u64) -> Result<(), ApiError> {
    let host = app.hosts.web(project).await.map_err(no_answer)?;
    // A hook of a whole organization tells of other repositories, too.
    if !repository.eq_ignore_ascii_case(host.path()) {
        return Ok(());
    }
    let Some(pull) = host.get(number).await.map_err(no_answer)? else { return Ok(()) };
    app.pulls.note_pull(&project.id, &pull.url, recorded(pull.state)).await?;
    Ok(())
}

fn no_answer(error: forge::Error) -> ApiError {
    tracing::warn!("a hook came, and the host does not say what happened: {error}");
    ApiError::NoHost
}
