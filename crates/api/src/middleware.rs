//! What a request passes on its way to a handler, and its answer on the way back. The router copies all that is below
//! a layer for each request, so there are no more layers than places where they differ.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{ErrorPages, access, bounds, coding, headers, home, lost_directory, request_id};
use app::App;

/// Around everything.
pub(super) async fn all(
    State((app, errors)): State<(App, ErrorPages)>,
    request: Request,
    next: Next,
) -> Response {
    let bounded = async |request| {
        let mut response = match lost_directory::refusal(&app, errors, &request) {
            Some(refusal) => refusal,
            None => bounds::around(&app, next.run(request)).await,
        };
        headers::set_security_headers(&app, response.headers_mut());
        response
    };
    request_id::around(request, async |request| access::around(&app, request, bounded).await).await
}

/// Around the API and the files of pages.
pub(super) async fn api(State(app): State<App>, request: Request, next: Next) -> Response {
    match home::refusal(&app, &request) {
        Some(refusal) => refusal.into_response(),
        None => coding::around(&app, request, next).await,
    }
}
