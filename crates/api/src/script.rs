//! Serves the script that a docs site loads to count its readers.

use axum::http::HeaderMap;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderName, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};

use super::etag;

const SCRIPT: &str = include_str!("docwright.js");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// `GET /js/docwright.js`. Its headers let any site load it, also one with cross-origin isolation.
pub(super) async fn show(request: HeaderMap) -> Response {
    let headers = [
        (CACHE_CONTROL, "public, max-age=3600"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (RESOURCE_POLICY, "cross-origin"),
    ];
    (headers, etag::respond(&request, "text/javascript; charset=utf-8", SCRIPT.into())).into_response()
}
