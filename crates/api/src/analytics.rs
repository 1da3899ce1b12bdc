//! Reports page views and visitors: totals, and counts per page, with human and AI readers apart.

use axum::response::Response;
use traffic::{Counts, Readers, Tally, Visitors};
use wire::{PageView, PageViews, PageVisitors, Totals};

use super::error::ApiError;
use super::report_query::{PageParameters, ReportQuery};
use app::App;
use app::csv;

/// `GET /v1/analytics/{projectId}/views`
pub(super) async fn views(query: ReportQuery<PageParameters>) -> Result<Response, ApiError> {
    let list = query.parameters.as_ref();
    let counts = query.app.views.count(&query.project.0, &query.range, list).await?;
    let has_more = counts.has_more;
    query
        .respond_rows(counts, has_more, page_views, |app, counts| csv(app, "views", page_views(counts).views))
}

/// `GET /v1/analytics/{projectId}/visitors`
pub(super) async fn visitors(query: ReportQuery<PageParameters>) -> Result<Response, ApiError> {
    let list = query.parameters.as_ref();
    let visitors = query.app.views.visitors(&query.project.0, &query.range, list).await?;
    let has_more = visitors.has_more;
    query.respond_rows(visitors, has_more, page_visitors, |app, visitors| {
        csv(app, "visitors", page_visitors(visitors).visitors)
    })
}

fn csv(app: &App, name: &str, pages: Vec<PageView>) -> Option<Response> {
    let rows = pages.into_iter().map(|page| (page.path, [page.human, page.ai, page.total]));
    csv::counts(app, name, "path", rows.collect())
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
