//! Sets the security headers of every response.
//!
//! Browsers don't guess the content type, caches store only what a handler allows, and a server with an https
//! address is never called over http.

use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, HeaderValue, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};

use app::App;

/// One year, the minimum for the preload lists of browsers.
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
