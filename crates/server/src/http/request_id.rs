//! Every answer carries `X-Request-Id`, and every log line of the request does, too; a handler
//! that panics is an internal error like any other.

use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tracing::Instrument;

use super::error::ApiError;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A client's own id, if it can stand in a header and a log line as it is.
fn sane(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    ((8..=128).contains(&id.len()) && id.chars().all(plain)).then(|| id.to_owned())
}

pub(crate) async fn layer(request: Request, next: Next) -> Response {
    let id = sane(request.headers()).unwrap_or_else(|| uuid::Uuid::now_v7().simple().to_string());
    let span = tracing::info_span!("request", id, method = %request.method(), path = request.uri().path());
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    let mut response = answer
        .instrument(span)
        .await
        .unwrap_or_else(|_| ApiError::Internal(anyhow::anyhow!("a handler panicked")).into_response());
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
