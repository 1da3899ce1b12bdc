//! Refuses requests about page views on a server that doesn't store them.
//!
//! One server of an installation stores all page views. Another one would count only a part of them.

use axum::extract::{MatchedPath, Request};

use super::error::ApiError;
use app::App;

/// The error for a request that another server must handle.
pub(super) fn refusal(app: &App, request: &Request) -> Option<ApiError> {
    let route = request.extensions().get::<MatchedPath>();
    let needs_views = route.is_some_and(|route| is_views_route(route.as_str()));
    (needs_views && !app.stores_views()).then(|| ApiError::ViewsElsewhere(app.views_owner.trouble()))
}

pub(super) fn is_views_route(route: &str) -> bool {
    route.starts_with("/v1/analytics/") || route.starts_with("/v1/collect/")
}

/// Fails if another server took the page views over, after a change of them.
pub(super) async fn confirm(app: &App) -> Result<(), ApiError> {
    match app.views_owner.confirm().await? {
        true => Ok(()),
        false => Err(ApiError::ViewsElsewhere(None)),
    }
}
