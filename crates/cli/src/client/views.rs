//! `docwright views`, `visitors`, `report …` and `reclassify`

use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::{
    AgentViews, Agents, Live, MissingPage, NotFound, PageView, PageViews, PageVisitors, Point,
    ReclassifyResult, Referrer, Referrers, Series, Totals,
};

use super::{Client, segment};
use crate::args::{Form, LiveReport, Part, Reclassify, Report, ReportCommand, SeriesReport, Views, When};
use crate::output;
use crate::settings::Sources;

type Query = Vec<(&'static str, String)>;

pub(crate) async fn views(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let question = Question::of_pages("views", &args);
    if let Some(answer) = question.ask::<PageViews>(sources, &args.form).await? {
        pages(&answer.totals, answer.views)?;
        more(answer.has_more, "pages", &args.part);
    }
    Ok(())
}

pub(crate) async fn visitors(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let question = Question::of_pages("visitors", &args);
    if let Some(answer) = question.ask::<PageVisitors>(sources, &args.form).await? {
        pages(&answer.totals, answer.visitors)?;
        more(answer.has_more, "pages", &args.part);
    }
    Ok(())
}

pub(crate) async fn report(sources: &Sources, command: ReportCommand) -> anyhow::Result<()> {
    match command {
        ReportCommand::Series(args) => series(sources, args).await,
        ReportCommand::Agents(args) => agents(sources, args).await,
        ReportCommand::Referrers(args) => referrers(sources, args).await,
        ReportCommand::NotFound(args) => not_found(sources, args).await,
        ReportCommand::Live(args) => live(sources, args).await,
    }
}

async fn series(sources: &Sources, args: SeriesReport) -> anyhow::Result<()> {
    let more = given([("interval", args.interval), ("path", args.path)]);
    let question = Question::new("series", &args.project, [when(&args.when), more].concat());
    let Some(answer) = question.ask::<Series>(sources, &args.form).await? else { return Ok(()) };
    let row = |point: Point| numbers(point.at, point.human, point.ai, point.total);
    output::table(["FROM", "HUMAN", "AI", "TOTAL"], answer.series.into_iter().map(row))
}

async fn agents(sources: &Sources, args: Report) -> anyhow::Result<()> {
    let question = Question::of_part("agents", &args);
    let Some(answer) = question.ask::<Agents>(sources, &args.form).await? else { return Ok(()) };
    let row = |agent: AgentViews| {
        [agent.product, agent.operator.unwrap_or_default(), agent.class, agent.views.to_string()]
    };
    output::table(["PRODUCT", "OPERATOR", "CLASS", "VIEWS"], answer.agents.into_iter().map(row))?;
    more(answer.has_more, "products", &args.part);
    Ok(())
}

async fn referrers(sources: &Sources, args: Report) -> anyhow::Result<()> {
    let question = Question::of_part("referrers", &args);
    let Some(answer) = question.ask::<Referrers>(sources, &args.form).await? else { return Ok(()) };
    let row = |from: Referrer| numbers(from.host, from.human, from.ai, from.total);
    output::table(["HOST", "HUMAN", "AI", "TOTAL"], answer.referrers.into_iter().map(row))?;
    more(answer.has_more, "hosts", &args.part);
    Ok(())
}

async fn live(sources: &Sources, args: LiveReport) -> anyhow::Result<()> {
    let question = Question::new("live", &args.project, Vec::new());
    let Some(answer) = question.ask::<Live>(sources, &args.form).await? else { return Ok(()) };
    pages(&answer.views, answer.pages)?;
    let Totals { human, ai, .. } = answer.readers;
    output::say(format!("In the last 30 minutes: {human} human readers, {ai} AI readers"));
    Ok(())
}

async fn not_found(sources: &Sources, args: Views) -> anyhow::Result<()> {
    let question = Question::of_pages("not-found", &args);
    let Some(answer) = question.ask::<NotFound>(sources, &args.form).await? else { return Ok(()) };
    let rows = answer.not_found.into_iter().map(|page: MissingPage| {
        let from = page.referrers.first().map(|from| from.referrer.clone()).unwrap_or_default();
        let [path, human, ai, total] = numbers(page.path, page.human, page.ai, page.total);
        [path, human, ai, total, from]
    });
    output::table(["PAGE", "HUMAN", "AI", "TOTAL", "MOST FROM"], rows)?;
    more(answer.has_more, "pages", &args.part);
    Ok(())
}

/// In pieces, each of which is done when it is answered: cut off, it is run again.
pub(crate) async fn reclassify(sources: &Sources, args: Reclassify) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let path = format!("/v1/analytics/{}/reclassify", segment(&args.project));
    let mut done = ReclassifyResult { events: 0, changed: 0, table: String::new(), next: args.from };
    loop {
        let piece: ReclassifyResult = client.act(&path, &given([("dateFrom", done.next)])).await?;
        done = ReclassifyResult {
            events: done.events + piece.events,
            changed: done.changed + piece.changed,
            ..piece
        };
        match &done.next {
            Some(day) => output::say(format!("{} views before {day} are done", done.events)),
            None => break,
        }
    }
    if args.json {
        return output::json(&done);
    }
    let ReclassifyResult { events, changed, table, .. } = done;
    output::line(format!("{changed} of {events} views have another class by the table of {table}"))
}

struct Question {
    path: String,
    query: Query,
}

impl Question {
    fn new(what: &str, project: &str, query: Query) -> Self {
        Self { path: format!("/v1/analytics/{}/{what}", segment(project)), query }
    }

    fn of_part(what: &str, args: &Report) -> Self {
        Self::new(what, &args.project, [when(&args.when), part(&args.part)].concat())
    }

    fn of_pages(what: &str, args: &Views) -> Self {
        let more = given([("path", args.path.clone()), ("sort", args.sort.clone())]);
        Self::new(what, &args.project, [when(&args.when), more, part(&args.part)].concat())
    }

    /// `None` when the answer is printed as it is.
    async fn ask<T: DeserializeOwned + Serialize>(
        mut self,
        sources: &Sources,
        form: &Form,
    ) -> anyhow::Result<Option<T>> {
        let client = Client::from_settings(sources)?;
        if form.csv {
            self.query.push(("format", "csv".into()));
            output::bytes(client.text_of(&self.path, &self.query).await?.as_bytes())?;
            return Ok(None);
        }
        let answer: T = client.get(&self.path, &self.query).await?;
        if form.json {
            output::json(&answer)?;
            return Ok(None);
        }
        Ok(Some(answer))
    }
}

fn given<const N: usize>(pairs: [(&'static str, Option<String>); N]) -> Query {
    pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn when(when: &When) -> Query {
    given([("dateFrom", when.from.clone()), ("dateTo", when.to.clone())])
}

fn part(part: &Part) -> Query {
    given([
        ("limit", part.limit.map(|limit| limit.to_string())),
        ("offset", part.offset.map(|offset| offset.to_string())),
    ])
}

fn numbers(name: String, human: u64, ai: u64, total: u64) -> [String; 4] {
    [name, human.to_string(), ai.to_string(), total.to_string()]
}

fn pages(totals: &Totals, pages: Vec<PageView>) -> anyhow::Result<()> {
    let all = numbers("(all pages)".into(), totals.human, totals.ai, totals.total);
    let pages = pages.into_iter().map(|page| numbers(page.path, page.human, page.ai, page.total));
    output::table(["PAGE", "HUMAN", "AI", "TOTAL"], std::iter::once(all).chain(pages))
}

fn more(has_more: bool, what: &str, part: &Part) {
    if has_more {
        let next = part.offset.unwrap_or(0) + u64::from(part.limit.unwrap_or(50));
        output::say(format!("There are more {what}: --offset {next}"));
    }
}
