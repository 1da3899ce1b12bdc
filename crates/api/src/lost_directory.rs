//! Refuses what writes while the data directory is not the one that the server opened: nobody would
//! find what it acknowledged.

use axum::extract::Request;
use axum::response::Response;

use super::error::ApiError;
use super::fallback::{self, ErrorPages};
use app::App;

pub(super) fn refusal(app: &App, errors: ErrorPages, request: &Request) -> Option<Response> {
    if request.method().is_safe() || app.directory.is_intact() {
        return None;
    }
    Some(fallback::answer(request, ApiError::DirectoryLost, errors.directory_lost))
}
