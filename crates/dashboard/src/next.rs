//! Where somebody wanted to go before they were asked to sign in, and are led afterwards. A form of ours
//! carries it; for who goes and fetches a login link, a cookie keeps it as long as such a link works.
//!
//! Both come back from outside, so what is no page of this server is nowhere: a sign-in leads nobody to
//! another site.

use axum::http::header::{ACCEPT, COOKIE, HeaderValue, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::session::over_https;
use app::App;

const COOKIE_NAME: &str = "docwright-next";
/// As long as a login link works.
const QUARTER: u32 = 900;
/// A form has room for it, however it is encoded.
const MOST: usize = 1_000;
/// To be led there again after signing in would be a circle, or the end of the session.
const DOORS: [&str; 3] = ["/login", "/logout", "/join"];

/// What no address of a page has in it as it is.
const NEVER: &[u8] = b"\\#<>\"`{}|^";

/// The path and query of a page of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Next(String);

impl Next {
    /// A browser takes `//x` and `/\x` for another host, and drops control characters before it looks.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !NEVER.contains(&byte);
        let plain = text.len() <= MOST && text.bytes().all(plain);
        let path = text.split('?').next().unwrap_or_default();
        let door = DOORS.iter().any(|door| path == *door || path.starts_with(&format!("{door}/")));
        let ours = text.starts_with('/') && !text.starts_with("//") && !path.split('/').any(is_dots);
        (plain && ours && !door).then(|| Self(text.to_owned()))
    }

    /// What a person asks for with a browser; not what a script fetches, nor what a form sends.
    pub(super) fn asked(parts: &Parts) -> Option<Self> {
        let accepts = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let person = parts.method == Method::GET && accepts.is_some_and(|kinds| kinds.contains("text/html"));
        let asked = parts.uri.path_and_query().filter(|_| person)?;
        Self::parse(asked.as_str()).filter(|next| next.0 != "/")
    }

    pub(super) fn kept(headers: &HeaderMap) -> Option<Self> {
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == COOKIE_NAME)?;
        Self::parse(&percent_decode_str(value).decode_utf8().ok()?)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn keep(&self, response: &mut Response, app: &App) {
        set(response, app, &utf8_percent_encode(&self.0, NON_ALPHANUMERIC).to_string(), QUARTER);
    }

    pub(super) fn forget(response: &mut Response, app: &App) {
        set(response, app, "", 0);
    }
}

/// A browser takes these out of a path, with the name before them, and may come to a door that way.
fn is_dots(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

fn set(response: &mut Response, app: &App, value: &str, age: u32) {
    let secure = over_https(app);
    let cookie = format!("{COOKIE_NAME}={value}; Path=/login; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_server() {
        for good in
            ["/", "/people", "/p/a%2Fb/jobs?q=a;b,c&state=review", "/loginx", "/a//b", "/?u=https://x"]
        {
            assert_eq!(Next::parse(good).as_ref().map(Next::as_str), Some(good));
        }
        for bad in
            ["", "x", "//x", "/\\x", "/a\\b", "https://x", "/a\tb", "/a\n", "/a b", "/é", "/login", "/join?x"]
        {
            assert_eq!(Next::parse(bad), None, "{bad:?}");
        }
        for door in
            ["/login#", "/join#?a", "/./login", "/x/../login", "/%2E/login", "/x/.%2e/login", "/<b>", "/\"x"]
        {
            assert_eq!(Next::parse(door), None, "{door:?}");
        }
    }
}
