//! Every answer carries `X-Request-Id`, and every log line of the request does, too.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use tracing::Instrument;
use tracing::field::Empty;

use super::access;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Of a path in a log line; what we serve is shorter.
const MAX_PATH_CHARS: usize = 200;

/// A client's own id, if it can stand in a header and a log line as it is.
fn sane(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    ((8..=128).contains(&id.len()) && id.chars().all(plain)).then(|| id.to_owned())
}

/// What of an address may stand in a log: not the query, which can hold a login token, and no
/// API key that somebody took for an id.
fn shown(path: &str) -> String {
    let segment = |text| if str::starts_with(text, "dw_") { "dw_…" } else { text };
    let path = path.split('/').map(segment).collect::<Vec<_>>().join("/");
    match path.char_indices().nth(MAX_PATH_CHARS) {
        Some((end, _)) => format!("{}…", &path[..end]),
        None => path,
    }
}

pub(super) async fn around(request: Request, next: impl AsyncFnOnce(Request) -> Response) -> Response {
    let id = sane(request.headers()).unwrap_or_else(|| uuid::Uuid::now_v7().simple().to_string());
    let (method, path) = (access::method(request.method()), shown(request.uri().path()));
    // Of the highest level, so that a log of errors alone still says which request.
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
    fn paths_in_the_log() {
        #[track_caller]
        fn check(path: &str, expected: &str) {
            assert_eq!(shown(path), expected);
        }
        check("/v2/agent/prj_1/job", "/v2/agent/prj_1/job");
        check("/v1/analytics/dw_secret/views", "/v1/analytics/dw_…/views");
        check("dw_secret", "dw_…");
        check(&"é".repeat(200), &"é".repeat(200));
        check(&"é".repeat(201), &format!("{}…", "é".repeat(200)));
    }
}
