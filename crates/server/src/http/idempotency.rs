//! `Idempotency-Key`: a request that is sent twice is carried out once.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;

use super::error::ApiError;

const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.chars().count()) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::invalid(
            "invalid_idempotency_key",
            "Idempotency-Key must be 1 to 255 printable characters",
        )),
    }
}

pub(super) fn replay(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAY, HeaderValue::from_static("true"));
    response
}
