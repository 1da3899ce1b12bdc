//! Answers that a poller need not be sent again. The tags are weak: the same JSON may go out
//! compressed or plain.

use std::borrow::Cow;

use axum::http::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// The JSON with its tag, or 304 to a client that has it already.
pub(super) fn answer(request: &HeaderMap, json: String) -> Response {
    tagged(request, "application/json", json.into())
}

/// The same for a text of another kind.
pub(super) fn tagged(request: &HeaderMap, kind: &'static str, text: Cow<'static, str>) -> Response {
    let tag = tag(&text);
    let mut response = match has(request, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(CONTENT_TYPE, kind)], text).into_response(),
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

fn tag(body: &str) -> String {
    let digest = Sha256::digest(body);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hex}\"")
}

fn has(request: &HeaderMap, tag: &str) -> bool {
    let sent = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|value| value.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || strong(one) == strong(tag)
    })
}

/// Without the mark of weakness, which does not count here.
fn strong(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}
