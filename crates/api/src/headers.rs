//! Headers of every answer: no browser guesses its type, no cache keeps it unless its handler says so, and a server
//! that is reached by https is never asked in the clear again.

use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, HeaderValue, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};

use app::App;

/// A year, as browsers want it for their lists.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

pub(super) fn set_security_headers(app: &App, headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    headers.entry(CACHE_CONTROL).or_insert(NO_STORE);
    if app.public_url.starts_with("https://") {
        headers.insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
}
