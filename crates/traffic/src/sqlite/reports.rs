//! Implements the reports: series, agents, referrers, not found, redirected, days of paths and live.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;

use super::names::{self, CLAIMED, NameKind, VERIFIED};
use super::range_parts::RangeParts;
use super::snapshot::Snapshot;
use super::{SqliteViews, live, path_days, series};
use base::sqlite::ReadPool;

use crate::agents::operator;
use crate::assistants::{operator_of_host, operators};
use crate::cells::{CLASSES, Cell};
use crate::classify::Class;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::list_query::ListQuery;
use crate::name_counts::NameCounts;
use crate::range::Range;
use crate::reports::{
    AgentCount, Agents, AiReferrals, Live, MAX_PATHS, MissingPath, NotFound, PathDays, PathDaysQuery,
    ReclassifyProgress, Redirected, Referrers, RemovalProgress, Reports, Series, SeriesError,
};
use crate::views::{Failure, Tally};

/// Referrers that are listed for a missing path.
const MAX_REFERRERS: usize = 5;
/// The classes of AI agents.
const AI_CLASSES: [Class; 4] = [Class::Assistant, Class::AiSearch, Class::AiTraining, Class::AiOther];

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
        let [names, checked] =
            self.names(project, range, [NameKind::Agents, NameKind::Verifications]).await?;
        Ok(agents(&names, &checked, query))
    }

    async fn referrers(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Referrers, Failure> {
        let [names] = self.names(project, range, [NameKind::Hosts]).await?;
        Ok(referrers(&names, query))
    }

    async fn ai_referrals(&self, project: &str, range: &Range) -> Result<Vec<AiReferrals>, Failure> {
        let [products, hosts] = self.names(project, range, [NameKind::Agents, NameKind::Hosts]).await?;
        Ok(ai_referrals(&products, &hosts))
    }

    async fn not_found(&self, project: &str, range: &Range, query: &ListQuery) -> Result<NotFound, Failure> {
        let [names] = self.names(project, range, [NameKind::Missing]).await?;
        Ok(not_found(&names, query))
    }

    async fn redirected(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Redirected, Failure> {
        let [names] = self.names(project, range, [NameKind::Redirected]).await?;
        Ok(redirected(&names, query))
    }

    async fn path_days(
        &self,
        project: &str,
        range: &Range,
        query: &PathDaysQuery<'_>,
    ) -> Result<PathDays, Failure> {
        if query.paths.len() > MAX_PATHS {
            return Err(Failure::new(format!("more than {MAX_PATHS} paths")));
        }
        let _permit = self.report_permit().await?;
        loop {
            let Some(snapshot) = self.snapshot(project).await? else {
                return Ok(path_days::no_counts(query));
            };
            let report = path_days::path_days(&self.database, &snapshot, range, query).await?;
            if snapshot.is_current() {
                return Ok(report);
            }
        }
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
    /// The names of a range by kind, over all ingested views.
    async fn names<const N: usize>(
        &self,
        project: &str,
        range: &Range,
        about: [NameKind; N],
    ) -> Result<[NameCounts; N], Failure> {
        let _permit = self.report_permit().await?;
        loop {
            let Some(snapshot) = self.snapshot(project).await? else {
                return Ok(about.map(|_| NameCounts::with_capacity(0)));
            };
            if let Some(names) = names_in_range(self.database.reads(), &snapshot, range, about).await? {
                return Ok(names);
            }
        }
    }
}

/// `None` when raw events were deleted or compacted in the meantime: retry.
async fn names_in_range<const N: usize>(
    reads: &ReadPool,
    snapshot: &Snapshot,
    range: &Range,
    about: [NameKind; N],
) -> Result<Option<[NameCounts; N]>, Failure> {
    let (id, raw_from, version) = {
        let project = snapshot.shared.read();
        (project.id, project.raw_from, project.disk_version)
    };
    let parts = RangeParts::with_whole_days(range, raw_from);
    let mut all = about.map(|_| NameCounts::with_capacity(0));
    for (names, about) in all.iter_mut().zip(about) {
        *names = names::sum(reads, id, about, parts.days, &parts.edges).await?;
        if let Some(journal) = snapshot.journal() {
            names::add_rows(names, journal, about, |at| parts.contains(at));
        }
    }
    let project = snapshot.shared.read();
    // Several kinds must be of one moment.
    let is_current = project.raw_from == raw_from && (N == 1 || project.disk_version == version);
    drop(project);
    Ok((is_current && snapshot.is_current()).then_some(all))
}

fn agents(names: &NameCounts, checked: &NameCounts, query: &ListQuery) -> Agents {
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
    let checked: HashMap<&str, &Cell> = checked.iter().collect();
    let agent = |(product, class, reads): (&str, Class, u64)| {
        let reads_as = |how: &str| {
            checked.get(&*format!("{product}\t{how}")).map_or(0, |cell| cell[usize::from(class.code())])
        };
        let (verified, claimed) = (reads_as(VERIFIED), reads_as(CLAIMED));
        AgentCount {
            operator: operator(product),
            product: product.to_owned(),
            class,
            reads,
            verified,
            claimed,
        }
    };
    Agents {
        classes: Class::ALL.into_iter().zip(classes).collect(),
        agents: some.into_iter().map(agent).collect(),
        has_more,
    }
}

fn referrers(names: &NameCounts, query: &ListQuery) -> Referrers {
    let hosts = names.iter().map(|(host, cell)| (host, tally(cell))).collect();
    let (totals, hosts, has_more) = list(hosts, query);
    Referrers { totals, hosts, has_more }
}

fn ai_referrals(products: &NameCounts, hosts: &NameCounts) -> Vec<AiReferrals> {
    let mut sums = BTreeMap::<&str, (u64, u64)>::new();
    for (product, cell) in products.iter() {
        let reads = AI_CLASSES.iter().map(|class| cell[usize::from(class.code())]).sum::<u64>();
        operator(product).into_iter().for_each(|name| sums.entry(name).or_default().0 += reads);
    }
    for (host, cell) in hosts.iter() {
        let referrals = tally(cell).human;
        operator_of_host(host).into_iter().for_each(|name| sums.entry(name).or_default().1 += referrals);
    }
    let counts = |operator| {
        let (reads, referrals) = sums.get(operator).copied().unwrap_or_default();
        AiReferrals { operator, reads, referrals }
    };
    let mut all: Vec<_> =
        operators().map(counts).filter(|counts| counts.reads + counts.referrals > 0).collect();
    all.sort_by_key(|counts| (Reverse(counts.referrals), Reverse(counts.reads), counts.operator));
    all
}

fn redirected(names: &NameCounts, query: &ListQuery) -> Redirected {
    let paths = names.iter().filter(|(path, _)| query.matches(|| path));
    let (totals, pages, has_more) = list(paths.map(|(path, cell)| (path, tally(cell))).collect(), query);
    Redirected { totals, pages, has_more }
}

/// The total of all names, and the names that a query lists.
fn list(mut names: Vec<(&str, Tally)>, query: &ListQuery) -> (Tally, Vec<(String, Tally)>, bool) {
    let totals = sum(names.iter().map(|(_, counts)| counts));
    let key = |counts: &Tally| Reverse(query.sort.key(counts.human, counts.ai, counts.total()));
    names.sort_unstable_by_key(|(name, counts)| (key(counts), *name));
    let (some, has_more) = query.paginate(names);
    (totals, some.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect(), has_more)
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

pub(super) fn tally(cell: &Cell) -> Tally {
    let of = |class: Class| cell[usize::from(class.code())];
    Tally { human: of(Class::Human), ai: of(Class::Assistant) }
}

fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Tally {
    tallies.fold(Tally::default(), |mut sum, tally| {
        sum.add(tally.human, tally.ai);
        sum
    })
}
