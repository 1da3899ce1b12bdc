//! Refuses what writes while the data directory is not the one that the server opened: nobody would
//! find what it acknowledged.

use axum::extract::Request;
use axum::response::Response;

use super::error::ApiError;
use super::lost;
use crate::app::App;
use crate::dashboard;

pub(super) fn refusal(app: &App, request: &Request) -> Option<Response> {
    if request.method().is_safe() || app.directory.is_intact() {
        return None;
    }
    Some(lost::answer(request, ApiError::DirectoryLost, dashboard::directory_lost))
}
