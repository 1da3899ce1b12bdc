//! Remembers which page a person requested before signing in, and returns them to it afterwards.
//!
//! The sign-in form carries the path in a hidden field. A person who gets a login link instead leaves the form, so a
//! cookie also carries the path, for as long as a login link works.
//!
//! Both are input from outside. Only a page of this server is accepted, so that a sign-in is no open redirect.

use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::cookies;
use app::App;

const COOKIE_NAME: &str = "docwright-next";
/// As long as a login link works.
const COOKIE_SECONDS: u32 = 900;
/// Fits into the sign-in form, however it is encoded.
const MAX_BYTES: usize = 1_000;
/// Returning to one of these would be a loop, or would end the session.
const SIGN_IN_PATHS: [&str; 3] = ["/login", "/logout", "/join"];
/// Bytes that a URL of a page only contains percent-encoded.
const FORBIDDEN_BYTES: &[u8] = b"\\#<>\"`{}|^";

/// The path and query of a page of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReturnPath(String);

impl ReturnPath {
    /// A browser reads `//x` and `/\x` as another host, and removes control characters first.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !FORBIDDEN_BYTES.contains(&byte);
        let is_plain = text.len() <= MAX_BYTES && text.bytes().all(is_plain);
        let path = text.split('?').next().unwrap_or_default();
        let is_sign_in =
            SIGN_IN_PATHS.iter().any(|known| path == *known || path.starts_with(&format!("{known}/")));
        let is_ours =
            text.starts_with('/') && !text.starts_with("//") && !path.split('/').any(is_dot_segment);
        (is_plain && is_ours && !is_sign_in).then(|| Self(text.to_owned()))
    }

    /// The page that a person requests with a browser. `None` for requests of scripts and for forms.
    pub(super) fn from_request(parts: &Parts) -> Option<Self> {
        let accepts = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let is_person =
            parts.method == Method::GET && accepts.is_some_and(|types| types.contains("text/html"));
        let requested = parts.uri.path_and_query().filter(|_| is_person)?;
        Self::parse(requested.as_str()).filter(|path| path.0 != "/")
    }

    pub(super) fn from_cookie(headers: &HeaderMap) -> Option<Self> {
        Self::parse(&percent_decode_str(&cookies::find(headers, COOKIE_NAME)?).decode_utf8().ok()?)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn set_cookie(&self, response: &mut Response, app: &App) {
        let value = utf8_percent_encode(&self.0, NON_ALPHANUMERIC).to_string();
        cookies::append(response, app, COOKIE_NAME, Some(&value), "/login", COOKIE_SECONDS);
    }

    pub(super) fn clear_cookie(response: &mut Response, app: &App) {
        cookies::append(response, app, COOKIE_NAME, None, "/login", 0);
    }
}

/// A browser resolves `.` and `..`, so a path that contains them can lead to a sign-in page.
fn is_dot_segment(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_server_are_accepted() {
        for good in
            ["/", "/people", "/p/a%2Fb/jobs?q=a;b,c&state=review", "/loginx", "/a//b", "/?u=https://x"]
        {
            assert_eq!(ReturnPath::parse(good).as_ref().map(ReturnPath::as_str), Some(good));
        }
        for bad in
            ["", "x", "//x", "/\\x", "/a\\b", "https://x", "/a\tb", "/a\n", "/a b", "/é", "/login", "/join?x"]
        {
            assert_eq!(ReturnPath::parse(bad), None, "{bad:?}");
        }
        for sign_in in
            ["/login#", "/join#?a", "/./login", "/x/../login", "/%2E/login", "/x/.%2e/login", "/<b>", "/\"x"]
        {
            assert_eq!(ReturnPath::parse(sign_in), None, "{sign_in:?}");
        }
    }
}
