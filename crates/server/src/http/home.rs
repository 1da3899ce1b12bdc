//! Page views are kept by one server, and every route of theirs begins with `/v1/`; another server
//! of the same installation says so instead of counting a part of them.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use crate::app::App;

pub(super) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    if route.is_some_and(|route| is_of_views(route.as_str())) && !app.keeps_views() {
        return ApiError::ViewsElsewhere.into_response();
    }
    next.run(request).await
}

pub(super) fn is_of_views(route: &str) -> bool {
    route.starts_with("/v1/")
}
