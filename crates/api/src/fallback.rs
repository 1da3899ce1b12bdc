//! Where there is nothing: a page for who looks with a browser, the one shape of errors for programs.

use axum::extract::Request;
use axum::http::header::{ACCEPT, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::error::{ApiError, ERROR_CODE};

/// What programs ask for, whatever they say that they accept; beside `/v1`, `/v2` and what comes after them.
const PROGRAMS: [&str; 7] = ["hooks", "js", "assets", "healthz", "readyz", "metrics", "openapi.json"];

/// The pages of errors, for browsers.
#[derive(Clone, Copy)]
pub struct ErrorPages {
    pub not_found: fn() -> Response,
    pub method_not_allowed: fn() -> Response,
    /// For a form that comes when nothing can be kept.
    pub directory_lost: fn() -> Response,
}

/// The answer of the API for a path that has no route.
pub fn no_such_route() -> Response {
    ApiError::NoSuchRoute.into_response()
}

/// A page for browsers, and the error for programs.
pub(super) fn answer(request: &Request, error: ApiError, page: fn() -> Response) -> Response {
    if !is_for_people(request) {
        return error.into_response();
    }
    let mut page = page();
    page.headers_mut().insert(ERROR_CODE, HeaderValue::from_static(error.code()));
    page
}

fn is_for_people(request: &Request) -> bool {
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let first = request.uri().path().split('/').nth(1).unwrap_or_default();
    let versioned = first
        .strip_prefix('v')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()));
    let mut html = accepted.map(|kinds| kinds.contains("text/html"));
    html.any(|html| html) && !versioned && !PROGRAMS.contains(&first)
}
