//! Reports page views by time, agent and referrer, the paths that weren't found or were redirected, and the last 30
//! minutes.
//! Also reclassifies stored views.

use axum::response::Response;
use jiff::Timestamp;
use traffic::{Interval, Readers, SeriesError, agents_version};
use wire::{
    AgentViews, Agents, AiReferrals, ClassViews, LinkingPage, Live, MissingPage, NotFound, OperatorReferrals,
    PageView, Point, ReclassifyResult, Redirected, Referrer, Referrers, Series, Totals,
};

use super::analytics::{page_view, totals};
use super::error::ApiError;
use super::query::Query;
use super::report_query::{PageParameters, ReportParameters, ReportQuery, RowParameters, parse_path_prefix};
use super::views_server;
use app::App;
use app::csv;
use app::time::rfc3339;

/// `interval` and `path`.
pub(super) struct SeriesParameters {
    interval: Interval,
    path: Option<String>,
}

impl ReportParameters for SeriesParameters {
    fn parse(query: &mut Query<'_>, _: bool) -> Self {
        let interval = query.one_of("interval", &Interval::NAMES).and_then(Interval::from_name);
        Self { interval: interval.unwrap_or(Interval::Day), path: parse_path_prefix(query) }
    }
}

/// `GET /v1/analytics/{projectId}/series`
pub(super) async fn series(query: ReportQuery<SeriesParameters>) -> Result<Response, ApiError> {
    let SeriesParameters { interval, path } = &query.parameters;
    let series = query.app.reports.series(&query.project.0, &query.range, *interval, path.as_deref()).await;
    let series = series.map_err(|error| match error {
        SeriesError::Failed(failure) => failure.into(),
        error => ApiError::invalid("invalid_query", error.to_string()),
    })?;
    let json = |series: traffic::Series| Series {
        interval: interval.as_str().into(),
        totals: totals(series.totals),
        series: series.points.into_iter().map(point).collect(),
    };
    query.respond(series, json, |app, series| points_csv(app, "series", series.points))
}

/// `GET /v1/analytics/{projectId}/agents`
pub(super) async fn agents(query: ReportQuery<RowParameters>) -> Result<Response, ApiError> {
    let list = query.parameters.as_ref();
    let report = query.app.reports.agents(&query.project.0, &query.range, list).await?;
    let has_more = report.has_more;
    let agent = |agent: traffic::AgentCount| AgentViews {
        verified: agent.verified,
        claimed: agent.claimed,
        unknown: agent.unknown(),
        operator: agent.operator.map(str::to_owned),
        product: agent.product,
        class: agent.class.as_str().into(),
        views: agent.reads,
    };
    let class = |(class, views): (traffic::Class, u64)| ClassViews { class: class.as_str().into(), views };
    let json = |report: traffic::Agents| Agents {
        classes: report.classes.into_iter().map(class).collect(),
        agents: report.agents.into_iter().map(agent).collect(),
        has_more,
    };
    query.respond_rows(report, has_more, json, |app, report| csv::agents(app, report.agents))
}

/// `GET /v1/analytics/{projectId}/referrers`
pub(super) async fn referrers(query: ReportQuery<RowParameters>) -> Result<Response, ApiError> {
    let list = query.parameters.as_ref();
    let report = query.app.reports.referrers(&query.project.0, &query.range, list).await?;
    let has_more = report.has_more;
    let referrer = |(host, views): (String, traffic::Tally)| {
        let Totals { human, ai, total } = totals(views);
        let ai_referral = traffic::assistant_operator(&host).map(str::to_owned);
        Referrer { host, ai_referral, human, ai, total }
    };
    let json = |report: traffic::Referrers| Referrers {
        totals: totals(report.totals),
        referrers: report.hosts.into_iter().map(referrer).collect(),
        has_more,
    };
    query.respond_rows(report, has_more, json, |app, report| csv::referrers(app, report.hosts))
}

/// `GET /v1/analytics/{projectId}/ai-referrals`
pub(super) async fn ai_referrals(query: ReportQuery) -> Result<Response, ApiError> {
    let report = query.app.reports.ai_referrals(&query.project.0, &query.range).await?;
    let operator = |counts: traffic::AiReferrals| OperatorReferrals {
        operator: counts.operator.into(),
        views: counts.reads,
        referrals: counts.referrals,
        views_per_referral: (counts.referrals > 0).then(|| counts.reads as f64 / counts.referrals as f64),
    };
    let json = |report: Vec<traffic::AiReferrals>| AiReferrals {
        operators: report.into_iter().map(operator).collect(),
    };
    query.respond(report, json, csv::ai_referrals)
}

/// `GET /v1/analytics/{projectId}/not-found`
pub(super) async fn not_found(query: ReportQuery<PageParameters>) -> Result<Response, ApiError> {
    let list = query.parameters.as_ref();
    let report = query.app.reports.not_found(&query.project.0, &query.range, list).await?;
    let has_more = report.has_more;
    let json = |report: traffic::NotFound| NotFound {
        totals: totals(report.totals),
        not_found: report.pages.into_iter().map(missing_page).collect(),
        has_more,
    };
    query.respond_rows(report, has_more, json, |app, report| csv::not_found(app, report.pages))
}

/// `GET /v1/analytics/{projectId}/redirected`
pub(super) async fn redirected(query: ReportQuery<PageParameters>) -> Result<Response, ApiError> {
    let list = query.parameters.as_ref();
    let report = query.app.reports.redirected(&query.project.0, &query.range, list).await?;
    let has_more = report.has_more;
    let page = |(path, requests): (String, traffic::Tally)| {
        let Totals { human, ai, total } = totals(requests);
        PageView { path, human, ai, total }
    };
    let json = |report: traffic::Redirected| Redirected {
        totals: totals(report.totals),
        redirected: report.pages.into_iter().map(page).collect(),
        has_more,
    };
    query.respond_rows(report, has_more, json, |app, report| csv::redirected(app, report.pages))
}

/// `GET /v1/analytics/{projectId}/live`
pub(super) async fn live(query: ReportQuery) -> Result<Response, ApiError> {
    let report = query.app.reports.live(&query.project.0).await?;
    let json = |report: traffic::Live| {
        let Readers { human, ai, total } = report.readers;
        Live {
            readers: Totals { human, ai, total },
            views: totals(report.totals),
            minutes: report.minutes.into_iter().map(point).collect(),
            pages: report.pages.into_iter().map(page_view).collect(),
        }
    };
    query.respond(report, json, |app, report| points_csv(app, "live", report.minutes))
}

/// `POST /v1/analytics/{projectId}/reclassify`
pub(super) async fn reclassify(query: ReportQuery) -> Result<Response, ApiError> {
    let from = query.range.from().unwrap_or_default();
    let progress = query.app.reports.reclassify(&query.project.0, from).await?;
    views_server::confirm(&query.app).await?;
    Ok(query.respond_json(ReclassifyResult {
        events: progress.events,
        changed: progress.changed,
        table: agents_version().into(),
        next: progress.next.map(format_date),
    }))
}

/// The date of a moment in milliseconds since 1970, such as `2026-11-15`.
pub(super) fn format_date(at: i64) -> String {
    format_moment(at).chars().take("2026-11-15".len()).collect()
}

fn format_moment(at: i64) -> String {
    rfc3339(Timestamp::from_millisecond(at).unwrap_or_default())
}

fn point(point: traffic::Point) -> Point {
    let Totals { human, ai, total } = totals(point.reads);
    Point { at: format_moment(point.at), human, ai, total }
}

fn points_csv(app: &App, name: &str, points: impl IntoIterator<Item = traffic::Point>) -> Option<Response> {
    let rows = points.into_iter().map(point).map(|point| (point.at, [point.human, point.ai, point.total]));
    csv::counts(app, name, "at", rows.collect())
}

fn missing_page(page: traffic::MissingPath) -> MissingPage {
    let Totals { human, ai, total } = totals(page.requests);
    let referrers = page.referrers.into_iter();
    let referrers = referrers.map(|(referrer, views)| LinkingPage { referrer, views }).collect();
    MissingPage { path: page.path, human, ai, total, referrers }
}
