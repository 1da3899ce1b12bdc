//! Page views and visitors: site totals and counts a page, human and AI apart.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use traffic::{Counts, Readers, Tally, Visitors};
use wire::{PageView, PageViews, PageVisitors, Totals};

use super::asked::{Asked, pages};
use super::caller::Caller;
use super::error::ApiError;
use app::App;
use app::files;

/// `GET /v1/analytics/{projectId}/views`
pub(super) async fn views(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, portion) = Asked::of(&app, &caller, (&uri, &headers), pages).await?;
    let counts = app.views.count(&caller.project.id.0, &asked.range, &portion).await;
    let views = page_views(counts?);
    let has_more = views.has_more;
    if asked.csv {
        return Ok(asked.part(file(&app, "views", views.views)?, &portion, has_more));
    }
    Ok(asked.part(Answer(views), &portion, has_more))
}

/// `GET /v1/analytics/{projectId}/visitors`
pub(super) async fn visitors(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, portion) = Asked::of(&app, &caller, (&uri, &headers), pages).await?;
    let counts = app.views.visitors(&caller.project.id.0, &asked.range, &portion).await;
    let visitors = page_visitors(counts?);
    let has_more = visitors.has_more;
    if asked.csv {
        return Ok(asked.part(file(&app, "visitors", visitors.visitors)?, &portion, has_more));
    }
    Ok(asked.part(Answer(visitors), &portion, has_more))
}

fn file(app: &App, name: &str, pages: Vec<PageView>) -> Result<Response, ApiError> {
    let rows = pages.into_iter().map(|page| (page.path, [page.human, page.ai, page.total]));
    files::counts(app, name, "path", rows.collect()).ok_or(ApiError::Busy)
}

pub(super) fn totals(tally: Tally) -> Totals {
    Totals { human: tally.human, ai: tally.ai, total: tally.total() }
}

pub(super) fn page_view(page: traffic::PageCount) -> PageView {
    PageView { total: page.human + page.ai, path: page.path, human: page.human, ai: page.ai }
}

fn page_views(counts: Counts) -> PageViews {
    PageViews {
        totals: totals(counts.totals),
        views: counts.pages.into_iter().map(page_view).collect(),
        has_more: counts.has_more,
    }
}

fn page_visitors(visitors: Visitors) -> PageVisitors {
    let page = |(path, Readers { human, ai, total })| PageView { path, human, ai, total };
    let Readers { human, ai, total } = visitors.totals;
    PageVisitors {
        totals: Totals { human, ai, total },
        visitors: visitors.pages.into_iter().map(page).collect(),
        has_more: visitors.has_more,
    }
}
