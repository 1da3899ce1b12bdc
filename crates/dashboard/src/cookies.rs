//! Reads and sets the dashboard's cookies.

use app::App;
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue, SET_COOKIE};
use axum::response::Response;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};

/// The value of the first cookie with this name. A browser sends the cookie with the longest path first.
pub(super) fn find(headers: &HeaderMap, name: &str) -> Option<String> {
    let headers = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = headers.flat_map(Cookie::split_parse).filter_map(Result::ok);
    cookies.find(|cookie| cookie.name() == name).map(|cookie| cookie.value().to_owned())
}

/// Sets a cookie that scripts can't read and other sites don't send with their forms. Without a value, removes it.
pub(super) fn append(
    response: &mut Response,
    app: &App,
    name: &str,
    value: Option<&str>,
    path: &str,
    age: u32,
) {
    let age = value.map_or(Duration::ZERO, |_| Duration::seconds(age.into()));
    let cookie = Cookie::build((name, value.unwrap_or_default())).path(path).max_age(age);
    let cookie = cookie.http_only(true).same_site(SameSite::Lax).secure(is_https(app));
    if let Ok(cookie) = HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// Whether browsers reach the server over HTTPS.
pub(super) fn is_https(app: &App) -> bool {
    app.public_url.starts_with("https://")
}
