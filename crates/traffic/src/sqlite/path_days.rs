//! Counts the site and given paths by day, from the rollups of each day.

use std::collections::{BTreeMap, HashMap, HashSet};

use base::sqlite::{Database, ReadPool};
use futures_util::TryStreamExt;

use super::compaction::hourly_cells;
use super::project::{DAY, HOUR};
use super::snapshot::Snapshot;
use super::visitors;
use crate::block::Block;
use crate::cells::{Cell, each_cell};
use crate::distinct_readers::DistinctReaders;
use crate::name_counts::each_name;
use crate::name_reports::tally;
use crate::names::{NameKind, count_block};
use crate::range::Range;
use crate::range_parts::{Span, days_in};
use crate::reports::{DayCounts, PathCounts, PathDays, PathDaysQuery};
use crate::views::{Failure, Tally};

/// Retry when the snapshot is not current afterwards.
pub(super) async fn path_days(
    database: &Database,
    snapshot: &Snapshot,
    range: &Range,
    query: &PathDaysQuery<'_>,
) -> Result<PathDays, Failure> {
    let (project, days) = (snapshot.shared.read().id, days_in(range));
    let mut table = Table::new(snapshot, query);
    table.add_views(database.reads(), project, days).await?;
    for about in [NameKind::Missing, NameKind::Redirected] {
        table.add_names(database.reads(), project, about, days).await?;
    }
    if let Some(journal) = snapshot.journal() {
        table.add_journal(journal, days);
    }
    if query.with_visitors {
        let add = |day, readers| table.add_visitors(day, &readers);
        visitors::each_day(database, snapshot, days, DistinctReaders::decode, add).await?;
    }
    Ok(table.into_report(query))
}

/// The report of a project without views.
pub(super) fn no_counts(query: &PathDaysQuery<'_>) -> PathDays {
    let paths = query.paths.iter().map(|path| PathCounts { path: path.clone(), days: Vec::new() });
    PathDays { site: Vec::new(), paths: paths.collect() }
}

type Days = BTreeMap<i64, DayCounts>;

#[derive(Default)]
struct Table<'q> {
    site: Days,
    paths: HashMap<&'q str, Days>,
    wanted: HashSet<&'q str>,
    /// The wanted paths that are pages, by number.
    pages: HashMap<u32, &'q str>,
}

impl<'q> Table<'q> {
    fn new(snapshot: &Snapshot, query: &PathDaysQuery<'q>) -> Self {
        let project = snapshot.shared.read();
        let wanted: HashSet<&str> = query.paths.iter().map(String::as_str).collect();
        let pages = wanted.iter().filter_map(|path| Some((project.pages.find(path)?, *path))).collect();
        Self { wanted, pages, ..Self::default() }
    }

    async fn add_views(&mut self, reads: &ReadPool, project: i64, days: Span) -> Result<(), Failure> {
        let select = "SELECT day, cells FROM day WHERE project = ? AND day >= ? AND day < ?";
        let mut connection = reads.acquire().await?;
        let mut rows = sqlx::query_as::<_, (i64, Vec<u8>)>(select)
            .bind(project)
            .bind(days.0)
            .bind(days.1)
            .fetch(&mut *connection);
        while let Some((day, cells)) = rows.try_next().await? {
            each_cell(&cells, |page, cell| self.add_page(day, page, cell))?;
        }
        Ok(())
    }

    async fn add_names(
        &mut self,
        reads: &ReadPool,
        project: i64,
        about: NameKind,
        days: Span,
    ) -> Result<(), Failure> {
        let select = "SELECT day, names FROM named WHERE project = ? AND about = ? AND day >= ? AND day < ?";
        let mut connection = reads.acquire().await?;
        let mut rows = sqlx::query_as::<_, (i64, Vec<u8>)>(select)
            .bind(project)
            .bind(about as u8)
            .bind(days.0)
            .bind(days.1)
            .fetch(&mut *connection);
        while let Some((day, packed)) = rows.try_next().await? {
            each_name(&packed, |name, cell| self.add_name(about, day, name, cell))?;
        }
        Ok(())
    }

    fn add_journal(&mut self, journal: &Block, days: Span) {
        let contains = |day: &i64| (days.0..days.1).contains(day);
        for (hour, cells) in hourly_cells(journal) {
            let day = (hour * HOUR).div_euclid(DAY);
            if contains(&day) {
                cells.iter().for_each(|(page, cell)| self.add_page(day, page, cell));
            }
        }
        for ((about, day), counts) in count_block(journal) {
            if contains(&day) {
                counts.iter().for_each(|(name, cell)| self.add_name(about, day, name, cell));
            }
        }
    }

    fn add_page(&mut self, day: i64, page: u32, cell: &Cell) {
        let path = self.pages.get(&page).copied();
        self.add(day, path, cell, |counts| &mut counts.views);
    }

    fn add_name(&mut self, about: NameKind, day: i64, name: &str, cell: &Cell) {
        let path = name.split('\t').next().and_then(|path| self.wanted.get(path)).copied();
        match about {
            NameKind::Missing => self.add(day, path, cell, |counts| &mut counts.not_found),
            NameKind::Redirected => self.add(day, path, cell, |counts| &mut counts.redirected),
            NameKind::Agents | NameKind::Hosts | NameKind::Verifications => {}
        }
    }

    /// Adds counts to the site and to a wanted path.
    fn add(&mut self, day: i64, path: Option<&'q str>, cell: &Cell, field: fn(&mut DayCounts) -> &mut Tally) {
        let counted = tally(cell);
        if counted.total() > 0 {
            let add = |days: &mut Days| field(counts_of(days, day)).add(counted.human, counted.ai);
            add(&mut self.site);
            path.map(|path| self.paths.entry(path).or_default()).into_iter().for_each(add);
        }
    }

    fn add_visitors(&mut self, day: i64, readers: &DistinctReaders) {
        let site = readers.site();
        if site.total > 0 {
            counts_of(&mut self.site, day).visitors = site;
        }
        for (page, readers) in readers.pages() {
            if let Some(path) = self.pages.get(&page) {
                counts_of(self.paths.entry(path).or_default(), day).visitors = *readers;
            }
        }
    }

    fn into_report(self, query: &PathDaysQuery<'_>) -> PathDays {
        let counts = |path: &String| PathCounts {
            path: path.clone(),
            days: self.paths.get(&**path).into_iter().flat_map(Days::values).copied().collect(),
        };
        PathDays { site: self.site.into_values().collect(), paths: query.paths.iter().map(counts).collect() }
    }
}

fn counts_of(days: &mut Days, day: i64) -> &mut DayCounts {
    days.entry(day).or_insert_with(|| DayCounts { at: day * DAY, ..DayCounts::default() })
}
