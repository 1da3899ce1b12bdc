//! Answers liveness and readiness checks.

use axum::extract::State;

use super::error::ApiError;
use app::App;

/// `GET /healthz`: the process runs.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the server can serve requests, including writes.
pub(super) async fn ready(State(app): State<App>) -> Result<&'static str, ApiError> {
    app.readiness.check(&app).await.map_err(ApiError::NotReady)?;
    Ok("ready\n")
}
