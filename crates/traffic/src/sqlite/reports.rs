//! Questions that names answer: who reads with what, from where, and what they do not find.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::SqlitePool;

use super::names::{self, About};
use super::parts::Parts;
use super::sorted::Sorted;
use super::{SqliteViews, live, series};
use crate::agents::operator;
use crate::cells::{CLASSES, Cell};
use crate::classify::Class;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::names::Names;
use crate::portion::Portion;
use crate::range::Range;
use crate::reports::{
    AgentCount, Agents, Live, Missing, NotFound, Reclassified, Referrers, Removed, Reports, Series,
    SeriesError,
};
use crate::views::{Failure, Tally};

/// Pages that are named as the way to one that is not there.
const REFERRERS: usize = 5;

#[async_trait]
impl Reports for SqliteViews {
    async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError> {
        // Days are in memory; hours are not.
        let _turn = if interval == Interval::Hour { Some(self.turn().await?) } else { None };
        loop {
            let asked = series::Asked { range, interval, path };
            let Some(shared) = self.whole(project).await? else { return series::of_nobody(&asked) };
            if let Some(series) = series::series(self.database.reads(), &shared, &asked).await? {
                return Ok(series);
            }
        }
    }

    async fn agents(&self, project: &str, range: &Range, portion: &Portion) -> Result<Agents, Failure> {
        Ok(agents(&self.names(project, range, About::Agents).await?, portion))
    }

    async fn referrers(&self, project: &str, range: &Range, portion: &Portion) -> Result<Referrers, Failure> {
        Ok(referrers(&self.names(project, range, About::Hosts).await?, portion))
    }

    async fn not_found(&self, project: &str, range: &Range, portion: &Portion) -> Result<NotFound, Failure> {
        Ok(not_found(&self.names(project, range, About::Missing).await?, portion))
    }

    async fn live(&self, project: &str) -> Result<Live, Failure> {
        let _turn = self.turn().await?;
        let now = self.clock.now_ms();
        loop {
            let Some(sorted) = self.sorted(project).await? else { return Ok(live::nobody(now)) };
            let live = live::live(self.database.reads(), &sorted, now).await?;
            if sorted.is_current() {
                return Ok(live);
            }
        }
    }

    async fn reclassify(&self, project: &str, from: i64) -> Result<Reclassified, Failure> {
        self.reclassify_piece(project, from).await
    }

    async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<Removed, Failure> {
        self.forget_paths_piece(project, paths, from, dry_run).await
    }
}

impl SqliteViews {
    /// The names of a range, of all views that are taken in by now.
    async fn names(&self, project: &str, range: &Range, about: About) -> Result<Names, Failure> {
        let _turn = self.turn().await?;
        loop {
            let Some(sorted) = self.sorted(project).await? else { return Ok(Names::with_room(0)) };
            if let Some(names) = names_of(self.database.reads(), &sorted, range, about).await? {
                return Ok(names);
            }
        }
    }
}

/// `None` when raw events were let go of meanwhile, or sorted: then ask again.
async fn names_of(
    reads: &SqlitePool,
    sorted: &Sorted,
    range: &Range,
    about: About,
) -> Result<Option<Names>, Failure> {
    let (id, raw_from) = {
        let project = sorted.shared.read();
        (project.id, project.raw_from)
    };
    let parts = Parts::of_days(range, raw_from);
    let mut names = names::sum(reads, id, about, parts.days, &parts.edges).await?;
    if let Some(unsorted) = sorted.unsorted() {
        names::add_rows(&mut names, unsorted, about, |at| parts.contains(at));
    }
    let is_current = sorted.is_current() && sorted.shared.read().raw_from == raw_from;
    Ok(is_current.then_some(names))
}

fn agents(names: &Names, portion: &Portion) -> Agents {
    let mut classes: [u64; CLASSES] = [0; CLASSES];
    let mut all = Vec::new();
    for (product, cell) in names.iter() {
        for (class, reads) in Class::ALL.into_iter().zip(*cell).filter(|(_, reads)| *reads > 0) {
            classes[usize::from(class.code())] += reads;
            all.push((product, class, reads));
        }
    }
    let key = |class: Class, reads: u64| {
        let of = |asked: Class| if class == asked { reads } else { 0 };
        (Reverse(portion.sort.key(of(Class::Human), of(Class::Assistant), reads)), Reverse(reads))
    };
    all.sort_unstable_by_key(|(product, class, reads)| (key(*class, *reads), *product, *class));
    let (some, has_more) = portion.of(all);
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

fn referrers(names: &Names, portion: &Portion) -> Referrers {
    let mut hosts: Vec<(&str, Tally)> = names.iter().map(|(host, cell)| (host, tally(cell))).collect();
    let totals = sum(hosts.iter().map(|(_, reads)| reads));
    let key = |reads: &Tally| Reverse(portion.sort.key(reads.human, reads.ai, reads.total()));
    hosts.sort_unstable_by_key(|(host, reads)| (key(reads), *host));
    let (some, has_more) = portion.of(hosts);
    let hosts = some.into_iter().map(|(host, reads)| (host.to_owned(), reads)).collect();
    Referrers { totals, hosts, has_more }
}

fn not_found(names: &Names, portion: &Portion) -> NotFound {
    let mut pages = BTreeMap::<&str, (Tally, Vec<(&str, u64)>)>::new();
    for (name, cell) in names.iter() {
        let (path, referrer) = name.split_once('\t').unwrap_or((name, ""));
        if portion.wants(|| path) {
            let (looks, referrers) = pages.entry(path).or_default();
            let from_here = tally(cell);
            looks.add(from_here.human, from_here.ai);
            referrers.extend((!referrer.is_empty()).then_some((referrer, from_here.total())));
        }
    }
    let totals = sum(pages.values().map(|(looks, _)| looks));
    let mut pages: Vec<_> = pages.into_iter().collect();
    let key = |looks: &Tally| portion.sort.key(looks.human, looks.ai, looks.total());
    pages.sort_by_key(|(path, (looks, _))| (Reverse(key(looks)), *path));
    let (some, has_more) = portion.of(pages);
    let pages = some.into_iter().map(|(path, (looks, referrers))| missing(path, looks, referrers)).collect();
    NotFound { totals, pages, has_more }
}

fn missing(path: &str, looks: Tally, mut referrers: Vec<(&str, u64)>) -> Missing {
    referrers.sort_unstable_by_key(|(referrer, times)| (Reverse(*times), *referrer));
    referrers.truncate(REFERRERS);
    let referrers = referrers.into_iter().map(|(referrer, times)| (referrer.to_owned(), times)).collect();
    Missing { path: path.to_owned(), looks, referrers }
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
