//! Page views are kept by one server, and every route of theirs begins with `/v1/`; another server
//! of the same installation says so instead of counting a part of them.

use axum::extract::{MatchedPath, Request};

use super::error::ApiError;
use app::App;

pub(super) fn refusal(app: &App, request: &Request) -> Option<ApiError> {
    let route = request.extensions().get::<MatchedPath>();
    let asked = route.is_some_and(|route| is_of_views(route.as_str()));
    (asked && !app.keeps_views()).then_some(ApiError::ViewsElsewhere)
}

pub(super) fn is_of_views(route: &str) -> bool {
    route.starts_with("/v1/")
}
