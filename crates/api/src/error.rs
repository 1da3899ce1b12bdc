//! Defines all errors of the API, with their statuses, codes and sentences.

use std::error::Error;

use axum::Json;
use axum::http::header::{ACCEPT_ENCODING, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use machine::Trouble;
use store::{PromptError, StoreError, Usage};
use traffic::{Failure, IngestError};
use wire::Detail;

use super::limits;
use app::address_limit::TooOften;
use app::time::rfc3339;

pub(crate) const ERROR_CODE: HeaderName = HeaderName::from_static("x-error-code");

const VIEWS_ELSEWHERE: &str = "another server of this installation stores the page views; send the request there, or let this server store them with `--page-views yes`";

const REPORT_TOO_LARGE: &str =
    "the report has more rows than the server can read; choose a shorter range, or a lower limit";

/// An error response. Each variant is documented in `docs/errors.md`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    // The same sentence for all of them, so that a client can't find out which keys exist.
    #[error(
        "the API key is missing, unknown, revoked, or expired; send a valid key as `Authorization: Bearer dw_…`"
    )]
    Unauthorized,
    // The same sentence for a project that doesn't exist, has another host, or expects no webhooks.
    #[error(
        "this webhook isn't expected, or its signature is wrong; set it up with the address and the secret that `docwright project hook` shows"
    )]
    UnsignedHook,
    #[error(
        "this API key can't be used from this address; use another key, or call from an address that the key allows"
    )]
    AddressNotAllowed,
    #[error("this API key has the scope `read`; use one with the scope `write`")]
    ScopeTooSmall,
    #[error(
        "the project doesn't accept page views from this site; add the site's address, such as https://docs.acme.dev, to the project with `--site`"
    )]
    OriginNotAllowed,
    #[error("no such project")] // the id is never echoed
    NoSuchProject,
    #[error("no such job")]
    NoSuchJob,
    #[error("no such finding")]
    NoSuchFinding,
    #[error(
        "the job has no pull request: it's still running, it changed nothing, or it failed before it opened one; its events say which"
    )]
    NoPull,
    #[error("no such route; GET /docs lists the routes")]
    NoSuchRoute,
    #[error("this route doesn't support this method; the `Allow` header lists those that it does")]
    MethodNotAllowed,
    #[error("send the body as {0}")]
    UnsupportedMediaType(&'static str),
    #[error("send the body uncompressed, or with one Content-Encoding: gzip or zstd")]
    UnsupportedCoding,
    #[error("{0}")]
    TooLarge(String),
    #[error("the body didn't arrive in time; send it again")]
    TooSlow,
    #[error("{0}")]
    Conflict(String),
    #[error("this Idempotency-Key was used with another body; use a new key")]
    KeyReused,
    #[error("the limit of {} per hour is reached; try again at {}", .0.max, rfc3339(.0.resets_at))]
    LimitReached(Usage),
    #[error("the limit of {} page views per minute from one address is reached; try again in a moment", .0.per_minute)]
    TooManyBeacons(TooOften),
    #[error(transparent)]
    BadPrompt(#[from] PromptError),
    #[error("{message}")]
    Invalid { code: &'static str, message: String, details: Vec<String> },
    #[error("the server is overloaded; try again in a moment")]
    Busy,
    /// With a sentence if that server doesn't run.
    #[error("{}", .0.as_deref().unwrap_or(VIEWS_ELSEWHERE))]
    ViewsElsewhere(Option<String>),
    #[error("the database of the page views doesn't answer; try again in a moment")]
    ViewsUnavailable(#[source] anyhow::Error),
    #[error(
        "the server's data directory was deleted or replaced, so the server refuses writes; its operator must restore the directory and restart the server"
    )]
    DirectoryLost,
    #[error("the repository host doesn't answer; try again in a moment")]
    NoHost,
    #[error("the server's database doesn't answer; try again in a moment")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    #[error("the server can't use its disk; try again in a moment")]
    Machine(#[source] Trouble),
    #[error("the server is not ready: {0}")]
    NotReady(String),
    #[error("internal error; the server's log has the cause under the X-Request-Id of this response")]
    Internal(#[source] anyhow::Error),
}

impl ApiError {
    pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { code, message: message.into(), details: Vec::new() }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::AddressNotAllowed | Self::ScopeTooSmall | Self::OriginNotAllowed | Self::UnsignedHook => {
                StatusCode::FORBIDDEN
            }
            Self::NoSuchProject
            | Self::NoSuchJob
            | Self::NoSuchFinding
            | Self::NoPull
            | Self::NoSuchRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnsupportedMediaType(_) | Self::UnsupportedCoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::LimitReached(_) | Self::TooManyBeacons(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::BadPrompt(_) | Self::Invalid { .. } => StatusCode::BAD_REQUEST,
            Self::Busy
            | Self::ViewsElsewhere(_)
            | Self::ViewsUnavailable(_)
            | Self::DirectoryLost
            | Self::NoHost
            | Self::Unavailable(_)
            | Self::Machine(_)
            | Self::NotReady(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::UnsignedHook => "unsigned_hook",
            Self::AddressNotAllowed => "address_not_allowed",
            Self::ScopeTooSmall => "scope_too_small",
            Self::OriginNotAllowed => "origin_not_allowed",
            Self::NoSuchProject => "no_such_project",
            Self::NoSuchJob => "no_such_job",
            Self::NoSuchFinding => "no_such_finding",
            Self::NoPull => "no_pull_request",
            Self::NoSuchRoute => "no_such_route",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnsupportedMediaType(_) | Self::UnsupportedCoding => "unsupported_media_type",
            Self::TooLarge(_) => "too_large",
            Self::TooSlow => "too_slow",
            Self::Conflict(_) => "conflict",
            Self::KeyReused => "idempotency_key_reused",
            Self::LimitReached(_) | Self::TooManyBeacons(_) => "rate_limited",
            Self::BadPrompt(error) if error.is_about_context() => "invalid_context",
            Self::BadPrompt(_) => "invalid_prompt",
            Self::Invalid { code, .. } => code,
            Self::ViewsElsewhere(_) => "views_elsewhere",
            Self::ViewsUnavailable(_) => "views_unavailable",
            Self::Busy => "busy",
            Self::DirectoryLost => "data_directory_lost",
            Self::NoHost => "no_host",
            Self::Unavailable(_) | Self::Machine(_) | Self::NotReady(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Machine(trouble) => Self::Machine(trouble),
            other => Self::Unavailable(other.into()),
        }
    }
}

impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        if Failure::is_too_large_in(&*error) {
            return Self::invalid("invalid_query", REPORT_TOO_LARGE);
        }
        match Failure::is_unavailable_in(&*error) {
            true => Self::ViewsUnavailable(error),
            false => Self::Internal(error),
        }
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        match failure.trouble() {
            Some(trouble) => Self::Machine(trouble),
            None => anyhow::Error::from(failure).into(),
        }
    }
}

impl From<IngestError> for ApiError {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Busy => Self::Busy,
            IngestError::UnexpectedPart(bytes) => unexpected_part(bytes),
            IngestError::Elsewhere => Self::ViewsElsewhere(None),
            IngestError::Unavailable(failure) => Self::Unavailable(failure.into()),
            IngestError::Failed(failure) => failure.into(),
        }
    }
}

pub(super) fn unexpected_part(bytes: u64) -> ApiError {
    ApiError::Conflict(format!("the file was imported up to byte {bytes}; send the part that begins there"))
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        // The only place that logs errors. The operator sees the cause, the client only the sentence.
        match &self {
            Self::Internal(cause) => tracing::error!("request failed: {cause:#}"),
            Self::Unavailable(cause) => tracing::error!("the store failed: {cause}"),
            Self::ViewsUnavailable(cause) => tracing::error!("page views are not available: {cause:#}"),
            Self::Machine(trouble) => {
                tracing::error!("the machine is in trouble: {trouble} ({})", trouble.detail());
            }
            _ => {}
        }
        let details = match &self {
            Self::Invalid { details, .. } => details.clone(),
            _ => Vec::new(),
        };
        let body = wire::Error {
            error: self.to_string(),
            details: details.into_iter().map(|message| Detail { message }).collect(),
        };
        let status = self.status();
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(ERROR_CODE, HeaderValue::from_static(self.code()));
        match self {
            Self::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::UnsupportedCoding => {
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd"));
            }
            Self::LimitReached(usage) => limits::set_limit_reached_headers(headers, &usage),
            Self::TooManyBeacons(refused) => limits::set_beacon_refused_headers(headers, refused),
            _ if status == StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
