//! Reads request bodies within a limit.
//!
//! The errors come in this order: 415 (media type, content coding), 413 (declared length), errors while the body is
//! read and decompressed (413, 408, 400, 503), 401 (the key was revoked meanwhile), 400 (invalid JSON).

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::value::RawValue;
use store::KeyText;

use super::compression::{self, DecodeError};
use super::error::ApiError;
use app::App;
use app::bodies::{BodyError, BufferedBody, Owner};

/// A prompt of 100,000 characters in their longest escaped form, and the other fields.
const MAX_JSON_BYTES: usize = 2 * 1024 * 1024;
/// Truncates messages of the parser, which can quote arbitrarily long input.
const MAX_MESSAGE_CHARS: usize = 200;

/// A JSON body, and its bytes. Unlike axum's extractor, it rejects with an [`ApiError`].
pub(crate) struct Json<T>(pub(crate) T, pub(crate) BufferedBody);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        if !media_type(request.headers()).is_some_and(|kind| is_json(&kind)) {
            return Err(ApiError::UnsupportedMediaType("application/json"));
        }
        let (parts, body) = request.into_parts();
        let bytes = read_body(app, &parts, body, MAX_JSON_BYTES).await?;
        check_key_again(app, &parts).await?;
        let value = parse_object(&bytes).map_err(|message| ApiError::invalid("invalid_body", message))?;
        Ok(Self(value, bytes))
    }
}

/// The media type without its parameters, in lower case. Non-UTF-8 input is kept lossily, so
/// that it differs from a missing header. It matches nothing.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = String::from_utf8_lossy(headers.get(CONTENT_TYPE)?.as_bytes());
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

/// Media types are ASCII, so any other `application/…+json` is refused.
pub(crate) fn is_json(media_type: &str) -> bool {
    let has_json_suffix = media_type.starts_with("application/") && media_type.ends_with("+json");
    media_type == "application/json" || (has_json_suffix && media_type.is_ascii())
}

/// Reads and decompresses the whole body. Fails with 413 as soon as the body is known to be too large.
pub(crate) async fn read_body(
    app: &App,
    parts: &Parts,
    body: Body,
    limit: usize,
) -> Result<BufferedBody, ApiError> {
    let (headers, owner) = (&parts.headers, Owner::of(parts, app));
    let coding = compression::body_coding(headers)?;
    let refused = |why| read_error(why, limit);
    let length = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(refused(BodyError::TooLarge));
    }
    let encoded = app.bodies.read(owner.clone(), body, limit).await.map_err(refused)?;
    let Some(coding) = coding else { return Ok(encoded) };
    let plain = app.bodies.empty_body(owner);
    app.bodies.run_blocking(move || coding.decode(&encoded, plain, limit)).await?.map_err(|error| match error
    {
        DecodeError::BodyError(why) => refused(why),
        DecodeError::Damaged(sentence) => ApiError::invalid("invalid_body", sentence),
    })
}

/// Checks the API key again after the body arrived: that can take 30 seconds, and the key can be revoked
/// meanwhile.
async fn check_key_again(app: &App, parts: &Parts) -> Result<(), ApiError> {
    let Some(text) = parts.extensions.get::<KeyText>() else { return Ok(()) };
    let is_live = app.accounts.key(text).await?.is_some_and(|key| key.is_live);
    if is_live { Ok(()) } else { Err(ApiError::Unauthorized) }
}

fn format_size(bytes: usize) -> String {
    match bytes / 1024 {
        kib if kib < 1024 => format!("{kib} KiB"),
        kib => format!("{} MiB", kib / 1024),
    }
}

fn read_error(why: BodyError, limit: usize) -> ApiError {
    match why {
        BodyError::TooLarge => ApiError::TooLarge(format!("the body must be at most {}", format_size(limit))),
        BodyError::TooSlow => ApiError::TooSlow,
        BodyError::Disconnected => {
            ApiError::invalid("invalid_body", "the body is incomplete, or its chunks are malformed")
        }
        BodyError::OverBudget => ApiError::Busy,
    }
}

/// Parses a JSON object. Other values are refused here, because serde also deserializes a struct from an
/// array.
pub(crate) fn parse_object<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let first = text.trim_ascii_start().first();
    if first.is_some_and(|byte| *byte != b'{') && serde_json::from_slice::<&RawValue>(text).is_ok() {
        return Err("expected a JSON object".into());
    }
    serde_json::from_slice(text).map_err(|error| match error.classify() {
        Category::Data => format!("the JSON doesn't match this operation: {}", parser_message(&error)),
        _ => format!("not valid JSON: {}", parser_message(&error)),
    })
}

/// The parser's message, truncated to a readable length.
pub(crate) fn parser_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn json_by_content_type() {
        #[track_caller]
        fn check(content_type: &[u8], expected: bool) {
            let value = HeaderValue::from_bytes(content_type).unwrap();
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value)]);
            assert_eq!(media_type(&headers).is_some_and(|kind| is_json(&kind)), expected, "{headers:?}");
        }
        check(b"application/json", true);
        check(b"Application/JSON; charset=\xff", true);
        check(b"application/vnd.acme+json", true);
        check(b"application/\xff+json", false);
        check("application/é+json".as_bytes(), false);
        check(b"application/jsonp", false);
    }
}
