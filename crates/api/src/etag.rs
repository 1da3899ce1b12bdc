//! Adds an `ETag` to responses, and answers 304 if the client has the current version.
//!
//! The tags are weak, because the same text can be sent with and without compression.

use std::borrow::Cow;

use axum::http::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

pub(super) fn respond_json(request: &HeaderMap, json: String) -> Response {
    respond(request, "application/json", json.into())
}

pub(super) fn respond(request: &HeaderMap, content_type: &'static str, text: Cow<'static, str>) -> Response {
    let tag = compute_tag(&text);
    let mut response = match has_current(request, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(CONTENT_TYPE, content_type)], text).into_response(),
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

fn compute_tag(body: &str) -> String {
    let digest = Sha256::digest(body);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hex}\"")
}

fn has_current(request: &HeaderMap, tag: &str) -> bool {
    let values = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || opaque_tag(known) == opaque_tag(tag))
}

/// The tag without its prefix `W/`: `If-None-Match` uses the weak comparison.
fn opaque_tag(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}
