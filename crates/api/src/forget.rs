//! Removes the views of junk paths.

use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use store::NewAuditEntry;
use traffic::PathGlob;
use wire::{ForgetPaths, RemovalResult};

use super::body::Json;
use super::caller::Caller;
use super::error::ApiError;
use super::limits::ReadLimitCheck;
use super::query::Query;
use super::report_query::{ReportParameters, ReportQuery};
use super::reports::format_date;
use super::views_server;
use app::App;

/// Refuses `dateTo`.
struct ForgetParameters;

impl ReportParameters for ForgetParameters {
    fn parse(query: &mut Query<'_>, _: bool) -> Self {
        if query.get("dateTo").is_some() {
            query.add_problem("dateTo isn't supported; views are removed from dateFrom up to now".into());
        }
        Self
    }
}

/// `POST /v1/analytics/{projectId}/forget`
pub(super) async fn forget(
    State(app): State<App>,
    caller: Caller,
    _: ReadLimitCheck,
    uri: Uri,
    headers: HeaderMap,
    Json(body, _): Json<ForgetPaths>,
) -> Result<Response, ApiError> {
    let invalid = |error: traffic::BadGlob| ApiError::invalid("invalid_body", error.to_string());
    let paths = PathGlob::parse(&body.path).map_err(invalid)?;
    let query = ReportQuery::<ForgetParameters>::parse(&app, &caller.project, &uri, &headers).await?;
    let (from, dry_run) = (query.range.from().unwrap_or(i64::MIN), body.dry_run);
    if !dry_run {
        // Recorded before the removal, because an interrupted removal has removed something too.
        record_audit(&app, &caller, paths.as_str()).await?;
    }
    let progress = app.reports.forget_paths(&query.project.0, &paths, from, dry_run).await?;
    views_server::confirm(&app).await?;
    if progress.views + progress.pages > 0 && !dry_run {
        app.needs_checkpoint.store(true, Ordering::Relaxed);
    }
    let next = progress.next.map(format_date);
    Ok(query.respond_json(RemovalResult { views: progress.views, pages: progress.pages, next }))
}

async fn record_audit(app: &App, caller: &Caller, glob: &str) -> Result<(), ApiError> {
    let entry = NewAuditEntry {
        organization: caller.project.organization.clone(),
        who: caller.actor.to_string(),
        what: "removed page views by path".into(),
        about: format!("{glob} of {}", caller.project.name),
    };
    Ok(app.people.record_audit(&entry).await?)
}
