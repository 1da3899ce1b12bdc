//! Reports of page views: by time, by who reads, by where they come from, what they do not find, and
//! the last half hour.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jiff::Timestamp;
use traffic::{Interval, Readers, SeriesError, agents_version};
use wire::{
    AgentViews, Agents, ClassViews, LinkingPage, Live, MissingPage, NotFound, Point, ReclassifyResult,
    Referrer, Referrers, Series, Totals,
};

use super::analytics::{page_view, totals};
use super::asked::{self, Asked};
use super::caller::Caller;
use super::error::ApiError;
use super::query::Query;
use app::App;
use app::files;
use app::time::rfc3339;

/// `GET /v1/analytics/{projectId}/series`
pub(super) async fn series(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let steps = |query: &mut Query<'_>, _| (interval(query), asked::path(query));
    let (asked, (interval, path)) = Asked::of(&app, &caller, (&uri, &headers), steps).await?;
    let project = &caller.project.id.0;
    let series = match app.reports.series(project, &asked.range, interval, path.as_deref()).await {
        Ok(series) => series,
        Err(SeriesError::Failed(failure)) => return Err(failure.into()),
        Err(error) => return Err(ApiError::invalid("invalid_query", error.to_string())),
    };
    let points: Vec<Point> = series.points.into_iter().map(point).collect();
    if asked.csv {
        return Ok(asked.whole(points_file(&app, "series", points)?));
    }
    let series = Series { interval: interval.as_str().into(), totals: totals(series.totals), series: points };
    Ok(asked.whole(Answer(series)))
}

/// `GET /v1/analytics/{projectId}/agents`
pub(super) async fn agents(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, portion) = Asked::of(&app, &caller, (&uri, &headers), asked::portion).await?;
    let found = app.reports.agents(&caller.project.id.0, &asked.range, &portion).await;
    let found = found?;
    if asked.csv {
        let file = files::agents(&app, found.agents).ok_or(ApiError::Busy)?;
        return Ok(asked.part(file, &portion, found.has_more));
    }
    let agent = |agent: traffic::AgentCount| AgentViews {
        operator: agent.operator.map(str::to_owned),
        product: agent.product,
        class: agent.class.as_str().into(),
        views: agent.reads,
    };
    let agents = found.agents.into_iter().map(agent).collect();
    let class = |(class, views): (traffic::Class, u64)| ClassViews { class: class.as_str().into(), views };
    let classes = found.classes.into_iter().map(class).collect();
    let answer = Agents { classes, agents, has_more: found.has_more };
    Ok(asked.part(Answer(answer), &portion, found.has_more))
}

/// `GET /v1/analytics/{projectId}/referrers`
pub(super) async fn referrers(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, portion) = Asked::of(&app, &caller, (&uri, &headers), asked::portion).await?;
    let found = app.reports.referrers(&caller.project.id.0, &asked.range, &portion).await;
    let found = found?;
    if asked.csv {
        let file = files::referrers(&app, found.hosts).ok_or(ApiError::Busy)?;
        return Ok(asked.part(file, &portion, found.has_more));
    }
    let referrer = |(host, reads): (String, traffic::Tally)| {
        let Totals { human, ai, total } = totals(reads);
        Referrer { host, human, ai, total }
    };
    let answer = Referrers {
        totals: totals(found.totals),
        referrers: found.hosts.into_iter().map(referrer).collect(),
        has_more: found.has_more,
    };
    Ok(asked.part(Answer(answer), &portion, found.has_more))
}

/// `GET /v1/analytics/{projectId}/not-found`
pub(super) async fn not_found(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, portion) = Asked::of(&app, &caller, (&uri, &headers), asked::pages).await?;
    let found = app.reports.not_found(&caller.project.id.0, &asked.range, &portion).await;
    let found = found?;
    if asked.csv {
        let file = files::not_found(&app, found.pages).ok_or(ApiError::Busy)?;
        return Ok(asked.part(file, &portion, found.has_more));
    }
    let pages = found.pages.into_iter().map(missing_page).collect();
    let answer = NotFound { totals: totals(found.totals), not_found: pages, has_more: found.has_more };
    Ok(asked.part(Answer(answer), &portion, found.has_more))
}

/// `GET /v1/analytics/{projectId}/live`
pub(super) async fn live(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, ()) = Asked::of(&app, &caller, (&uri, &headers), |_, _| ()).await?;
    let live = app.reports.live(&caller.project.id.0).await?;
    let minutes: Vec<Point> = live.minutes.into_iter().map(point).collect();
    if asked.csv {
        return Ok(asked.whole(points_file(&app, "live", minutes)?));
    }
    let Readers { human, ai, total } = live.readers;
    Ok(asked.whole(Answer(Live {
        readers: Totals { human, ai, total },
        views: totals(live.totals),
        minutes,
        pages: live.pages.into_iter().map(page_view).collect(),
    })))
}

/// `POST /v1/analytics/{projectId}/reclassify`
pub(super) async fn reclassify(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (asked, ()) = Asked::of(&app, &caller, (&uri, &headers), |_, _| ()).await?;
    let from = asked.range.from().unwrap_or_default();
    let done = app.reports.reclassify(&caller.project.id.0, from).await?;
    Ok(asked.whole(Answer(ReclassifyResult {
        events: done.events,
        changed: done.changed,
        table: agents_version().into(),
        next: done.next.map(day),
    })))
}

/// The date of a moment.
pub(super) fn day(at: i64) -> String {
    moment(at).chars().take("2026-11-15".len()).collect()
}

fn interval(query: &mut Query<'_>) -> Interval {
    query.one_of("interval", &Interval::NAMES).and_then(Interval::from_name).unwrap_or(Interval::Day)
}

fn moment(at: i64) -> String {
    rfc3339(Timestamp::from_millisecond(at).unwrap_or_default())
}

fn point(point: traffic::Point) -> Point {
    let Totals { human, ai, total } = totals(point.reads);
    Point { at: moment(point.at), human, ai, total }
}

fn points_file(app: &App, name: &str, points: Vec<Point>) -> Result<Response, ApiError> {
    let rows = points.into_iter().map(|point| (point.at, [point.human, point.ai, point.total]));
    files::counts(app, name, "at", rows.collect()).ok_or(ApiError::Busy)
}

fn missing_page(page: traffic::MissingPath) -> MissingPage {
    let Totals { human, ai, total } = totals(page.requests);
    let referrers = page.referrers.into_iter();
    let referrers = referrers.map(|(referrer, views)| LinkingPage { referrer, views }).collect();
    MissingPage { path: page.path, human, ai, total, referrers }
}
