//! Who calls, and may they? 401, 403 for the address, 404, 403 for the scope, in that order:
//! a key learns nothing about a project that it may not see, not even that its scope is too small.

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use store::{Actor, ApiKey, JobId, KeyText, Project, ProjectId, Scope};

use super::access;
use super::error::ApiError;
use app::App;
use app::address::ClientAddress;
use app::bodies::Owner;
use app::path::segment;
use app::watch::Credential;

/// Where the ids stand: `/v2/agent/{projectId}/job/{id}`, `/v1/analytics/{projectId}/…`.
const PROJECT: usize = 3;
const JOB: usize = 5;

/// A live key, and the project of the path, which the key may see.
pub(crate) struct Caller {
    pub(crate) project: Project,
    pub(crate) credential: Credential,
    /// The key, as it is recorded with what it asks for.
    pub(crate) actor: Actor,
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (text, id) = (key_text(parts)?, segment(&parts.uri, PROJECT).map(ProjectId));
        // Both at once: a poll is mostly the wait for these.
        let (key, project) = tokio::join!(app.accounts.key(&text), found_project(app, id));
        let key = live(key?)?;
        let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(parts, app).await;
        if !key.allow.is_empty() && !address.is_some_and(|address| key.allow.permits(address)) {
            return Err(ApiError::AddressNotAllowed);
        }
        let project = visible(project?, &key)?;
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            // A handler that reads finds out by itself: nothing is checked between here and there.
            existing_job(parts, app, &project).await?;
            if key.scope == Scope::Read {
                return Err(ApiError::ScopeTooSmall);
            }
        }
        let actor = Actor::of_key(&key);
        touch(app, key);
        parts.extensions.insert(Owner::Organization(project.organization.clone()));
        parts.extensions.insert(text.clone());
        Ok(Self { project, credential: Credential::Key(text), actor })
    }
}

fn key_text(parts: &Parts) -> Result<KeyText, ApiError> {
    // Of two, a proxy may have looked at the other one.
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let only = headers.next().filter(|_| headers.next().is_none());
    let header = only.and_then(|value| value.to_str().ok());
    header.and_then(bearer).and_then(KeyText::parse).ok_or(ApiError::Unauthorized)
}

fn live(key: Option<ApiKey>) -> Result<ApiKey, ApiError> {
    let key = key.ok_or(ApiError::Unauthorized)?;
    access::note_key(&key);
    if key.is_live { Ok(key) } else { Err(ApiError::Unauthorized) }
}

/// The scheme's name is case-insensitive.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The project that the path names; the caller may see it, or nothing after this is reached.
pub(super) fn visible_project_id(parts: &Parts) -> Option<String> {
    segment(&parts.uri, PROJECT)
}

async fn found_project(app: &App, id: Option<ProjectId>) -> store::Result<Option<Project>> {
    match id {
        Some(id) => app.accounts.project(&id).await,
        None => Ok(None),
    }
}

fn visible(found: Option<Project>, key: &ApiKey) -> Result<Project, ApiError> {
    let mine = found.filter(|project| project.organization == key.organization && key.reaches(&project.id));
    mine.ok_or(ApiError::NoSuchProject)
}

/// The job of the path, if the path has one, is there.
async fn existing_job(parts: &mut Parts, app: &App, project: &Project) -> Result<(), ApiError> {
    if parts.uri.path().split('/').nth(JOB).is_none() {
        return Ok(());
    }
    let JobPath(id) = JobPath::from_request_parts(parts, app).await?;
    app.jobs.find(&project.id, &id).await?.map(drop).ok_or(ApiError::NoSuchJob)
}

/// Off the path of the answer: a poll must not wait for a disk. Of those that a disk which hangs keeps, there are only
/// so many; the next poll notes the use as well.
fn touch(app: &App, key: ApiKey) {
    let Ok(turn) = app.touches.clone().try_acquire_owned() else { return };
    let accounts = app.accounts.clone();
    tokio::spawn(async move {
        let _turn = turn;
        if let Err(error) = accounts.touch_key(&key).await {
            tracing::warn!("the last use of key {} was not noted: {error}", key.id);
        }
    });
}

/// The job of the path. Its existence is the handler's to check, within the caller's project.
pub(crate) struct JobPath(pub(crate) JobId);

impl FromRequestParts<App> for JobPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        segment(&parts.uri, JOB).map(|id| Self(JobId(id))).ok_or(ApiError::NoSuchJob)
    }
}
