//! Serves metrics for Prometheus, if the operator enables them: they show how busy an installation is.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;

use super::error::ApiError;
use app::App;
use app::metrics::{Concurrency, StoredViews};

/// `GET /metrics`. Unless metrics are enabled, this route doesn't exist.
pub(super) async fn show(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    if !app.serves_metrics {
        return Err(ApiError::NoSuchRoute);
    }
    let jobs = app.jobs.counts().await;
    let jobs = jobs.inspect_err(|error| tracing::error!("the jobs could not be counted: {error}"));
    let headers = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    let is_paused = app.clocks.clock_guard().is_paused();
    let fetches = app.hosts.fetch_counts();
    let owner = &app.views_owner;
    let page_views =
        StoredViews { here: app.stores_views(), somewhere: owner.trouble().is_none(), lag: owner.lag() };
    let text = app.metrics.render(jobs.ok().as_ref(), &Concurrency::of(&app), fetches, is_paused, page_views);
    Ok((headers, text))
}
