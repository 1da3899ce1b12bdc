//! Implements the dashboard: pages that are rendered on the server, work without JavaScript and have a strict content
//! security policy.

mod assets;
mod audit;
mod cookies;
mod failed_sign_ins;
mod findings;
mod home;
mod job;
mod jobs;
mod join;
mod keys;
mod login;
mod people;
mod pulls;
mod quotations;
mod readers;
mod return_path;
mod session;
mod settings;
mod view;
mod welcome;

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
use traffic::Failure;

use app::App;
use app::time::{relative, rfc3339};
use view::{DisplayTime, Link, Notice, Shell, escape_control_characters};

const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Routes each URL of the dashboard to its handler.
pub fn pages() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/login", get(login::show).post(login::sign_in))
        .route("/logout", post(login::sign_out))
        .route("/logout/everywhere", post(login::sign_out_everywhere))
        .route("/join", get(join::show).post(join::accept))
        .route("/welcome", get(welcome::show))
        .route("/welcome/account", post(welcome::create_account))
        .route("/welcome/repository", get(welcome::choose_repository).post(welcome::create_project))
        .route("/p/{projectId}/welcome", get(welcome::choose_model).post(welcome::finish))
        .route("/people", get(people::list))
        .route("/people/invite", post(people::invite))
        .route("/people/invitations/{id}/withdraw", post(people::withdraw_invite))
        .route("/people/sessions/{id}/end", post(people::end_session))
        .route("/people/password", post(people::change_password))
        .route("/people/{id}/remove", post(people::remove))
        .route("/audit", get(audit::list))
        .route("/p/{projectId}", get(jobs::redirect_to_list))
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
        .route("/p/{projectId}/readers/{list}/csv", get(readers::csv))
        .route("/p/{projectId}/findings", get(findings::list))
        .route("/p/{projectId}/findings/job", post(findings::create_job))
        .route("/p/{projectId}/findings/{id}", get(findings::show))
        .route("/p/{projectId}/findings/{id}/dismiss", post(findings::dismiss))
        .route("/p/{projectId}/weekly", get(findings::weekly))
        .route("/p/{projectId}/pulls", get(pulls::list))
        .route("/p/{projectId}/pulls/{n}", get(pulls::show))
        .route("/p/{projectId}/pulls/{n}/merge", post(pulls::merge))
        .route("/p/{projectId}/pulls/{n}/close", post(pulls::close))
        .route("/p/{projectId}/settings", get(settings::show))
        .route("/p/{projectId}/settings/views-received", get(settings::show_views_received))
        .route("/p/{projectId}/settings/repository", post(settings::save_repository))
        .route("/p/{projectId}/settings/jobs", post(settings::save_jobs))
        .route("/p/{projectId}/settings/readers", post(settings::save_readers))
        .route("/p/{projectId}/settings/findings", post(settings::save_findings))
        .route("/p/{projectId}/settings/delete", post(settings::delete_project))
        .layer(from_fn(reject_cross_site_forms))
}

/// Routes the stylesheet, the script and the logo. `not_found` answers for other names.
pub fn assets(not_found: fn() -> Response) -> Router<App> {
    // The router's own extractor would answer 400 for a name that isn't UTF-8.
    let name = |uri: &Uri| uri.path().trim_start_matches("/assets/").to_owned();
    let show = async move |uri: Uri| assets::find(&name(&uri)).unwrap_or_else(not_found);
    Router::new().route("/assets/{name}", get(show)).layer(from_fn(reject_cross_site_forms))
}

/// Refuses forms that another site sends, and sets the security headers of every response.
async fn reject_cross_site_forms(request: Request, next: Next) -> Response {
    with_security_headers(match request.method() {
        &Method::GET | &Method::HEAD => next.run(request).await,
        _ if is_cross_site(request.headers()) => notice_page(
            StatusCode::FORBIDDEN,
            "Form sent from another site",
            "Nothing was changed. Open the page in the dashboard, and submit the form there.",
        ),
        _ => next.run(request).await,
    })
}

fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Browsers say where a form was sent from. For a client that sends neither header, the CSRF token decides.
fn is_cross_site(headers: &HeaderMap) -> bool {
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
        Ok(html) => (status, Html(escape_control_characters(&html))).into_response(),
        Err(error) => internal_error_page(&error.into()),
    }
}

/// A page that has only a title, a message and a link to the projects.
fn notice_page(status: StatusCode, title: &str, message: &str) -> Response {
    let action = Some(Link { href: "/".into(), label: "Go to projects".into() });
    let shell = Shell::signed_out(title);
    let notice = Notice { shell, status: status.as_u16(), message: message.into(), action };
    notice.render().map_or_else(
        |_| (status, message.to_owned()).into_response(),
        |html| (status, Html(html)).into_response(),
    )
}

/// Answers for a URL that has no route.
pub fn no_such_page() -> Response {
    let message = "There is no page at this address. Check the address for typos or missing parts.";
    with_security_headers(notice_page(StatusCode::NOT_FOUND, "Page not found", message))
}

/// Answers a GET of a URL that only takes forms, and other methods that a route doesn't have.
pub fn method_not_allowed_page() -> Response {
    let message = "You can't open this address directly. Use the button on the page that it belongs to. Nothing was changed.";
    with_security_headers(notice_page(
        StatusCode::METHOD_NOT_ALLOWED,
        "This address only takes forms",
        message,
    ))
}

/// Answers every form while the data directory is missing or replaced.
pub fn directory_lost_page() -> Response {
    let message = "Nothing was changed, because the server's data directory was deleted or replaced. Ask the server's operator to restore the directory and to restart the server.";
    with_security_headers(notice_page(StatusCode::SERVICE_UNAVAILABLE, "Can't save changes", message))
}

/// The cause is only in the log.
fn internal_error_page(cause: &anyhow::Error) -> Response {
    tracing::error!("page failed: {cause:#}");
    if Trouble::find(&**cause).is_some() {
        return disk_trouble_page();
    }
    if Failure::is_unavailable_in(&**cause) {
        return views_unavailable_page();
    }
    if Failure::is_too_large_in(&**cause) {
        let message = "The report has more rows than the server can read. Choose a shorter range.";
        return notice_page(StatusCode::BAD_REQUEST, "Report too large", message);
    }
    let message =
        "The server failed to answer. Its log has the cause, under the X-Request-Id of this response.";
    notice_page(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", message)
}

/// The log says which trouble it is, such as a full disk.
fn disk_trouble_page() -> Response {
    let message = "Nothing was changed, because the server can't use its disk. Try again later.";
    let mut response = notice_page(StatusCode::SERVICE_UNAVAILABLE, "Temporarily unavailable", message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn views_unavailable_page() -> Response {
    let message = "The database of the page views doesn't answer. Views are still taken. Try again later.";
    let mut response = notice_page(StatusCode::SERVICE_UNAVAILABLE, "Page views are away", message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn not_found_page(what: &str) -> Response {
    let message = "It was deleted, or it belongs to an organization that you aren't signed in to.";
    notice_page(StatusCode::NOT_FOUND, &format!("No such {what}"), message)
}

/// The response of a handler that can't show its page.
pub(crate) struct PageError(Response);

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<E: Into<anyhow::Error>> From<E> for PageError {
    fn from(error: E) -> Self {
        Self(internal_error_page(&error.into()))
    }
}

fn display_time(moment: Timestamp, now: Timestamp) -> DisplayTime {
    DisplayTime { iso: rfc3339(moment), text: relative(moment, now) }
}
