//! The lists of the reader pages: a few rows of each on the first one, all of them on their own.

use traffic::{AgentCount, Class, Counts, MissingPath, NotFound, PageCount, Sort, Tally};

use super::super::quotations;
use super::asked::Asked;
use super::counted::Counted;
use super::evidence::{About, Evidence};
use crate::Oops;
use crate::session::InProject;
use crate::view::{Choice, Panel, Row};
use app::App;

const NUMBERS: &[&str] = &["Human", "AI", "All"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Pages,
    NotFound,
    Agents,
    Referrers,
}

impl List {
    const ALL: [Self; 4] = [Self::Pages, Self::NotFound, Self::Agents, Self::Referrers];

    pub(super) fn named(name: &str) -> Option<Self> {
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
    pub(super) async fn whole(
        self,
        app: &App,
        at: &InProject,
        asked: &Asked,
        limit: u32,
    ) -> Result<(Panel, bool), Oops> {
        let (id, range, portion) = (&*at.project.id.0, asked.now(), asked.portion(limit));
        let (rows, has_more) = match self {
            Self::Pages => {
                let counts = app.views.count(id, &range, &portion).await?;
                let has_more = counts.has_more;
                (pages(app, at, asked, counts), has_more)
            }
            Self::NotFound => {
                let found = app.reports.not_found(id, &range, &portion).await?;
                let has_more = found.has_more;
                (not_found(app, at, asked, found), has_more)
            }
            Self::Agents => {
                let found = app.reports.agents(id, &range, &portion).await?;
                (agents(found.agents), found.has_more)
            }
            Self::Referrers => {
                let found = app.reports.referrers(id, &range, &portion).await?;
                (referrers(found.hosts), found.has_more)
            }
        };
        let own = format!("{}/readers/{}", at.root(), self.name());
        Ok((self.panel(at, asked, &own, Some(rows), false), has_more))
    }

    /// `own` is the page that it is shown on.
    fn panel(
        self,
        at: &InProject,
        asked: &Asked,
        own: &str,
        rows: Option<Vec<Row>>,
        has_more: bool,
    ) -> Panel {
        let (title, operation, first, empty) = self.words();
        let list = format!("{}/readers/{}", at.root(), self.name());
        let fresh = Asked { offset: 0, wait: false, ..asked.clone() };
        let sort = |(sort, label)| Choice {
            href: Asked { sort, ..fresh.clone() }.at(own),
            label,
            chosen: asked.sort == sort,
        };
        let by_name = matches!(self, Self::Agents | Self::Referrers);
        Panel {
            id: self.name(),
            title,
            operation,
            first,
            columns: if self == Self::Agents { &["Views"] } else { NUMBERS },
            sorts: [(Sort::Human, "human"), (Sort::Ai, "AI"), (Sort::Total, "all")].map(sort).into(),
            rows,
            empty,
            more: has_more.then(|| fresh.at(&list)),
            csv: fresh.at(&format!("{list}/csv")),
            note: (by_name && asked.path.is_some()).then_some("whole site"),
        }
    }

    /// The title, the operation, what a row is, and what is said when there is none.
    fn words(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Pages => ("Pages", "views", "Page", "Nobody read a page in this time."),
            Self::NotFound => {
                ("Not found", "not-found", "Path", "Nobody looked for a page that is not there.")
            }
            Self::Agents => ("Agents", "agents", "Read with", "Nobody read a page in this time."),
            Self::Referrers => ("Referrers", "referrers", "Came from", "Nobody read a page in this time."),
        }
    }
}

/// The first rows of every list.
pub(super) fn all(app: &App, at: &InProject, asked: &Asked, counted: Counted) -> Vec<Panel> {
    let own = format!("{}/readers", at.root());
    let panel = |list: List, found: Option<(Vec<Row>, bool)>| {
        let (rows, has_more) = found.unzip();
        list.panel(at, asked, &own, rows, has_more.unwrap_or(false))
    };
    let pages_more = counted.counts.has_more;
    let missing = counted.not_found.map(|(found, _)| (found.has_more, found));
    vec![
        panel(List::Pages, Some((pages(app, at, asked, counted.counts), pages_more))),
        panel(List::NotFound, missing.map(|(more, found)| (not_found(app, at, asked, found), more))),
        panel(List::Agents, counted.agents.map(|found| (agents(found.agents), found.has_more))),
        panel(List::Referrers, counted.referrers.map(|found| (referrers(found.hosts), found.has_more))),
    ]
}

fn pages(app: &App, at: &InProject, asked: &Asked, counts: Counts) -> Vec<Row> {
    let row = |page: PageCount| {
        let reads = Tally { human: page.human, ai: page.ai };
        Row {
            href: Some(only(at, asked, &page.path)),
            job: Some(job(app, at, &Evidence::new(About::Page, asked, &page.path, reads, None))),
            ..counts_row(page.path, reads)
        }
    };
    barred(counts.pages.into_iter().map(row).collect())
}

fn not_found(app: &App, at: &InProject, asked: &Asked, found: NotFound) -> Vec<Row> {
    let row = |page: MissingPath| {
        let from = page.referrers.first().map(|(from, _)| from.as_str());
        let evidence = Evidence::new(About::NotFound, asked, &page.path, page.requests, from);
        Row {
            aside: from.map(|from| format!("from {from}")),
            href: Some(only(at, asked, &page.path)),
            job: Some(job(app, at, &evidence)),
            ..counts_row(page.path, page.requests)
        }
    };
    barred(found.pages.into_iter().map(row).collect())
}

/// The address of the jobs page with the evidence of a row.
fn job(app: &App, at: &InProject, evidence: &Evidence) -> String {
    let signature = quotations::signature(app, &at.project.id, &evidence.quotation());
    evidence.href(&at.root(), &signature)
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
            numbers: vec![agent.reads],
            bar,
            job: None,
        }
    };
    barred(agents.into_iter().map(row).collect())
}

fn referrers(hosts: Vec<(String, Tally)>) -> Vec<Row> {
    barred(hosts.into_iter().map(|(host, reads)| counts_row(host, reads)).collect())
}

fn counts_row(name: String, reads: Tally) -> Row {
    let Tally { human, ai } = reads;
    let numbers = vec![human, ai, reads.total()];
    Row { name, aside: None, href: None, numbers, bar: [human, ai, 0], job: None }
}

/// The whole page, of what begins with this path alone.
fn only(at: &InProject, asked: &Asked, path: &str) -> String {
    let path = Some(path.to_owned());
    Asked { path, offset: 0, wait: false, ..asked.clone() }.at(&format!("{}/readers", at.root()))
}

/// With bars in thousandths of the longest one.
fn barred(mut rows: Vec<Row>) -> Vec<Row> {
    let sum = |bar: &[u64; 3]| bar.iter().sum::<u64>();
    let most = rows.iter().map(|row| sum(&row.bar)).max().unwrap_or(0).max(1);
    for row in &mut rows {
        row.bar = row.bar.map(|part| (u128::from(part) * 1_000 / u128::from(most)) as u64);
    }
    rows
}
