//! Segments of a request's path, percent-decoded one by one.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

/// The `n`th segment, counted from 1; `None` when it is not there or its bytes are no text.
/// Not by the router's own extractor: that one fails as a whole when any segment is junk,
/// and then cannot say which.
pub(crate) fn segment(uri: &Uri, n: usize) -> Option<String> {
    let raw = uri.path().split('/').nth(n)?;
    percent_decode_str(raw).decode_utf8().ok().map(|text| text.into_owned())
}
