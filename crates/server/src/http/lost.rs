//! Where there is nothing: a page for who looks with a browser, the one shape of errors for programs.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::header::{ACCEPT, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::error::{ApiError, ERROR_CODE};
use crate::dashboard;

/// What programs ask for, whatever they say that they accept; beside `/v1`, `/v2` and what comes after them.
const PROGRAMS: [&str; 7] = ["hooks", "js", "assets", "healthz", "readyz", "metrics", "openapi.json"];

/// `GET /assets/{name}`
pub(super) async fn asset(uri: Uri) -> Response {
    dashboard::assets::find(uri.path().trim_start_matches("/assets/"))
        .unwrap_or_else(|| ApiError::NoSuchRoute.into_response())
}

/// For a path that is not ours at all.
pub(super) async fn no_such_route(request: Request) -> Response {
    answer(&request, ApiError::NoSuchRoute, dashboard::no_such_page)
}

/// For a path of ours with another method; the router adds `Allow`.
pub(super) async fn method_not_allowed(request: Request) -> Response {
    answer(&request, ApiError::MethodNotAllowed, dashboard::not_to_be_looked_at)
}

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
