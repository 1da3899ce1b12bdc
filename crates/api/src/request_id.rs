//! Adds `X-Request-Id` to every response, and to every log line of the request.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use tracing::Instrument;
use tracing::field::Empty;

use super::access;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Of a path in a log line. The paths of all routes are shorter.
const MAX_PATH_CHARS: usize = 200;

/// The client's own id, if it is safe in a header and in a log line.
fn client_request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    ((8..=128).contains(&id.len()) && id.chars().all(is_safe)).then(|| id.to_owned())
}

/// The path as it is logged: without the query, which can contain a login token, and without API keys that
/// were sent in place of an id.
fn loggable_path(path: &str) -> String {
    let redact = |text| if str::starts_with(text, "dw_") { "dw_…" } else { text };
    let path = path.split('/').map(redact).collect::<Vec<_>>().join("/");
    match path.char_indices().nth(MAX_PATH_CHARS) {
        Some((end, _)) => format!("{}…", &path[..end]),
        None => path,
    }
}

pub(super) async fn with_request_id(
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let id =
        client_request_id(request.headers()).unwrap_or_else(|| uuid::Uuid::now_v7().simple().to_string());
    let (method, path) = (access::method_name(request.method()), loggable_path(request.uri().path()));
    // At the highest level, so that the lines of a log with only errors have the id.
    let span = tracing::error_span!("request", request.id = id, method, path, key.id = Empty);
    let mut response = next(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logged_paths_have_no_keys_and_a_bounded_length() {
        #[track_caller]
        fn check(path: &str, expected: &str) {
            assert_eq!(loggable_path(path), expected);
        }
        check("/v2/agent/prj_1/job", "/v2/agent/prj_1/job");
        check("/v1/analytics/dw_secret/views", "/v1/analytics/dw_…/views");
        check("dw_secret", "dw_…");
        check(&"é".repeat(200), &"é".repeat(200));
        check(&"é".repeat(201), &format!("{}…", "é".repeat(200)));
    }
}
