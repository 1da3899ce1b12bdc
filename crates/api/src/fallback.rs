//! Responds to requests that have no route: with a page for browsers, and with a JSON error for programs.

use axum::extract::Request;
use axum::http::header::{ACCEPT, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::error::{ApiError, ERROR_CODE};

/// First path segments that only programs request, besides `v1`, `v2` and later versions. They get a JSON
/// error, even if they accept HTML.
const PROGRAM_SEGMENTS: [&str; 7] = ["hooks", "js", "assets", "healthz", "readyz", "metrics", "openapi.json"];

/// The error pages for browsers.
#[derive(Clone, Copy)]
pub struct ErrorPages {
    pub not_found: fn() -> Response,
    pub method_not_allowed: fn() -> Response,
    /// For a form that arrives while the server refuses writes.
    pub directory_lost: fn() -> Response,
}

/// The API's response for a path that has no route.
pub fn no_such_route() -> Response {
    ApiError::NoSuchRoute.into_response()
}

/// Responds with a page to browsers, and with the error to programs.
pub(super) fn respond(request: &Request, error: ApiError, page: fn() -> Response) -> Response {
    if !is_from_browser(request) {
        return error.into_response();
    }
    let mut page = page();
    page.headers_mut().insert(ERROR_CODE, HeaderValue::from_static(error.code()));
    page
}

fn is_from_browser(request: &Request) -> bool {
    let first = request.uri().path().split('/').nth(1).unwrap_or_default();
    let is_versioned = first
        .strip_prefix('v')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()));
    let mut accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/html")) && !is_versioned && !PROGRAM_SEGMENTS.contains(&first)
}
