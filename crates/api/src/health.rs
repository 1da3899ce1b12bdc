//! Answers liveness and readiness checks.

use axum::extract::State;

use super::error::ApiError;
use app::App;

/// `GET /healthz`: the process runs.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the server can serve requests, including writes. A second line says what only some requests lack.
pub(super) async fn ready(State(app): State<App>) -> Result<String, ApiError> {
    app.readiness.check(&app).await.map_err(ApiError::NotReady)?;
    let trouble = app.views_owner.trouble();
    Ok(trouble.map_or_else(|| "ready\n".to_owned(), |trouble| format!("ready\ndegraded: {trouble}\n")))
}
