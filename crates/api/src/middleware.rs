//! Composes the middleware of the API and of the whole server.
//!
//! The router clones everything below a layer for each request. So there are only two layers: one for all
//! routes, and one for those that can be compressed.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{ErrorPages, access, bounds, compression, headers, lost_directory, request_id, views_server};
use app::App;

/// For all routes.
pub(super) async fn all(
    State((app, errors)): State<(App, ErrorPages)>,
    request: Request,
    next: Next,
) -> Response {
    let respond = async |request| {
        let mut response = match lost_directory::refusal(&app, errors, &request) {
            Some(refusal) => refusal,
            None => bounds::run_bounded(&app, next.run(request)).await,
        };
        headers::set_security_headers(&app, response.headers_mut());
        response
    };
    request_id::with_request_id(request, async |request| access::log_request(&app, request, respond).await)
        .await
}

/// For the API and the static files of the dashboard.
pub(super) async fn api(State(app): State<App>, request: Request, next: Next) -> Response {
    match views_server::refusal(&app, &request) {
        Some(refusal) => refusal.into_response(),
        None => compression::compress_response(&app, request, next).await,
    }
}
