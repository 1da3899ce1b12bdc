//! Readers: who reads the docs, people and machines apart; what they read, with what, from where, and
//! what they do not find.

mod asked;
mod counted;
pub(super) mod evidence;
mod panels;
mod start;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use store::Merge;

use self::asked::{Asked, PRESETS, day_of, sort_name};
use self::counted::Counted;
use super::session::{InProject, Named};
use super::view::{
    Chart, Choice, Filter, Link, LiveLine, MergeRow, Picker, ReaderList, Readers, Section, Tile,
};
use super::{Oops, missing, notice, page, page_with};
use app::App;
use app::files;
use app::hosts::number;
use app::path::query_value;

/// Rows of a list on a page of its own.
const PER_PAGE: u32 = 50;

/// `GET /p/{projectId}/readers`
pub(crate) async fn show(
    State(app): State<App>,
    at: InProject,
    _: KeptHere,
    uri: Uri,
) -> Result<Response, Oops> {
    let (asked, error) = Asked::of(&uri, day_of(app.clock.now()));
    let asked = Asked { offset: 0, ..asked };
    let counted = counted::count(&app, &at.project.id, &asked).await?;
    let nobody = counted.counts.totals.total() + counted.before.total() == 0;
    if nobody && error.is_none() && counted::is_new(&app, &at.project.id).await? {
        return Ok(page(&start::page(&app, &at)));
    }
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(page_with(status, &readers(&app, &at, &uri, (&asked, error), counted)))
}

/// `GET /p/{projectId}/readers/{list}`
pub(crate) async fn list(
    State(app): State<App>,
    at: InProject,
    _: KeptHere,
    Named(name): Named,
    uri: Uri,
) -> Result<Response, Oops> {
    let (asked, error) = Asked::of(&uri, day_of(app.clock.now()));
    let Some(list) = panels::List::named(&name) else { return Ok(missing("list")) };
    let (panel, has_more) = list.whole(&app, &at, &asked, PER_PAGE).await?;
    let own = format!("{}/readers/{name}", at.root());
    let turn = |offset: u64| Asked { offset, ..asked.clone() }.at(&own);
    let per_page = u64::from(PER_PAGE);
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let page = ReaderList {
        shell: at.shell(panel.title, Section::Readers),
        picker: picker(&uri, &own, &asked, error),
        newer: (asked.offset > 0).then(|| turn(asked.offset.saturating_sub(per_page))),
        older: has_more.then(|| turn(asked.offset.saturating_add(per_page))),
        back: Asked { offset: 0, ..asked.clone() }.at(&format!("{}/readers", at.root())),
        whole: asked.at(&own),
        query: api_query(&asked),
        panel,
    };
    Ok(page_with(status, &page))
}

/// `GET /p/{projectId}/readers/{list}/csv`: the bytes that the API answers for these days.
pub(crate) async fn file(
    State(app): State<App>,
    at: InProject,
    _: KeptHere,
    Named(name): Named,
    uri: Uri,
) -> Result<Response, Oops> {
    let (asked, error) = Asked::of(&uri, day_of(app.clock.now()));
    if let Some(error) = error {
        return Ok(notice(StatusCode::BAD_REQUEST, "There is no such file", &error));
    }
    let Some(list) = panels::List::named(&name) else { return Ok(missing("list")) };
    let (id, range) = (&*at.project.id.0, asked.now());
    let all = Asked { offset: 0, ..asked.clone() }.portion(u32::MAX);
    let file = match list {
        panels::List::Pages => {
            let pages = app.views.count(id, &range, &all).await?.pages;
            let row = |page: traffic::PageCount| (page.path, [page.human, page.ai, page.human + page.ai]);
            files::counts(&app, "views", "path", pages.into_iter().map(row).collect())
        }
        panels::List::NotFound => {
            files::not_found(&app, app.reports.not_found(id, &range, &all).await?.pages)
        }
        panels::List::Agents => files::agents(&app, app.reports.agents(id, &range, &all).await?.agents),
        panels::List::Referrers => {
            files::referrers(&app, app.reports.referrers(id, &range, &all).await?.hosts)
        }
    };
    let busy = || notice(StatusCode::SERVICE_UNAVAILABLE, "The server cannot keep up", "Try it again soon.");
    Ok(file.unwrap_or_else(busy))
}

/// `GET /p/{projectId}/readers/live`: one line of the page.
pub(crate) async fn live(State(app): State<App>, at: InProject, _: KeptHere) -> Result<Response, Oops> {
    let live = app.reports.live(&at.project.id.0).await?;
    Ok(page(&live_line(&at, &live)))
}

/// Page views are kept by one server of several: this one.
pub(crate) struct KeptHere;

impl FromRequestParts<App> for KeptHere {
    type Rejection = Response;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Response> {
        let message = "Page views are kept by another server of this installation: open this page there.";
        let elsewhere = || notice(StatusCode::SERVICE_UNAVAILABLE, "Counted elsewhere", message);
        app.keeps_views().then_some(Self).ok_or_else(elsewhere)
    }
}

fn readers(
    app: &App,
    at: &InProject,
    uri: &Uri,
    (asked, error): (&Asked, Option<String>),
    counted: Counted,
) -> Readers {
    let own = format!("{}/readers", at.root());
    let merges: Vec<_> = counted.merges.iter().map(|merge| (merge.at, sign(merge))).collect();
    let ends = (asked::start(asked.to), app.clock.now());
    Readers {
        shell: at.shell("Readers", Section::Readers),
        picker: picker(uri, &own, asked, error),
        live: counted.live.as_ref().map(|live| live_line(at, live)),
        tiles: tiles(asked, &counted),
        chart: Chart::new(&counted.series.points, asked.interval(), ends, &merges),
        merges: counted.merges.iter().map(|merge| merge_row(at, merge)).collect(),
        panels: panels::all(app, at, asked, counted),
        whole: Asked { wait: true, ..asked.clone() }.at(&own),
        query: api_query(asked),
    }
}

fn tiles(asked: &Asked, counted: &Counted) -> Vec<Tile> {
    let (now, before) = (counted.counts.totals, counted.before);
    let tile = |id, name, number, before| Tile { id, name, number, before, note: "", fault: false };
    let whole_site = if asked.path.is_some() { "whole site" } else { "" };
    let (visitors, missing) = (counted.visitors, counted.not_found.as_ref());
    vec![
        tile("tile-views", "Views", Some(now.total()), before.total()),
        tile("tile-human", "Human", Some(now.human), before.human),
        tile("tile-ai", "AI", Some(now.ai), before.ai),
        Tile {
            note: whole_site,
            ..tile(
                "tile-visitors",
                "Visitors",
                visitors.map(|both| both.0),
                visitors.map_or(0, |both| both.1),
            )
        },
        Tile {
            fault: true,
            ..tile(
                "tile-not-found",
                "Not found",
                missing.map(|(found, _)| found.totals.total()),
                missing.map_or(0, |(_, before)| before.total()),
            )
        },
    ]
}

fn picker(uri: &Uri, own: &str, asked: &Asked, error: Option<String>) -> Picker {
    let fresh = Asked { offset: 0, wait: false, ..asked.clone() };
    let preset = |(name, label): (&str, &'static str)| Choice {
        href: Asked { range: name.to_owned(), ..fresh.clone() }.at(own),
        label,
        chosen: asked.range == name,
    };
    let typed = |name: &str, meant: String| match query_value(uri, name) {
        text if error.is_some() && !text.is_empty() => text,
        _ => meant,
    };
    Picker {
        action: own.to_owned(),
        presets: PRESETS.into_iter().map(preset).collect(),
        custom: asked.range == "custom",
        from: typed("from", asked.from.to_string()),
        to: typed("to", asked.last_day().to_string()),
        sort: sort_name(asked.sort),
        path: asked.path.as_deref().map(|path| filter(own, &fresh, path)),
        error,
    }
}

/// With a way to each of the sections that the path is in.
fn filter(own: &str, fresh: &Asked, path: &str) -> Filter {
    let to = |path: Option<&str>| Asked { path: path.map(str::to_owned), ..fresh.clone() }.at(own);
    let ends = path.match_indices('/').map(|(end, _)| &path[..=end]);
    let sections = ends.filter(|section| section.len() > 1 && *section != path);
    let link = |section: &str| Link { href: to(Some(section)), label: section.to_owned() };
    Filter { path: path.to_owned(), above: sections.map(link).collect(), clear: to(None) }
}

fn live_line(at: &InProject, live: &traffic::Live) -> LiveLine {
    let traffic::Readers { human, ai, total } = live.readers;
    LiveLine { href: format!("{}/readers/live", at.root()), readers: total, human, ai }
}

fn merge_row(at: &InProject, merge: &Merge) -> MergeRow {
    MergeRow {
        number: sign(merge),
        title: merge.title.clone(),
        href: super::jobs::href(&at.project, &merge.job),
        day: day_of(merge.at).strftime("%b %-d").to_string(),
    }
}

fn sign(merge: &Merge) -> String {
    number(&merge.link).map_or_else(|| "merged".into(), |number| format!("#{number}"))
}

/// The same days and pages, as the API is asked for them.
fn api_query(asked: &Asked) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("dateFrom", &asked.from.to_string()).append_pair("dateTo", &asked.to.to_string());
    if let Some(path) = &asked.path {
        query.append_pair("path", path);
    }
    query.finish()
}
