//! Decodes single parts of a request's URL.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

/// The `n`th segment of the path, counted from 1. `None` when it's missing or not UTF-8. The router's own
/// extractor fails when any segment is invalid, and doesn't say which one.
pub fn segment(uri: &Uri, n: usize) -> Option<String> {
    let raw = uri.path().split('/').nth(n)?;
    percent_decode_str(raw).decode_utf8().ok().map(|text| text.into_owned())
}

/// The first value of the query parameter `name`, or an empty text.
pub fn query_value(uri: &Uri, name: &str) -> String {
    let mut pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}
