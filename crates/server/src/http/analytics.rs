//! Page views and visitors: site totals and counts a page, human and AI apart.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use store::Usage;
use traffic::{Counts, Portion, Range, Readers, Visitors, bound};
use wire::{PageView, PageViews, PageVisitors, Totals};

use super::caller::Caller;
use super::error::ApiError;
use super::limits;
use super::query::Query;
use crate::app::App;

/// `GET /v1/analytics/{projectId}/views`
pub(super) async fn views(State(app): State<App>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    let asked = Asked::of(&app, &caller, &uri).await?;
    let counts = app.views.count(&caller.project.id.0, &asked.range, &asked.portion()).await;
    let views = page_views(counts.map_err(anyhow::Error::from)?);
    let has_more = views.has_more;
    Ok(asked.answer(Answer(views), has_more))
}

/// `GET /v1/analytics/{projectId}/visitors`
pub(super) async fn visitors(State(app): State<App>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    let asked = Asked::of(&app, &caller, &uri).await?;
    let counts = app.views.visitors(&caller.project.id.0, &asked.range, &asked.portion()).await;
    let visitors = page_visitors(counts.map_err(anyhow::Error::from)?);
    let has_more = visitors.has_more;
    Ok(asked.answer(Answer(visitors), has_more))
}

/// What questions about pages have in common: when, and which part of the pages. Asking one counts.
struct Asked<'a> {
    query: Query<'a>,
    range: Range,
    limit: i64,
    offset: i64,
    usage: Usage,
}

impl<'a> Asked<'a> {
    async fn of(app: &App, caller: &Caller, uri: &'a Uri) -> Result<Self, ApiError> {
        let reads = limits::reads(app, &caller.project);
        limits::room(app, &reads).await?;
        let mut query = Query::of(uri);
        let limit = query.whole("limit", 1, 250, 50);
        let offset = query.whole("offset", 0, i64::MAX, 0);
        let range = range(&mut query)?;
        let usage = app.rates.count(&reads).await?.map_err(ApiError::LimitReached)?;
        Ok(Self { query, range, limit, offset, usage })
    }

    fn portion(&self) -> Portion {
        Portion::new(self.limit as u32, self.offset.unsigned_abs())
    }

    fn answer(&self, body: impl IntoResponse, has_more: bool) -> Response {
        let mut response = body.into_response();
        self.query.link(response.headers_mut(), self.limit, self.offset, has_more);
        limits::told(response.headers_mut(), &self.usage);
        response
    }
}

/// `dateFrom` and `dateTo`, and with them whatever else was wrong with the query.
fn range(query: &mut Query<'_>) -> Result<Range, ApiError> {
    let mut ends = [None, None];
    for (end, name) in ends.iter_mut().zip(["dateFrom", "dateTo"]) {
        match query.text(name).map(bound).transpose() {
            Ok(moment) => *end = moment,
            Err(error) => query.problem(format!("{name}: {error}")),
        }
    }
    let range = Range::new(ends[0], ends[1]);
    if let Err(error) = &range {
        query.problem(error.to_string());
    }
    query.done()?;
    range.map_err(|error| ApiError::invalid("invalid_query", error.to_string()))
}

fn page_views(counts: Counts) -> PageViews {
    let view = |page: traffic::PageCount| PageView {
        total: page.human + page.ai,
        path: page.path,
        human: page.human,
        ai: page.ai,
    };
    PageViews {
        totals: Totals {
            human: counts.totals.human,
            ai: counts.totals.ai,
            total: counts.totals.human + counts.totals.ai,
        },
        views: counts.pages.into_iter().map(view).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions() {
        #[track_caller]
        fn check(text: &str, expected: Result<(i64, i64), &[&str]>) {
            let uri: Uri = format!("/views?{text}").parse().unwrap();
            let mut query = Query::of(&uri);
            let asked = (query.whole("limit", 1, 250, 50), query.whole("offset", 0, i64::MAX, 0));
            let got = range(&mut query).map(|_| asked).map_err(|error| match error {
                ApiError::Invalid { details, .. } => details,
                other => panic!("{other}"),
            });
            assert_eq!(got, expected.map_err(|all| all.iter().map(|s| s.to_string()).collect()));
        }
        check("", Ok((50, 0)));
        check("limit=250&offset=1000000&other=x", Ok((250, 1_000_000)));
        check("limit=0", Err(&["limit must be between 1 and 250, got 0"]));
        check("limit=251", Err(&["limit must be between 1 and 250, got 251"]));
        check("limit=ten", Err(&["limit must be a whole number, between 1 and 250"]));
        check("limit=", Err(&["limit must be a whole number, between 1 and 250"]));
        check("offset=-1", Err(&["offset must be at least 0, got -1"]));
        check("dateFrom=2026-03-01&dateTo=2026-03-01", Ok((50, 0)));
        check("dateFrom=2026-03-01T00:00:00%2B05:30", Ok((50, 0)));
        check("dateFrom=2026-03-01T00:00:00+05:30", Ok((50, 0)));
        check(
            "limit=x&offset=99999999999999999999",
            Err(&[
                "limit must be a whole number, between 1 and 250",
                "offset must be a whole number, at least 0",
            ]),
        );
    }
}
