//! Refuses writes while the data directory is missing or replaced.
//!
//! The server still has the old files open. Data that it acknowledged now would be in no file of the
//! directory.

use axum::extract::Request;
use axum::response::Response;

use super::error::ApiError;
use super::fallback::{self, ErrorPages};
use app::App;

/// The response to a request that would write.
pub(super) fn refusal(app: &App, errors: ErrorPages, request: &Request) -> Option<Response> {
    if request.method().is_safe() || app.directory.is_intact() {
        return None;
    }
    Some(fallback::respond(request, ApiError::DirectoryLost, errors.directory_lost))
}
