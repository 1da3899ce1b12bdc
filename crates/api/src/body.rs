//! Bodies, read within a bound: 415, then 413, then 400, each in the one error shape.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::value::RawValue;
use store::KeyText;

use super::coding::{self, DecodeError};
use super::error::ApiError;
use app::App;
use app::bodies::{Held, Owner, Unread};

/// 100,000 characters, each escaped the longest way, and room for the braces.
const MAX_JSON: usize = 2 * 1024 * 1024;
/// The parser quotes what it found, however long that is.
const MAX_MESSAGE_CHARS: usize = 200;

/// A JSON body, and its bytes. Ours, so that its rejection is an [`ApiError`] too.
pub(crate) struct Json<T>(pub(crate) T, pub(crate) Held);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        if !media_type(request.headers()).is_some_and(|kind| is_json(&kind)) {
            return Err(ApiError::UnsupportedMediaType("application/json"));
        }
        let (parts, body) = request.into_parts();
        let bytes = read(app, &parts, body, MAX_JSON).await?;
        still_allowed(app, &parts).await?;
        let value = object(&bytes).map_err(|message| ApiError::invalid("invalid_body", message))?;
        Ok(Self(value, bytes))
    }
}

/// The media type without its parameters, in lower case. One that is no text is one all the same,
/// and nobody's.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = String::from_utf8_lossy(headers.get(CONTENT_TYPE)?.as_bytes());
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

pub(crate) fn is_json(media_type: &str) -> bool {
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

/// The whole body, decoded, or 413 as soon as it is known to be too large.
pub(crate) async fn read(app: &App, parts: &Parts, body: Body, limit: usize) -> Result<Held, ApiError> {
    let (headers, owner) = (&parts.headers, Owner::of(parts, app));
    let coding = coding::of_body(headers)?;
    let refused = |why| refusal(why, limit);
    let told = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > limit as u64) {
        return Err(refused(Unread::TooLarge));
    }
    let sent = app.bodies.read(owner.clone(), body, limit).await.map_err(refused)?;
    let Some(coding) = coding else { return Ok(sent) };
    let plain = app.bodies.nothing(owner);
    app.bodies.work(move || coding.decode(&sent, plain, limit)).await?.map_err(|error| match error {
        DecodeError::Unread(why) => refused(why),
        DecodeError::Damaged(sentence) => ApiError::invalid("invalid_body", sentence),
    })
}

/// Whether the key that was checked before the body came still works: a body can take half a minute.
async fn still_allowed(app: &App, parts: &Parts) -> Result<(), ApiError> {
    let Some(text) = parts.extensions.get::<KeyText>() else { return Ok(()) };
    let is_live = app.accounts.key(text).await?.is_some_and(|key| key.is_live);
    if is_live { Ok(()) } else { Err(ApiError::Unauthorized) }
}

fn size(bytes: usize) -> String {
    match bytes / 1024 {
        kib if kib < 1024 => format!("{kib} KiB"),
        kib => format!("{} MiB", kib / 1024),
    }
}

fn refusal(why: Unread, limit: usize) -> ApiError {
    match why {
        Unread::TooLarge => ApiError::TooLarge(format!("the body must be at most {}", size(limit))),
        Unread::TooSlow => ApiError::TooSlow,
        Unread::CutOff => {
            ApiError::invalid("invalid_body", "the body was cut off, or its chunks cannot be read")
        }
        Unread::NoRoom => ApiError::Busy,
    }
}

/// A JSON object as `T`. Asked for by hand, because serde would take an array for a struct, too.
pub(crate) fn object<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let begins = text.trim_ascii_start().first();
    if begins.is_some_and(|byte| *byte != b'{') && serde_json::from_slice::<&RawValue>(text).is_ok() {
        return Err("expected a JSON object".into());
    }
    serde_json::from_slice(text).map_err(|error| match error.classify() {
        Category::Data => format!("the JSON does not fit this operation: {}", shown(&error)),
        _ => format!("not valid JSON: {}", shown(&error)),
    })
}

/// What the parser says, cut to a readable length.
pub(crate) fn shown(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
