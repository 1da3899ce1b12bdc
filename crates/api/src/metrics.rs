//! For Prometheus. Off unless the operator asks for it: counts are no secrets, but nobody's
//! business either.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;

use super::error::ApiError;
use app::App;

/// `GET /metrics`: without the setting there is no such route.
pub(super) async fn show(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    if !app.serves_metrics {
        return Err(ApiError::NoSuchRoute);
    }
    let jobs = app.jobs.counts().await;
    let jobs = jobs.inspect_err(|error| tracing::error!("the jobs could not be counted: {error}"));
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    let is_paused = app.clocks.clock_guard().is_paused();
    Ok((kind, app.metrics.render(jobs.ok().as_ref(), is_paused)))
}
