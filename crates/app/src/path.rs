//! Parts of a request's address, decoded one by one.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

/// The `n`th segment, counted from 1; `None` when it is not there or its bytes are no text.
/// Not by the router's own extractor: that one fails as a whole when any segment is junk,
/// and then cannot say which.
pub fn segment(uri: &Uri, n: usize) -> Option<String> {
    let raw = uri.path().split('/').nth(n)?;
    percent_decode_str(raw).decode_utf8().ok().map(|text| text.into_owned())
}

/// The first value of that name in the query; empty when there is none.
pub fn query_value(uri: &Uri, name: &str) -> String {
    let mut pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}
