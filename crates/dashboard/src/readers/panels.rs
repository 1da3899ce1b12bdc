//! Builds the lists of the readers pages: a few rows of each on the first page, and all rows on the list's own page.

use traffic::{AgentCount, Class, Counts, MissingPath, NotFound, PageCount, Sort, Tally};

use super::super::quotations;
use super::evidence::{Evidence, EvidenceKind};
use super::report::ReaderReport;
use super::report_query::ReportQuery;
use crate::PageError;
use crate::session::ProjectContext;
use crate::view::{LinkChoice, Panel, Row};
use app::App;

const COUNT_COLUMNS: &[&str] = &["Human", "AI", "All"];
/// Views from an address that the operator publishes, and views from elsewhere. The rest is unknown.
const AGENT_COLUMNS: &[&str] = &["All views", "Verified views", "Claimed views"];
const NO_VIEWS: &str = "No views in this period. To see earlier views, choose more days.";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Pages,
    NotFound,
    Agents,
    Referrers,
}

impl List {
    const ALL: [Self; 4] = [Self::Pages, Self::NotFound, Self::Agents, Self::Referrers];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::NotFound => "not-found",
            Self::Agents => "agents",
            Self::Referrers => "referrers",
        }
    }

    /// One page of the list, and whether there are more.
    pub(super) async fn load_page(
        self,
        app: &App,
        ctx: &ProjectContext,
        query: &ReportQuery,
        limit: u32,
    ) -> Result<(Panel, bool), PageError> {
        let (id, range, rows) = (&*ctx.project.id.0, query.range(), query.list_query(limit));
        let (rows, has_more) = match self {
            Self::Pages => {
                let counts = app.views.count(id, &range, &rows).await?;
                let has_more = counts.has_more;
                (pages(app, ctx, query, counts), has_more)
            }
            Self::NotFound => {
                let found = app.reports.not_found(id, &range, &rows).await?;
                let has_more = found.has_more;
                (not_found(app, ctx, query, found), has_more)
            }
            Self::Agents => {
                let found = app.reports.agents(id, &range, &rows).await?;
                (agents(found.agents), found.has_more)
            }
            Self::Referrers => {
                let found = app.reports.referrers(id, &range, &rows).await?;
                (referrers(found.hosts), found.has_more)
            }
        };
        let page_url = format!("{}/readers/{}", ctx.root(), self.name());
        Ok((self.panel(ctx, query, &page_url, Some(rows), false), has_more))
    }

    /// `page_url` is the page that shows the panel.
    fn panel(
        self,
        ctx: &ProjectContext,
        query: &ReportQuery,
        page_url: &str,
        rows: Option<Vec<Row>>,
        has_more: bool,
    ) -> Panel {
        let (title, operation, name_column, empty) = self.texts();
        let list_url = format!("{}/readers/{}", ctx.root(), self.name());
        let first_page = ReportQuery { offset: 0, wait: false, ..query.clone() };
        let sort = |(sort, label)| LinkChoice {
            href: ReportQuery { sort, ..first_page.clone() }.href(page_url),
            label,
            chosen: query.sort == sort,
        };
        let is_site_wide = matches!(self, Self::Agents | Self::Referrers);
        Panel {
            id: self.name(),
            title,
            operation,
            name_column,
            columns: if self == Self::Agents { AGENT_COLUMNS } else { COUNT_COLUMNS },
            sorts: [(Sort::Human, "human"), (Sort::Ai, "AI"), (Sort::Total, "all")].map(sort).into(),
            rows,
            empty,
            full_list: has_more.then(|| first_page.href(&list_url)),
            csv: first_page.href(&format!("{list_url}/csv")),
            note: (is_site_wide && query.path.is_some()).then_some("whole site"),
        }
    }

    /// The title, the operation of the API, the heading of the first column, and the text of an empty list.
    fn texts(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Pages => ("Pages", "views", "Page", NO_VIEWS),
            Self::NotFound => {
                ("Not found", "not-found", "Path", "No missing pages were requested in this period.")
            }
            Self::Agents => ("Agents", "agents", "Agent", NO_VIEWS),
            Self::Referrers => ("Referrers", "referrers", "Referrer", NO_VIEWS),
        }
    }
}

/// The first rows of every list.
pub(super) fn all(app: &App, ctx: &ProjectContext, query: &ReportQuery, report: ReaderReport) -> Vec<Panel> {
    let page_url = format!("{}/readers", ctx.root());
    let panel = |list: List, found: Option<(Vec<Row>, bool)>| {
        let (rows, has_more) = found.unzip();
        list.panel(ctx, query, &page_url, rows, has_more.unwrap_or(false))
    };
    let more_pages = report.counts.has_more;
    let paths = report.not_found.map(|(found, _)| (found.has_more, found));
    vec![
        panel(List::Pages, Some((pages(app, ctx, query, report.counts), more_pages))),
        panel(List::NotFound, paths.map(|(more, found)| (not_found(app, ctx, query, found), more))),
        panel(List::Agents, report.agents.map(|found| (agents(found.agents), found.has_more))),
        panel(List::Referrers, report.referrers.map(|found| (referrers(found.hosts), found.has_more))),
    ]
}

fn pages(app: &App, ctx: &ProjectContext, query: &ReportQuery, counts: Counts) -> Vec<Row> {
    let row = |page: PageCount| {
        let reads = Tally { human: page.human, ai: page.ai };
        Row {
            href: Some(filter_href(ctx, query, &page.path)),
            job: Some(job_href(app, ctx, &Evidence::new(EvidenceKind::Page, query, &page.path, reads, None))),
            ..counts_row(page.path, reads)
        }
    };
    scale_bars(counts.pages.into_iter().map(row).collect())
}

fn not_found(app: &App, ctx: &ProjectContext, query: &ReportQuery, found: NotFound) -> Vec<Row> {
    let row = |page: MissingPath| {
        let from = page.referrers.first().map(|(from, _)| from.as_str());
        let evidence = Evidence::new(EvidenceKind::NotFound, query, &page.path, page.requests, from);
        Row {
            aside: from.map(|from| format!("from {from}")),
            href: Some(filter_href(ctx, query, &page.path)),
            job: Some(job_href(app, ctx, &evidence)),
            ..counts_row(page.path, page.requests)
        }
    };
    scale_bars(found.pages.into_iter().map(row).collect())
}

/// The URL of the jobs page with the evidence of a row.
fn job_href(app: &App, ctx: &ProjectContext, evidence: &Evidence) -> String {
    let signature = quotations::signature(app, &ctx.project.id, &evidence.quotation());
    evidence.href(&ctx.root(), &signature)
}

fn agents(agents: Vec<AgentCount>) -> Vec<Row> {
    let row = |agent: AgentCount| {
        let class = agent.class.as_str();
        let aside = agent.operator.map_or(class.to_owned(), |operator| format!("{operator}, {class}"));
        let bar = match agent.class {
            Class::Human => [agent.reads, 0, 0],
            Class::Assistant => [0, agent.reads, 0],
            _ => [0, 0, agent.reads],
        };
        Row {
            name: agent.product,
            aside: Some(aside),
            href: None,
            numbers: vec![agent.reads, agent.verified, agent.claimed],
            bar,
            job: None,
        }
    };
    scale_bars(agents.into_iter().map(row).collect())
}

fn referrers(hosts: Vec<(String, Tally)>) -> Vec<Row> {
    scale_bars(hosts.into_iter().map(|(host, reads)| counts_row(host, reads)).collect())
}

fn counts_row(name: String, reads: Tally) -> Row {
    let Tally { human, ai } = reads;
    let numbers = vec![human, ai, reads.total()];
    Row { name, aside: None, href: None, numbers, bar: [human, ai, 0], job: None }
}

/// The URL of the readers page, filtered by a path.
fn filter_href(ctx: &ProjectContext, query: &ReportQuery, path: &str) -> String {
    let path = Some(path.to_owned());
    ReportQuery { path, offset: 0, wait: false, ..query.clone() }.href(&format!("{}/readers", ctx.root()))
}

/// Scales the bars to thousandths of the longest one.
fn scale_bars(mut rows: Vec<Row>) -> Vec<Row> {
    let sum = |bar: &[u64; 3]| bar.iter().sum::<u64>();
    let longest = rows.iter().map(|row| sum(&row.bar)).max().unwrap_or(0).max(1);
    for row in &mut rows {
        row.bar = row.bar.map(|part| (u128::from(part) * 1_000 / u128::from(longest)) as u64);
    }
    rows
}
