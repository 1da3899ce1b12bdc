//! The pages: server-rendered, working without JavaScript, behind a strict content policy.

pub(crate) mod assets;
pub(crate) mod audit;
pub(crate) mod home;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod join;
pub(crate) mod keys;
pub(crate) mod login;
mod next;
pub(crate) mod people;
pub(crate) mod pulls;
mod quotations;
pub(crate) mod readers;
mod session;
pub(crate) mod settings;
mod view;
pub(crate) mod welcome;
mod wrong;

use askama::Template;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderValue, ORIGIN, REFERRER_POLICY, RETRY_AFTER,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use machine::Trouble;

use crate::time::{relative, rfc3339};
use view::{Link, Notice, Section, Shell, When, spelled_out};

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Around every page: no form from elsewhere comes in, nothing of a page is kept or framed.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    closed(match request.method() {
        &Method::GET | &Method::HEAD => next.run(request).await,
        _ if from_elsewhere(request.headers()) => notice(
            StatusCode::FORBIDDEN,
            "That form came from another site",
            "Nothing was changed. Open the page here and try again.",
        ),
        _ => next.run(request).await,
    })
}

fn closed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Browsers say where a form was sent from; one that says nothing is held to the form's token.
fn from_elsewhere(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text(&HeaderName::from_static("sec-fetch-site")) {
        return !matches!(site, "same-origin" | "none");
    }
    match (text(&ORIGIN), text(&HOST)) {
        (Some(origin), Some(host)) => origin.split_once("://").is_none_or(|(_, name)| name != host),
        _ => false,
    }
}

fn page<T: Template>(template: &T) -> Response {
    page_with(StatusCode::OK, template)
}

fn page_with<T: Template>(status: StatusCode, template: &T) -> Response {
    match template.render() {
        Ok(html) => (status, Html(spelled_out(&html))).into_response(),
        Err(error) => broken(&error.into()),
    }
}

/// A page for when there is no page: says what is the matter and where to go.
fn notice(status: StatusCode, title: &str, message: &str) -> Response {
    let shell = Shell {
        title: title.into(),
        project: None,
        current: Section::Elsewhere,
        signed_in: false,
        csrf: String::new(),
    };
    let action = Some(Link { href: "/".into(), label: "To the projects".into() });
    let notice = Notice { shell, status: status.as_u16(), message: message.into(), action };
    notice.render().map_or_else(
        |_| (status, message.to_owned()).into_response(),
        |html| (status, Html(html)).into_response(),
    )
}

/// For an address that is none of ours.
pub(crate) fn no_such_page() -> Response {
    let message = "Nothing has this address. It may be cut off, or misspelled.";
    closed(notice(StatusCode::NOT_FOUND, "No such page", message))
}

/// For an address of ours that a form is sent to.
pub(crate) fn not_to_be_looked_at() -> Response {
    let message = "Only a button of another page leads here. Nothing was changed.";
    closed(notice(StatusCode::METHOD_NOT_ALLOWED, "Nothing to look at here", message))
}

/// For a form that comes when nothing can be kept.
pub(crate) fn directory_lost() -> Response {
    let message = "Nothing was changed. The server's data directory was deleted or replaced: its operator has to restore the directory and to start the server again.";
    closed(notice(StatusCode::SERVICE_UNAVAILABLE, "Nothing can be changed just now", message))
}

/// The cause is for the log.
fn broken(cause: &anyhow::Error) -> Response {
    tracing::error!("page failed: {cause:#}");
    if Trouble::find(&**cause).is_some() {
        return out_of_order();
    }
    let message = "The server's log has the cause, under this answer's X-Request-Id.";
    notice(StatusCode::INTERNAL_SERVER_ERROR, "Something broke", message)
}

/// The machine is in trouble, such as by a full disk; the operator reads in the log which it is.
fn out_of_order() -> Response {
    let message = "Nothing was changed, because the server cannot use its disk. Try it again a little later.";
    let mut response = notice(StatusCode::SERVICE_UNAVAILABLE, "Not possible just now", message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn missing(what: &str) -> Response {
    let message = "It may have been deleted, or it belongs to an organization that you are not signed in to.";
    notice(StatusCode::NOT_FOUND, &format!("No such {what}"), message)
}

/// What a handler answers when it cannot answer its page.
pub(crate) struct Oops(Response);

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<E: Into<anyhow::Error>> From<E> for Oops {
    fn from(error: E) -> Self {
        Self(broken(&error.into()))
    }
}

fn when(moment: Timestamp, now: Timestamp) -> When {
    When { iso: rfc3339(moment), text: relative(moment, now) }
}
