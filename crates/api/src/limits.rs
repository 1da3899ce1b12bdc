//! Rate limits: counted in the store, told in headers.

use axum::extract::FromRequestParts;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use store::{Limit, Project, ProjectId, StoreError, Usage};

use super::caller::visible_project_id;
use super::error::ApiError;
use super::idempotency;
use app::App;
use app::address_limit::TooOften;

const WINDOW: u64 = 3_600;

/// Questions about page views, an organization.
pub(super) fn reads(app: &App, project: &Project) -> Limit {
    Limit { bucket: format!("reads {}", project.organization), max: app.limits.reads }
}

/// There is room for one more job. Asked before the body is looked at, as the order of answers
/// has it; what counts is the count that is made with the job itself. A request that may be a
/// replay is let through, since replays cost nothing.
pub(crate) struct RoomForJob;

impl FromRequestParts<App> for RoomForJob {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if matches!(idempotency::key(&parts.headers), Ok(Some(_))) {
            return Ok(Self);
        }
        let Some(project) = visible_project_id(parts) else { return Ok(Self) };
        room(app, &app.job_limit(&project)).await?;
        Ok(Self)
    }
}

/// There is room for one more question about page views. Asked before a body is looked at.
pub(crate) struct RoomForRead;

impl FromRequestParts<App> for RoomForRead {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let id = visible_project_id(parts).map(ProjectId);
        let project = match &id {
            Some(id) => app.accounts.project(id).await?,
            None => None,
        };
        if let Some(project) = project {
            room(app, &reads(app, &project)).await?;
        }
        Ok(Self)
    }
}

/// Whether there is some left. Counts nothing: what is wrong with a request costs nothing.
pub(super) async fn room(app: &App, limit: &Limit) -> Result<(), ApiError> {
    match app.rates.reached(limit).await? {
        Some(usage) => Err(ApiError::LimitReached(usage)),
        None => Ok(()),
    }
}

/// Counts a question. While the count cannot be written down for trouble of the machine, the question is answered
/// all the same.
pub(super) async fn count(app: &App, limit: &Limit) -> Result<Option<Usage>, ApiError> {
    match app.rates.count(limit).await {
        Ok(counted) => counted.map(Some).map_err(ApiError::LimitReached),
        Err(StoreError::Machine(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The headers of an answer that was counted.
pub(super) fn told(headers: &mut HeaderMap, usage: &Usage) {
    let reset = seconds_left(usage);
    let all = [
        ("ratelimit-policy", format!("\"default\";q={};w={WINDOW}", usage.max)),
        ("ratelimit", format!("\"default\";r={};t={reset}", usage.left)),
        ("x-ratelimit-limit", usage.max.to_string()),
        ("x-ratelimit-remaining", usage.left.to_string()),
        ("x-ratelimit-reset", usage.resets_at.as_second().to_string()),
    ];
    for (name, value) in all {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

pub(super) fn refused(headers: &mut HeaderMap, usage: &Usage) {
    told(headers, usage);
    if let Ok(value) = HeaderValue::from_str(&seconds_left(usage).to_string()) {
        headers.insert(RETRY_AFTER, value);
    }
}

/// A beacon's script has nobody to tell how much is left: when to come back is enough.
pub(super) fn refused_beacon(headers: &mut HeaderMap, refused: TooOften) {
    let seconds = refused.wait.as_millis().div_ceil(1_000).max(1);
    if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
        headers.insert(RETRY_AFTER, value);
    }
}

fn seconds_left(usage: &Usage) -> i64 {
    usage.left_for.as_secs().max(1)
}
