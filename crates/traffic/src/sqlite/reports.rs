//! Implements the reports: series, agents, referrers, not found and live.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use async_trait::async_trait;

use super::names::{self, NameKind};
use super::range_parts::RangeParts;
use super::snapshot::Snapshot;
use super::{SqliteViews, live, series};
use base::sqlite::ReadPool;

use crate::agents::operator;
use crate::cells::{CLASSES, Cell};
use crate::classify::Class;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::list_query::ListQuery;
use crate::name_counts::NameCounts;
use crate::range::Range;
use crate::reports::{
    AgentCount, Agents, Live, MissingPath, NotFound, ReclassifyProgress, Referrers, RemovalProgress, Reports,
    Series, SeriesError,
};
use crate::views::{Failure, Tally};

/// Referrers that are listed for a missing path.
const MAX_REFERRERS: usize = 5;

#[async_trait]
impl Reports for SqliteViews {
    async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError> {
        // Only hourly series read from disk: days are in memory.
        let _permit = if interval == Interval::Hour { Some(self.report_permit().await?) } else { None };
        loop {
            let query = series::SeriesQuery { range, interval, path };
            let Some(shared) = self.project_with_sums(project).await? else {
                return series::empty_series(&query);
            };
            if let Some(series) = series::series(self.database.reads(), &shared, &query).await? {
                return Ok(series);
            }
        }
    }

    async fn agents(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Agents, Failure> {
        Ok(agents(&self.names(project, range, NameKind::Agents).await?, query))
    }

    async fn referrers(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Referrers, Failure> {
        Ok(referrers(&self.names(project, range, NameKind::Hosts).await?, query))
    }

    async fn not_found(&self, project: &str, range: &Range, query: &ListQuery) -> Result<NotFound, Failure> {
        Ok(not_found(&self.names(project, range, NameKind::Missing).await?, query))
    }

    async fn live(&self, project: &str) -> Result<Live, Failure> {
        let _permit = self.report_permit().await?;
        let now = self.clock.now_ms();
        loop {
            let Some(snapshot) = self.snapshot(project).await? else { return Ok(live::empty_report(now)) };
            let live = live::live(self.database.reads(), &snapshot, now).await?;
            if snapshot.is_current() {
                return Ok(live);
            }
        }
    }

    async fn reclassify(&self, project: &str, from: i64) -> Result<ReclassifyProgress, Failure> {
        self.reclassify_bounded(project, from).await
    }

    async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure> {
        self.forget_paths_bounded(project, paths, from, dry_run).await
    }
}

impl SqliteViews {
    /// The names of a range, over all ingested views.
    async fn names(&self, project: &str, range: &Range, about: NameKind) -> Result<NameCounts, Failure> {
        let _permit = self.report_permit().await?;
        loop {
            let Some(snapshot) = self.snapshot(project).await? else {
                return Ok(NameCounts::with_capacity(0));
            };
            if let Some(names) = names_in_range(self.database.reads(), &snapshot, range, about).await? {
                return Ok(names);
            }
        }
    }
}

/// `None` when raw events were deleted or compacted in the meantime: retry.
async fn names_in_range(
    reads: &ReadPool,
    snapshot: &Snapshot,
    range: &Range,
    about: NameKind,
) -> Result<Option<NameCounts>, Failure> {
    let (id, raw_from) = {
        let project = snapshot.shared.read();
        (project.id, project.raw_from)
    };
    let parts = RangeParts::with_whole_days(range, raw_from);
    let mut names = names::sum(reads, id, about, parts.days, &parts.edges).await?;
    if let Some(journal) = snapshot.journal() {
        names::add_rows(&mut names, journal, about, |at| parts.contains(at));
    }
    let is_current = snapshot.is_current() && snapshot.shared.read().raw_from == raw_from;
    Ok(is_current.then_some(names))
}

fn agents(names: &NameCounts, query: &ListQuery) -> Agents {
    let mut classes: [u64; CLASSES] = [0; CLASSES];
    let mut all = Vec::new();
    for (product, cell) in names.iter() {
        for (class, reads) in Class::ALL.into_iter().zip(*cell).filter(|(_, reads)| *reads > 0) {
            classes[usize::from(class.code())] += reads;
            all.push((product, class, reads));
        }
    }
    let key = |class: Class, reads: u64| {
        let reads_by = |wanted: Class| if class == wanted { reads } else { 0 };
        (Reverse(query.sort.key(reads_by(Class::Human), reads_by(Class::Assistant), reads)), Reverse(reads))
    };
    all.sort_unstable_by_key(|(product, class, reads)| (key(*class, *reads), *product, *class));
    let (some, has_more) = query.paginate(all);
    let agent = |(product, class, reads): (&str, Class, u64)| AgentCount {
        operator: operator(product),
        product: product.to_owned(),
        class,
        reads,
    };
    Agents {
        classes: Class::ALL.into_iter().zip(classes).collect(),
        agents: some.into_iter().map(agent).collect(),
        has_more,
    }
}

fn referrers(names: &NameCounts, query: &ListQuery) -> Referrers {
    let mut hosts: Vec<(&str, Tally)> = names.iter().map(|(host, cell)| (host, tally(cell))).collect();
    let totals = sum(hosts.iter().map(|(_, reads)| reads));
    let key = |reads: &Tally| Reverse(query.sort.key(reads.human, reads.ai, reads.total()));
    hosts.sort_unstable_by_key(|(host, reads)| (key(reads), *host));
    let (some, has_more) = query.paginate(hosts);
    let hosts = some.into_iter().map(|(host, reads)| (host.to_owned(), reads)).collect();
    Referrers { totals, hosts, has_more }
}

fn not_found(names: &NameCounts, query: &ListQuery) -> NotFound {
    let mut pages = BTreeMap::<&str, (Tally, Vec<(&str, u64)>)>::new();
    for (name, cell) in names.iter() {
        let (path, referrer) = name.split_once('\t').unwrap_or((name, ""));
        if query.matches(|| path) {
            let (requests, referrers) = pages.entry(path).or_default();
            let counts = tally(cell);
            requests.add(counts.human, counts.ai);
            referrers.extend((!referrer.is_empty()).then_some((referrer, counts.total())));
        }
    }
    let totals = sum(pages.values().map(|(requests, _)| requests));
    let mut pages: Vec<_> = pages.into_iter().collect();
    let key = |requests: &Tally| query.sort.key(requests.human, requests.ai, requests.total());
    pages.sort_by_key(|(path, (requests, _))| (Reverse(key(requests)), *path));
    let (some, has_more) = query.paginate(pages);
    let pages = some
        .into_iter()
        .map(|(path, (requests, referrers))| missing_path(path, requests, referrers))
        .collect();
    NotFound { totals, pages, has_more }
}

fn missing_path(path: &str, requests: Tally, mut referrers: Vec<(&str, u64)>) -> MissingPath {
    referrers.sort_unstable_by_key(|(referrer, times)| (Reverse(*times), *referrer));
    referrers.truncate(MAX_REFERRERS);
    let referrers = referrers.into_iter().map(|(referrer, times)| (referrer.to_owned(), times)).collect();
    MissingPath { path: path.to_owned(), requests, referrers }
}

fn tally(cell: &Cell) -> Tally {
    let of = |class: Class| cell[usize::from(class.code())];
    Tally { human: of(Class::Human), ai: of(Class::Assistant) }
}

fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Tally {
    tallies.fold(Tally::default(), |mut sum, tally| {
        sum.add(tally.human, tally.ai);
        sum
    })
}
