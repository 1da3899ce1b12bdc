//! Refuses requests about page views on a server that doesn't store them.
//!
//! One server of an installation stores all page views. Another one would count only a part of them. The
//! routes of page views are those that begin with `/v1/`.

use axum::extract::{MatchedPath, Request};

use super::error::ApiError;
use app::App;

/// The error for a request that another server must handle.
pub(super) fn refusal(app: &App, request: &Request) -> Option<ApiError> {
    let route = request.extensions().get::<MatchedPath>();
    let needs_views = route.is_some_and(|route| is_views_route(route.as_str()));
    (needs_views && !app.stores_views()).then_some(ApiError::ViewsElsewhere)
}

pub(super) fn is_views_route(route: &str) -> bool {
    route.starts_with("/v1/")
}
