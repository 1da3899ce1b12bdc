//! The dashboard: pages rendered on the server, which work without JavaScript and have a strict content policy.

mod assets;
mod audit;
mod home;
mod job;
mod jobs;
mod join;
mod keys;
mod login;
mod next;
mod people;
mod pulls;
mod quotations;
mod readers;
mod session;
mod settings;
mod view;
mod welcome;
mod wrong;

use askama::Template;
use axum::Router;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderValue, ORIGIN, REFERRER_POLICY, RETRY_AFTER,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use machine::Trouble;

use app::App;
use app::time::{relative, rfc3339};
use view::{Link, Notice, Section, Shell, When, spelled_out};

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Every page, by its URL.
pub fn pages() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/login", get(login::show).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/logout/everywhere", post(login::leave_everywhere))
        .route("/join", get(join::show).post(join::enter))
        .route("/welcome", get(welcome::show))
        .route("/welcome/account", post(welcome::account))
        .route("/welcome/repository", get(welcome::repository).post(welcome::create))
        .route("/p/{projectId}/welcome", get(welcome::model).post(welcome::finish))
        .route("/people", get(people::list))
        .route("/people/invite", post(people::invite))
        .route("/people/invitations/{id}/withdraw", post(people::withdraw))
        .route("/people/sessions/{id}/end", post(people::end_session))
        .route("/people/password", post(people::password))
        .route("/people/{id}/remove", post(people::remove))
        .route("/audit", get(audit::list))
        .route("/p/{projectId}", get(jobs::to_list))
        .route("/p/{projectId}/keys", get(keys::list).post(keys::create))
        .route("/p/{projectId}/keys/{id}/revoke", post(keys::revoke))
        .route("/p/{projectId}/jobs", get(jobs::list).post(jobs::create))
        .route("/p/{projectId}/jobs/{id}", get(job::show))
        .route("/p/{projectId}/jobs/{id}/events", get(job::events))
        .route("/p/{projectId}/jobs/{id}/transcript", get(job::transcript))
        .route("/p/{projectId}/jobs/{id}/message", post(job::message))
        .route("/p/{projectId}/jobs/{id}/archive", post(job::archive))
        .route("/p/{projectId}/jobs/{id}/retry", post(job::retry))
        .route("/p/{projectId}/readers", get(readers::show))
        .route("/p/{projectId}/readers/live", get(readers::live))
        .route("/p/{projectId}/readers/{list}", get(readers::list))
        .route("/p/{projectId}/readers/{list}/csv", get(readers::file))
        .route("/p/{projectId}/pulls", get(pulls::list))
        .route("/p/{projectId}/pulls/{n}", get(pulls::show))
        .route("/p/{projectId}/pulls/{n}/merge", post(pulls::merge))
        .route("/p/{projectId}/pulls/{n}/close", post(pulls::close))
        .route("/p/{projectId}/settings", get(settings::show))
        .route("/p/{projectId}/settings/arrived", get(settings::arrived))
        .route("/p/{projectId}/settings/repository", post(settings::repository))
        .route("/p/{projectId}/settings/jobs", post(settings::jobs))
        .route("/p/{projectId}/settings/readers", post(settings::readers))
        .route("/p/{projectId}/settings/delete", post(settings::delete))
        .layer(from_fn(guard))
}

/// The files of the pages. `not_found` answers for others.
pub fn assets(not_found: fn() -> Response) -> Router<App> {
    // Not by the router's extractor: that one refuses a name that is no text as a bad request.
    let name = |uri: &Uri| uri.path().trim_start_matches("/assets/").to_owned();
    let show = async move |uri: Uri| assets::find(&name(&uri)).unwrap_or_else(not_found);
    Router::new().route("/assets/{name}", get(show)).layer(from_fn(guard))
}

/// Around every page: no form from elsewhere comes in, nothing of a page is kept or framed.
async fn guard(request: Request, next: Next) -> Response {
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
pub fn no_such_page() -> Response {
    let message = "Nothing has this address. It may be cut off, or misspelled.";
    closed(notice(StatusCode::NOT_FOUND, "No such page", message))
}

/// For an address of ours that a form is sent to.
pub fn method_not_allowed_page() -> Response {
    let message = "Only a button of another page leads here. Nothing was changed.";
    closed(notice(StatusCode::METHOD_NOT_ALLOWED, "Nothing to look at here", message))
}

/// For a form that comes when nothing can be kept.
pub fn directory_lost_page() -> Response {
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
