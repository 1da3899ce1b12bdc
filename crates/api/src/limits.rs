//! Enforces the rate limits that the store counts, and sets their headers.

use axum::extract::FromRequestParts;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use store::{Limit, Project, StoreError, Usage};

use super::caller::{find_project, project_id};
use super::error::ApiError;
use super::idempotency;
use app::App;
use app::address_limit::TooOften;

const WINDOW_SECONDS: u64 = 3_600;

/// The limit of reports per organization.
pub(super) fn read_limit(app: &App, project: &Project) -> Limit {
    Limit { bucket: format!("reads {}", project.organization), max: app.limits.reads }
}

/// Checks the limit of jobs before the body is read, because 429 comes before errors of the body. The job is
/// counted later, in the transaction that creates it. A request with an idempotency key passes: it may be a
/// replay, and replays aren't counted.
pub(crate) struct JobLimitCheck;

impl FromRequestParts<App> for JobLimitCheck {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if matches!(idempotency::parse_key(&parts.headers), Ok(Some(_))) {
            return Ok(Self);
        }
        let Some(project) = project_id(parts) else { return Ok(Self) };
        check_limit(app, &app.job_limit(&project.0)).await?;
        Ok(Self)
    }
}

/// Checks the limit of reports before the body is read.
pub(crate) struct ReadLimitCheck;

impl FromRequestParts<App> for ReadLimitCheck {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if let Some(project) = find_project(app, project_id(parts).as_ref()).await? {
            check_limit(app, &read_limit(app, &project)).await?;
        }
        Ok(Self)
    }
}

/// Fails if the limit is reached. Counts nothing, because invalid requests aren't counted.
pub(super) async fn check_limit(app: &App, limit: &Limit) -> Result<(), ApiError> {
    match app.rates.reached(limit).await? {
        Some(usage) => Err(ApiError::LimitReached(usage)),
        None => Ok(()),
    }
}

/// Counts a request. If trouble of the machine prevents that, the request is served without being counted.
pub(super) async fn count_request(app: &App, limit: &Limit) -> Result<Option<Usage>, ApiError> {
    match app.rates.count(limit).await {
        Ok(counted) => counted.map(Some).map_err(ApiError::LimitReached),
        Err(StoreError::Machine(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn set_rate_limit_headers(headers: &mut HeaderMap, usage: &Usage) {
    let reset = seconds_left(usage);
    let all = [
        ("ratelimit-policy", format!("\"default\";q={};w={WINDOW_SECONDS}", usage.max)),
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

pub(super) fn set_limit_reached_headers(headers: &mut HeaderMap, usage: &Usage) {
    set_rate_limit_headers(headers, usage);
    headers.insert(RETRY_AFTER, seconds_left(usage).into());
}

/// Only `Retry-After`: the script of a docs site does not use the other headers.
pub(super) fn set_beacon_refused_headers(headers: &mut HeaderMap, refused: TooOften) {
    let seconds = u64::try_from(refused.wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
    headers.insert(RETRY_AFTER, seconds.max(1).into());
}

fn seconds_left(usage: &Usage) -> i64 {
    usage.left_for.as_secs().max(1)
}
