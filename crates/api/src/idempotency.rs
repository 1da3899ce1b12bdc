//! Parses `Idempotency-Key`: a request that is sent twice with the same key is executed once.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;

use super::error::ApiError;

const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

pub(super) fn parse_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let invalid = |sentence| ApiError::invalid("invalid_idempotency_key", sentence);
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(invalid("Idempotency-Key must be sent only once"));
    }
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.chars().count()) => Ok(Some(key.to_owned())),
        _ => Err(invalid("Idempotency-Key must have 1 to 255 printable ASCII characters")),
    }
}

pub(super) fn mark_as_replay(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAY, HeaderValue::from_static("true"));
    response
}
