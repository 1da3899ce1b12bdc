//! Runs `docwright views`, `visitors`, `report` and `reclassify`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::{
    AgentViews, Agents, AiReferrals, Live, MissingPage, NotFound, OperatorReferrals, PageView, PageViews,
    PageVisitors, Point, ReclassifyResult, Redirected, Referrer, Referrers, Series, Totals,
};

use super::{Client, encode_segment, outcomes};
use crate::args::{
    DateRange, LiveReport, OutputFormat, Pagination, Reclassify, ReferralReport, Report, ReportCommand,
    SeriesReport, Views,
};
use crate::output;
use crate::settings::Sources;

pub(super) type Query = Vec<(&'static str, String)>;

pub(crate) async fn views(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let request = ReportRequest::for_pages("views", &args);
    if let Some(response) = request.send::<PageViews>(sources, &args.format).await? {
        print_pages(&response.totals, response.views)?;
        print_next_offset(response.has_more, "pages", &args.pagination);
    }
    Ok(())
}

pub(crate) async fn visitors(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let request = ReportRequest::for_pages("visitors", &args);
    if let Some(response) = request.send::<PageVisitors>(sources, &args.format).await? {
        print_pages(&response.totals, response.visitors)?;
        print_next_offset(response.has_more, "pages", &args.pagination);
    }
    Ok(())
}

pub(crate) async fn report(sources: &Sources, command: ReportCommand) -> anyhow::Result<()> {
    match command {
        ReportCommand::Series(args) => series(sources, args).await,
        ReportCommand::Agents(args) => agents(sources, args).await,
        ReportCommand::Referrers(args) => referrers(sources, args).await,
        ReportCommand::AiReferrals(args) => ai_referrals(sources, args).await,
        ReportCommand::NotFound(args) => not_found(sources, args).await,
        ReportCommand::Redirected(args) => redirected(sources, args).await,
        ReportCommand::Live(args) => live(sources, args).await,
        ReportCommand::Effect(args) => outcomes::effect(sources, args).await,
        ReportCommand::Weekly(args) => outcomes::weekly(sources, args).await,
    }
}

async fn series(sources: &Sources, args: SeriesReport) -> anyhow::Result<()> {
    let more = query_of([("interval", args.interval), ("path", args.path)]);
    let request = ReportRequest::new("series", &args.project, [date_query(&args.dates), more].concat());
    let Some(response) = request.send::<Series>(sources, &args.format).await? else { return Ok(()) };
    let row = |point: Point| count_row(point.at, point.human, point.ai, point.total);
    output::print_table(["FROM", "HUMAN", "AI", "TOTAL"], response.series.into_iter().map(row))
}

async fn agents(sources: &Sources, args: Report) -> anyhow::Result<()> {
    let request = ReportRequest::for_report("agents", &args);
    let Some(response) = request.send::<Agents>(sources, &args.format).await? else { return Ok(()) };
    let row = |agent: AgentViews| {
        let [all, verified, claimed, unknown] =
            [agent.views, agent.verified, agent.claimed, agent.unknown].map(|views| views.to_string());
        [agent.product, agent.operator.unwrap_or_default(), agent.class, all, verified, claimed, unknown]
    };
    let head = ["PRODUCT", "OPERATOR", "CLASS", "VIEWS", "VERIFIED VIEWS", "CLAIMED VIEWS", "UNKNOWN VIEWS"];
    output::print_table(head, response.agents.into_iter().map(row))?;
    print_next_offset(response.has_more, "products", &args.pagination);
    Ok(())
}

async fn referrers(sources: &Sources, args: Report) -> anyhow::Result<()> {
    let request = ReportRequest::for_report("referrers", &args);
    let Some(response) = request.send::<Referrers>(sources, &args.format).await? else { return Ok(()) };
    let row = |from: Referrer| count_row(from.host, from.human, from.ai, from.total);
    output::print_table(["HOST", "HUMAN", "AI", "TOTAL"], response.referrers.into_iter().map(row))?;
    print_next_offset(response.has_more, "hosts", &args.pagination);
    Ok(())
}

async fn ai_referrals(sources: &Sources, args: ReferralReport) -> anyhow::Result<()> {
    let request = ReportRequest::new("ai-referrals", &args.project, date_query(&args.dates));
    let Some(response) = request.send::<AiReferrals>(sources, &args.format).await? else { return Ok(()) };
    let row = |counts: OperatorReferrals| {
        let rate = counts.views_per_referral.map_or_else(String::new, |rate| format!("{rate:.1}"));
        [counts.operator, counts.views.to_string(), counts.referrals.to_string(), rate]
    };
    let head = ["OPERATOR", "VIEWS", "REFERRALS", "VIEWS PER REFERRAL"];
    output::print_table(head, response.operators.into_iter().map(row))
}

async fn live(sources: &Sources, args: LiveReport) -> anyhow::Result<()> {
    let request = ReportRequest::new("live", &args.project, Vec::new());
    let Some(response) = request.send::<Live>(sources, &args.format).await? else { return Ok(()) };
    print_pages(&response.views, response.pages)?;
    let Totals { human, ai, .. } = response.readers;
    let readers =
        |count: u64, kind: &str| format!("{count} {kind} reader{}", if count == 1 { "" } else { "s" });
    output::print_message(format!(
        "In the last 30 minutes: {}, {}",
        readers(human, "human"),
        readers(ai, "AI")
    ));
    Ok(())
}

async fn not_found(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let request = ReportRequest::for_pages("not-found", &args);
    let Some(response) = request.send::<NotFound>(sources, &args.format).await? else { return Ok(()) };
    let rows = response.not_found.into_iter().map(|page: MissingPage| {
        let from = page.referrers.first().map(|from| from.referrer.clone()).unwrap_or_default();
        let [path, human, ai, total] = count_row(page.path, page.human, page.ai, page.total);
        [path, human, ai, total, from]
    });
    output::print_table(["PAGE", "HUMAN", "AI", "TOTAL", "MOST FROM"], rows)?;
    print_next_offset(response.has_more, "pages", &args.pagination);
    Ok(())
}

async fn redirected(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let request = ReportRequest::for_pages("redirected", &args);
    let Some(response) = request.send::<Redirected>(sources, &args.format).await? else { return Ok(()) };
    let row = |page: PageView| count_row(page.path, page.human, page.ai, page.total);
    output::print_table(["PATH", "HUMAN", "AI", "TOTAL"], response.redirected.into_iter().map(row))?;
    print_next_offset(response.has_more, "paths", &args.pagination);
    Ok(())
}

/// Each piece is complete when the server answers, so an interrupted command can be run again.
pub(crate) async fn reclassify(sources: &Sources, args: Reclassify) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let path = format!("/v1/analytics/{}/reclassify", encode_segment(&args.project));
    let mut done = ReclassifyResult { events: 0, changed: 0, table: String::new(), next: args.from };
    loop {
        let piece: ReclassifyResult =
            client.post_without_body(&path, &query_of([("dateFrom", done.next)])).await?;
        done = ReclassifyResult {
            events: done.events + piece.events,
            changed: done.changed + piece.changed,
            ..piece
        };
        match &done.next {
            Some(day) => output::print_message(format!("Checked {} views before {day}", done.events)),
            None => break,
        }
    }
    if args.json {
        return output::print_json(&done);
    }
    let ReclassifyResult { events, changed, table, .. } = done;
    output::print_line(format!("Reclassified {changed} of {events} views with the table of {table}"))
}

struct ReportRequest {
    path: String,
    query: Query,
}

impl ReportRequest {
    fn new(report: &str, project: &str, query: Query) -> Self {
        Self { path: format!("/v1/analytics/{}/{report}", encode_segment(project)), query }
    }

    fn for_report(report: &str, args: &Report) -> Self {
        Self::new(report, &args.project, [date_query(&args.dates), page_query(&args.pagination)].concat())
    }

    fn for_pages(report: &str, args: &Views) -> Self {
        let more = query_of([("path", args.path.clone()), ("sort", args.sort.clone())]);
        Self::new(
            report,
            &args.project,
            [date_query(&args.dates), more, page_query(&args.pagination)].concat(),
        )
    }

    /// Sends the request. With `--json` or `--csv` it prints the response and returns `None`.
    async fn send<T: DeserializeOwned + Serialize>(
        mut self,
        sources: &Sources,
        format: &OutputFormat,
    ) -> anyhow::Result<Option<T>> {
        let client = Client::from_settings(sources)?;
        if format.csv {
            self.query.push(("format", "csv".into()));
            output::print_bytes(client.get_text(&self.path, &self.query).await?.as_bytes())?;
            return Ok(None);
        }
        let response: T = client.get(&self.path, &self.query).await?;
        if format.json {
            output::print_json(&response)?;
            return Ok(None);
        }
        Ok(Some(response))
    }
}

pub(super) fn query_of<const N: usize>(pairs: [(&'static str, Option<String>); N]) -> Query {
    pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

pub(super) fn date_query(dates: &DateRange) -> Query {
    query_of([("dateFrom", dates.from.clone()), ("dateTo", dates.to.clone())])
}

fn page_query(pagination: &Pagination) -> Query {
    query_of([
        ("limit", pagination.limit.map(|limit| limit.to_string())),
        ("offset", pagination.offset.map(|offset| offset.to_string())),
    ])
}

fn count_row(name: String, human: u64, ai: u64, total: u64) -> [String; 4] {
    [name, human.to_string(), ai.to_string(), total.to_string()]
}

fn print_pages(totals: &Totals, pages: Vec<PageView>) -> anyhow::Result<()> {
    let all = count_row("(all pages)".into(), totals.human, totals.ai, totals.total);
    let pages = pages.into_iter().map(|page| count_row(page.path, page.human, page.ai, page.total));
    output::print_table(["PAGE", "HUMAN", "AI", "TOTAL"], std::iter::once(all).chain(pages))
}

fn print_next_offset(has_more: bool, rows: &str, pagination: &Pagination) {
    if has_more {
        let next = pagination.offset.unwrap_or(0) + u64::from(pagination.limit.unwrap_or(50));
        output::print_message(format!("There are more {rows}. To see them, add --offset {next}"));
    }
}
