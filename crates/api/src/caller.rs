//! Authenticates and authorizes requests with an API key.
//!
//! The errors come in the order 401, 403 for the address, 404, 403 for the scope. So a key learns nothing
//! about a project that it can't see, not even that its scope is too small.

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use store::{Actor, ApiKey, FindingId, JobId, KeyText, Project, ProjectId, Scope};

use super::access;
use super::error::ApiError;
use super::path_parameter::{has_path_parameter, path_parameter};
use app::App;
use app::address::ClientAddress;
use app::bodies::Owner;
use app::watch::Credential;

/// A live API key, and the project of the path, which the key can see.
pub(crate) struct Caller {
    pub(crate) project: Project,
    pub(crate) credential: Credential,
    /// The key, as the audit log and the job record it.
    pub(crate) actor: Actor,
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let (text, id) = (key_text(parts)?, project_id(parts));
        let (key, project) = match id {
            Some(id) => app.accounts.key_and_project(&text, &id).await?,
            None => (app.accounts.key(&text).await?, None),
        };
        let key = require_live(key)?;
        let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(parts, app).await;
        if !key.allow.is_empty() && !address.is_some_and(|address| key.allow.permits(address)) {
            return Err(ApiError::AddressNotAllowed);
        }
        let project = require_visible(project, &key)?;
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            // A handler that reads finds the job or the finding itself, and no other check comes before that.
            check_job_exists(parts, app, &project).await?;
            check_finding_exists(parts, app, &project).await?;
            if key.scope == Scope::Read {
                return Err(ApiError::ScopeTooSmall);
            }
        }
        let actor = Actor::of_key(&key);
        record_key_use(app, key);
        parts.extensions.insert(Owner::Organization(project.organization.clone()));
        parts.extensions.insert(text.clone());
        Ok(Self { project, credential: Credential::Key(text), actor })
    }
}

fn key_text(parts: &Parts) -> Result<KeyText, ApiError> {
    // Several headers are refused: a proxy may have checked another one than this server would.
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let only = headers.next().filter(|_| headers.next().is_none());
    let header = only.and_then(|value| value.to_str().ok());
    header.and_then(bearer_token).and_then(KeyText::parse).ok_or(ApiError::Unauthorized)
}

fn require_live(key: Option<ApiKey>) -> Result<ApiKey, ApiError> {
    let key = key.ok_or(ApiError::Unauthorized)?;
    access::record_key_id(&key);
    if key.is_live { Ok(key) } else { Err(ApiError::Unauthorized) }
}

/// The scheme's name is case-insensitive.
fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The project that the path names.
pub(super) fn project_id(parts: &Parts) -> Option<ProjectId> {
    path_parameter(parts, "projectId").map(ProjectId)
}

pub(super) async fn find_project(app: &App, id: Option<&ProjectId>) -> store::Result<Option<Project>> {
    match id {
        Some(id) => app.accounts.project(id).await,
        None => Ok(None),
    }
}

fn require_visible(project: Option<Project>, key: &ApiKey) -> Result<Project, ApiError> {
    let is_visible = |project: &Project| project.organization == key.organization && key.reaches(&project.id);
    project.filter(is_visible).ok_or(ApiError::NoSuchProject)
}

/// Fails if the path names a job that does not exist.
async fn check_job_exists(parts: &mut Parts, app: &App, project: &Project) -> Result<(), ApiError> {
    if !has_path_parameter(parts, JOB) {
        return Ok(());
    }
    let JobPath(id) = JobPath::from_request_parts(parts, app).await?;
    app.jobs.find(&project.id, &id).await?.map(drop).ok_or(ApiError::NoSuchJob)
}

/// Fails if the path names a finding that does not exist.
async fn check_finding_exists(parts: &mut Parts, app: &App, project: &Project) -> Result<(), ApiError> {
    if !has_path_parameter(parts, FINDING) {
        return Ok(());
    }
    let FindingPath(id) = FindingPath::from_request_parts(parts, app).await?;
    app.findings.finding(&project.id, &id).await?.map(drop).ok_or(ApiError::NoSuchFinding)
}

/// Records the last use of a key in the background, so that a poll does not wait for the disk. If too many
/// such writes are waiting, this one is skipped: the next poll records the use.
fn record_key_use(app: &App, key: ApiKey) {
    if !key.is_use_due() {
        return;
    }
    let Ok(permit) = app.key_touches.clone().try_acquire_owned() else { return };
    let accounts = app.accounts.clone();
    tokio::spawn(async move {
        let _permit = permit;
        if let Err(error) = accounts.touch_key(&key).await {
            tracing::warn!("the last use of key {} was not recorded: {error}", key.id);
        }
    });
}

/// The path parameter with the id of a job.
const JOB: &str = "id";

/// The job that the path names. The handler checks that it exists in the caller's project.
pub(crate) struct JobPath(pub(crate) JobId);

impl FromRequestParts<App> for JobPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        path_parameter(parts, JOB).map(|id| Self(JobId(id))).ok_or(ApiError::NoSuchJob)
    }
}

/// The path parameter with the id of a finding.
const FINDING: &str = "finding";

/// The finding that the path names. The handler checks that it exists in the caller's project.
pub(crate) struct FindingPath(pub(crate) FindingId);

impl FromRequestParts<App> for FindingPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        path_parameter(parts, FINDING).map(|id| Self(FindingId(id))).ok_or(ApiError::NoSuchFinding)
    }
}
