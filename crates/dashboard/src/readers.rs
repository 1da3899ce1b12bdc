//! Shows who reads the docs, human readers and AI readers apart: which pages, with which agents, from which referrers,
//! and which paths weren't found.

pub(super) mod evidence;
mod no_readers;
mod panels;
mod report;
mod report_query;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use store::Merge;

pub(super) use self::no_readers::import_command;
use self::report::ReaderReport;
pub(super) use self::report::{has_no_views, has_not_found};
use self::report_query::{PRESETS, ReportQuery, sort_name};
pub(super) use self::report_query::{day_of, day_start};
use super::session::{ProjectContext, ResourceId};
use super::view::{
    Chart, Link, LinkChoice, LiveLine, MergeRow, PathFilter, RangePicker, ReaderList, Readers, Section, Tile,
    with_commas,
};
use super::{PageError, findings, not_found_page, notice_page, page, page_with};
use app::App;
use app::csv;
use app::hosts::pull_number;
use app::path::query_value;

/// The rows of a list on its own page.
const PER_PAGE: u32 = 50;

/// `GET /p/{projectId}/readers`
pub(crate) async fn show(
    State(app): State<App>,
    ctx: ProjectContext,
    _: ViewsStoredHere,
    uri: Uri,
) -> Result<Response, PageError> {
    let (query, error) = ReportQuery::parse(&uri, day_of(app.clock.now()));
    let query = ReportQuery { offset: 0, ..query };
    let report = report::load_report(&app, &ctx.project.id, &query).await?;
    let is_empty = report.counts.totals.total() + report.previous.total() == 0;
    if is_empty && error.is_none() && has_no_views(&app, &ctx.project.id).await? {
        return Ok(page(&no_readers::no_readers_page(&app, &ctx)));
    }
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let open = findings::count_open(&app, &ctx.project.id).await?;
    Ok(page_with(status, &readers_page(&app, &ctx, &uri, (&query, error), (report, open))))
}

/// `GET /p/{projectId}/readers/{list}`
pub(crate) async fn list(
    State(app): State<App>,
    ctx: ProjectContext,
    _: ViewsStoredHere,
    ResourceId(name): ResourceId,
    uri: Uri,
) -> Result<Response, PageError> {
    let (query, error) = ReportQuery::parse(&uri, day_of(app.clock.now()));
    let Some(list) = panels::List::from_name(&name) else { return Ok(not_found_page("list")) };
    let (panel, has_more) = list.load_page(&app, &ctx, &query, PER_PAGE).await?;
    let own_url = format!("{}/readers/{name}", ctx.root());
    let page_href = |offset: u64| ReportQuery { offset, ..query.clone() }.href(&own_url);
    let per_page = u64::from(PER_PAGE);
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let page = ReaderList {
        shell: ctx.shell(panel.title, Section::Readers),
        picker: range_picker(&uri, &own_url, &query, error),
        previous: (query.offset > 0).then(|| page_href(query.offset.saturating_sub(per_page))),
        next: has_more.then(|| page_href(query.offset.saturating_add(per_page))),
        back: ReportQuery { offset: 0, ..query.clone() }.href(&format!("{}/readers", ctx.root())),
        complete_url: query.href(&own_url),
        api_query: api_query(&query),
        panel,
    };
    Ok(page_with(status, &page))
}

/// `GET /p/{projectId}/readers/{list}/csv`: the same file that the API returns for these days.
pub(crate) async fn csv(
    State(app): State<App>,
    ctx: ProjectContext,
    _: ViewsStoredHere,
    ResourceId(name): ResourceId,
    uri: Uri,
) -> Result<Response, PageError> {
    let (query, error) = ReportQuery::parse(&uri, day_of(app.clock.now()));
    if let Some(error) = error {
        return Ok(notice_page(StatusCode::BAD_REQUEST, "Can't create the CSV file", &error));
    }
    let Some(list) = panels::List::from_name(&name) else { return Ok(not_found_page("list")) };
    let (id, range) = (&*ctx.project.id.0, query.range());
    let all = ReportQuery { offset: 0, ..query.clone() }.list_query(u32::MAX);
    let file = match list {
        panels::List::Pages => {
            let pages = app.views.count(id, &range, &all).await?.pages;
            let row = |page: traffic::PageCount| (page.path, [page.human, page.ai, page.human + page.ai]);
            csv::counts(&app, "views", "path", pages.into_iter().map(row).collect())
        }
        panels::List::NotFound => csv::not_found(&app, app.reports.not_found(id, &range, &all).await?.pages),
        panels::List::Agents => csv::agents(&app, app.reports.agents(id, &range, &all).await?.agents),
        panels::List::Referrers => csv::referrers(&app, app.reports.referrers(id, &range, &all).await?.hosts),
    };
    let message = "The file was not created. Try again later.";
    let busy = || notice_page(StatusCode::SERVICE_UNAVAILABLE, "The server is overloaded", message);
    Ok(file.unwrap_or_else(busy))
}

/// `GET /p/{projectId}/readers/live`: the line of the page that is refreshed.
pub(crate) async fn live(
    State(app): State<App>,
    ctx: ProjectContext,
    _: ViewsStoredHere,
) -> Result<Response, PageError> {
    let live = app.reports.live(&ctx.project.id.0).await?;
    Ok(page(&live_line(&ctx, &live)))
}

/// Extractor: refuses the request if another server of the installation stores the page views.
pub(crate) struct ViewsStoredHere;

impl FromRequestParts<App> for ViewsStoredHere {
    type Rejection = Response;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Response> {
        let message =
            "Another server of this installation stores the page views. Open this page on that server.";
        let refusal =
            || notice_page(StatusCode::SERVICE_UNAVAILABLE, "Page views are on another server", message);
        app.stores_views().then_some(Self).ok_or_else(refusal)
    }
}

fn readers_page(
    app: &App,
    ctx: &ProjectContext,
    uri: &Uri,
    (query, error): (&ReportQuery, Option<String>),
    (report, open_findings): (ReaderReport, u64),
) -> Readers {
    let own_url = format!("{}/readers", ctx.root());
    let merges: Vec<_> = report.merges.iter().map(|merge| (merge.at, merge_label(merge))).collect();
    let ends = (day_start(query.to), app.clock.now());
    Readers {
        shell: ctx.shell("Readers", Section::Readers),
        picker: range_picker(uri, &own_url, query, error),
        trouble: app.views_owner.trouble().map(|sentence| format!("Page views are late: {sentence}.")),
        live: report.live.as_ref().map(|live| live_line(ctx, live)),
        tiles: tiles(query, &report),
        chart: Chart::new(&report.series.points, query.interval(), ends, &merges),
        merges: report.merges.iter().map(|merge| merge_row(ctx, merge)).collect(),
        open_findings: with_commas(open_findings),
        panels: panels::all(app, ctx, query, report),
        complete_url: ReportQuery { wait: true, ..query.clone() }.href(&own_url),
        api_query: api_query(query),
    }
}

fn tiles(query: &ReportQuery, report: &ReaderReport) -> Vec<Tile> {
    let (now, previous) = (report.counts.totals, report.previous);
    let days = u64::try_from(query.days()).unwrap_or(0);
    let tile =
        |id, name, number, previous| Tile { id, name, number, previous, days, note: "", is_fault: false };
    let whole_site = if query.path.is_some() { "whole site" } else { "" };
    let (visitors, not_found) = (report.visitors, report.not_found.as_ref());
    vec![
        tile("tile-views", "Views", Some(now.total()), previous.total()),
        tile("tile-human", "Human", Some(now.human), previous.human),
        tile("tile-ai", "AI", Some(now.ai), previous.ai),
        Tile {
            note: whole_site,
            ..tile(
                "tile-visitors",
                "Visitors",
                visitors.map(|(now, _)| now),
                visitors.map_or(0, |(_, previous)| previous),
            )
        },
        Tile {
            is_fault: true,
            ..tile(
                "tile-not-found",
                "Not found",
                not_found.map(|(now, _)| now.totals.total()),
                not_found.map_or(0, |(_, previous)| previous.total()),
            )
        },
    ]
}

fn range_picker(uri: &Uri, own_url: &str, query: &ReportQuery, error: Option<String>) -> RangePicker {
    let first_page = ReportQuery { offset: 0, wait: false, ..query.clone() };
    let preset = |(name, label): (&str, &'static str)| LinkChoice {
        href: ReportQuery { range_name: name.to_owned(), ..first_page.clone() }.href(own_url),
        label,
        chosen: query.range_name == name,
    };
    let typed = |name: &str, selected: String| match query_value(uri, name) {
        text if error.is_some() && !text.is_empty() => text,
        _ => selected,
    };
    RangePicker {
        action: own_url.to_owned(),
        presets: PRESETS.into_iter().map(preset).collect(),
        is_custom: query.range_name == "custom",
        from: typed("from", query.from.to_string()),
        to: typed("to", query.last_day().to_string()),
        sort: sort_name(query.sort),
        path: query.path.as_deref().map(|path| path_filter(own_url, &first_page, path)),
        error,
    }
}

/// The filter by a path, with links to the sections that contain the path.
fn path_filter(own_url: &str, first_page: &ReportQuery, path: &str) -> PathFilter {
    let to = |path: Option<&str>| {
        ReportQuery { path: path.map(str::to_owned), ..first_page.clone() }.href(own_url)
    };
    let ends = path.match_indices('/').map(|(end, _)| &path[..=end]);
    let sections = ends.filter(|section| section.len() > 1 && *section != path);
    let link = |section: &str| Link { href: to(Some(section)), label: section.to_owned() };
    PathFilter { path: path.to_owned(), parents: sections.map(link).collect(), clear: to(None) }
}

fn live_line(ctx: &ProjectContext, live: &traffic::Live) -> LiveLine {
    let traffic::Readers { human, ai, total } = live.readers;
    LiveLine { href: format!("{}/readers/live", ctx.root()), readers: total, human, ai }
}

fn merge_row(ctx: &ProjectContext, merge: &Merge) -> MergeRow {
    MergeRow {
        number: merge_label(merge),
        title: merge.title.clone(),
        href: super::jobs::href(&ctx.project, &merge.job),
        day: day_of(merge.at).strftime("%b %-d").to_string(),
    }
}

fn merge_label(merge: &Merge) -> String {
    pull_number(&merge.link).map_or_else(|| "merged".into(), |number| format!("#{number}"))
}

/// The query of the API for the same days and pages.
fn api_query(query: &ReportQuery) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.append_pair("dateFrom", &query.from.to_string()).append_pair("dateTo", &query.to.to_string());
    if let Some(path) = &query.path {
        pairs.append_pair("path", path);
    }
    pairs.finish()
}
