//! For whoever watches over the server.

use axum::extract::State;

use super::error::ApiError;
use crate::app::App;

/// `GET /healthz`: the process runs.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: it can do its work, as far as the store is concerned.
pub(super) async fn ready(State(app): State<App>) -> Result<&'static str, ApiError> {
    app.sessions.anyone_signed_in().await?;
    Ok("ready\n")
}
