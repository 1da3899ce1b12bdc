//! Removes the views of junk paths.

use std::sync::atomic::Ordering;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use store::NewAuditEntry;
use traffic::PathGlob;
use wire::{ForgetPaths, RemovalResult};

use super::asked::Asked;
use super::body::Json;
use super::caller::Caller;
use super::error::ApiError;
use super::limits::RoomForRead;
use super::reports::day;
use app::App;

/// `POST /v1/analytics/{projectId}/forget`
pub(super) async fn forget(
    State(app): State<App>,
    caller: Caller,
    _: RoomForRead,
    uri: Uri,
    headers: HeaderMap,
    Json(body, _): Json<ForgetPaths>,
) -> Result<Response, ApiError> {
    let invalid = |error: traffic::BadGlob| ApiError::invalid("invalid_body", error.to_string());
    let paths = PathGlob::parse(&body.path).map_err(invalid)?;
    let (asked, ()) = Asked::of(&app, &caller, (&uri, &headers), |query, _| {
        if query.text("dateTo").is_some() {
            query.problem("dateTo: views are removed from dateFrom on, up to now; leave it out".into());
        }
    })
    .await?;
    let (from, dry_run) = (asked.range.from().unwrap_or(i64::MIN), body.dry_run);
    let project = &caller.project.id.0;
    if !dry_run {
        // Before the removal: one that is cut off has happened, too.
        note(&app, &caller, paths.as_str()).await?;
    }
    let done = app.reports.forget_paths(project, &paths, from, dry_run).await?;
    if done.views + done.pages > 0 && !dry_run {
        app.needs_checkpoint.store(true, Ordering::Relaxed);
    }
    let answer = RemovalResult { views: done.views, pages: done.pages, next: done.next.map(day) };
    Ok(asked.whole(Answer(answer)))
}

async fn note(app: &App, caller: &Caller, glob: &str) -> Result<(), ApiError> {
    let deed = NewAuditEntry {
        organization: caller.project.organization.clone(),
        who: caller.actor.to_string(),
        what: "removed page views by path".into(),
        about: format!("{glob} of {}", caller.project.name),
    };
    Ok(app.people.record_audit(&deed).await?)
}
