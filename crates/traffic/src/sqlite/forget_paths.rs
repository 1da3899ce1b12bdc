//! Removes the views of matching paths, one day per transaction.
//!
//! The transaction removes the day's raw events and recomputes its rollups, so reports always agree with the
//! remaining events. The names of the pages are removed last. After an interruption, a second run continues.

mod rollups;

use std::sync::{Arc, Mutex, PoisonError};

use base::sqlite::ReadPool;
use futures_util::{FutureExt, TryStreamExt};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::keeper::Keeper;
use super::project::{DAY, Project};
use super::{Command, SqliteViews, day};
use crate::block::{Block, PathRef, Row};
use crate::cells::each_cell;
use crate::glob::PathGlob;
use crate::reports::RemovalProgress;
use crate::views::Failure;

/// Bounds the events that one request processes.
const MAX_EVENTS: u64 = 500_000;
const PAGES_PER_STATEMENT: usize = 500;

/// The paths to remove.
pub(super) struct Selection {
    paths: PathGlob,
    dry_run: bool,
    /// Whether each page matches, by number. Grows with the project's pages, whose numbers never change.
    pages: Mutex<Vec<bool>>,
}

impl Selection {
    /// The matching pages. Only the keeper may call this: between two of its writes, every page in memory is
    /// on disk.
    fn matches(&self, project: &Project) -> Matches {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pages.len();
        pages.extend(project.pages.since(known).map(|(_, path)| self.paths.is_match(path)));
        Matches { paths: self.paths.clone(), pages: pages.clone() }
    }
}

/// The paths to remove, and the pages that match now.
#[derive(Clone)]
struct Matches {
    paths: PathGlob,
    pages: Vec<bool>,
}

impl Matches {
    fn has_page(&self, page: u32) -> bool {
        self.pages.get(page as usize).is_some_and(|matches| *matches)
    }

    /// Whether the name of a missing or redirected path matches: its path is the text before the tab, if any.
    fn has_name(&self, name: &str) -> bool {
        self.paths.is_match(name.split('\t').next().unwrap_or_default())
    }

    fn has_row(&self, block: &Block, row: &Row) -> bool {
        match row.path {
            PathRef::Page(page) => self.has_page(page),
            PathRef::Text(text) => block.texts.get(text).is_some_and(|path| self.paths.is_match(path)),
        }
    }

    /// The number of events of a block in `from..to`, and how many of them match.
    fn count(&self, block: &Block, from: i64, to: i64) -> (u64, u64) {
        let rows = || block.rows.iter().filter(|row| (from..to).contains(&row.at));
        (rows().count() as u64, rows().filter(|row| self.has_row(block, row)).count() as u64)
    }

    /// Removes the matching rows in `from..to` and returns their number.
    fn remove(&self, block: &mut Block, from: i64, to: i64) -> u64 {
        let (_, removed) = self.count(block, from, to);
        if removed > 0 {
            let mut rows = std::mem::take(&mut block.rows);
            rows.retain(|row| !(from..to).contains(&row.at) || !self.has_row(block, row));
            block.rows = rows;
        }
        removed
    }
}

impl SqliteViews {
    /// Sends one command per day, so that the keeper can ingest views in between.
    pub(super) async fn forget_paths_bounded(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure> {
        let selection = Selection { paths: paths.clone(), dry_run, pages: Mutex::default() };
        let (selection, mut events) = (Arc::new(selection), 0);
        let mut done = RemovalProgress { next: Some(from), ..RemovalProgress::default() };
        while let Some(from) = done.next.filter(|_| events < MAX_EVENTS) {
            let command = |reply| Command::ForgetPaths(project.to_owned(), selection.clone(), from, reply);
            let (processed, day) = self.send(command).await?;
            events += processed;
            done = RemovalProgress {
                views: done.views + day.views,
                pages: done.pages + day.pages,
                next: day.next,
            };
        }
        Ok(done)
    }
}

impl Keeper {
    /// Processes the first day with views from `from` on, or removes the names of the pages when there is
    /// none. Also returns the number of processed events.
    pub(super) async fn forget_paths(
        &mut self,
        name: &str,
        selection: &Selection,
        from: i64,
    ) -> Result<(u64, RemovalProgress), Failure> {
        let Some(shared) = self.load_compacted(name).await? else {
            return Ok((0, RemovalProgress::default()));
        };
        let (id, raw_from, matches) = {
            let project = shared.read();
            (project.id, project.raw_from, selection.matches(&project))
        };
        let Some(day) = next_day(self.database.reads(), id, from.div_euclid(DAY)).await? else {
            let pages = self.forget_names(name, id, matches, selection.dry_run).await?;
            return Ok((0, RemovalProgress { pages, ..RemovalProgress::default() }));
        };
        let is_raw = day * DAY >= raw_from;
        let found = find_in_day(self.database.reads(), id, day, is_raw, &matches).await?;
        if found.has_any() && !selection.dry_run {
            let removed = self.database.write(move |connection| {
                async move { remove_from_day(connection, id, day, is_raw, matches).await }.boxed()
            });
            removed.await?;
            let mut project = shared.write();
            project.prefix_sums = None;
            project.disk_version += 1;
        }
        Ok((found.events, RemovalProgress { views: found.views, pages: 0, next: Some((day + 1) * DAY) }))
    }

    /// Removes the names of the pages that have no views left, and evicts the project from memory.
    async fn forget_names(
        &mut self,
        name: &str,
        project: i64,
        mut matches: Matches,
        dry_run: bool,
    ) -> Result<u64, Failure> {
        if !dry_run {
            each_read_page(self.database.reads(), project, |page| {
                if let Some(matches) = matches.pages.get_mut(page as usize) {
                    *matches = false;
                }
            })
            .await?;
        }
        let pages: Vec<u32> =
            (0..matches.pages.len() as u32).filter(|page| matches.has_page(*page)).collect();
        let count = pages.len() as u64;
        if count > 0 && !dry_run {
            let written = self.database.write(move |connection| {
                async move { remove_names(connection, project, &pages).await }.boxed()
            });
            written.await?;
            self.memory.remove(name);
            self.event_ids.remove(name);
        }
        Ok(count)
    }
}

/// Calls `with` for every page that has reads on any day.
async fn each_read_page(reads: &ReadPool, project: i64, mut with: impl FnMut(u32)) -> Result<(), Failure> {
    let days = "SELECT cells FROM day WHERE project = ?";
    let mut connection = reads.acquire().await?;
    let mut days = sqlx::query_scalar::<_, Vec<u8>>(days).bind(project).fetch(&mut *connection);
    while let Some(cells) = days.try_next().await? {
        each_cell(&cells, |page, _| with(page))?;
    }
    Ok(())
}

/// Marks the pages as removed by an empty path. Their numbers stay, so that no other page gets them.
async fn remove_names(connection: &mut SqliteConnection, project: i64, pages: &[u32]) -> Result<(), Failure> {
    for chunk in pages.chunks(PAGES_PER_STATEMENT) {
        let mut query = QueryBuilder::<Sqlite>::new("UPDATE page SET path = '' WHERE project = ");
        query.push_bind(project).push(" AND number IN (");
        let mut numbers = query.separated(", ");
        for page in chunk {
            numbers.push_bind(*page);
        }
        query.push(")").build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// The first day from `from` on that has raw events, reads or names.
async fn next_day(reads: &ReadPool, project: i64, from: i64) -> Result<Option<i64>, Failure> {
    let counted = "SELECT MIN(day) FROM (
        SELECT MIN(day) AS day FROM day WHERE project = ?1 AND day >= ?2
        UNION ALL SELECT MIN(day) FROM named WHERE project = ?1 AND day >= ?2)";
    let mut connection = reads.acquire().await?;
    let counted: Option<i64> =
        sqlx::query_scalar(counted).bind(project).bind(from).fetch_one(&mut *connection).await?;
    let start = from.saturating_mul(DAY);
    let later = "SELECT MIN(first) FROM block WHERE project = ? AND first >= ?";
    let later: Option<i64> =
        sqlx::query_scalar(later).bind(project).bind(start).fetch_one(&mut *connection).await?;
    // A block that begins before `start` may have its next event much later.
    let across = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?";
    let mut across = sqlx::query_scalar::<_, Vec<u8>>(across)
        .bind(project)
        .bind(start)
        .bind(start)
        .fetch(&mut *connection);
    let mut first = [counted.map(|day| day.saturating_mul(DAY)), later].into_iter().flatten().min();
    while let Some(block) = across.try_next().await? {
        let next = Block::decode(&block)?.rows.into_iter().map(|row| row.at).filter(|at| *at >= start).min();
        first = first.into_iter().chain(next).min();
    }
    Ok(first.map(|first| first.div_euclid(DAY)))
}

/// The views of a day that match.
#[derive(Default)]
struct MatchingViews {
    /// Processed events.
    events: u64,
    /// Matching views: raw events, or counts in rollups where raw events are deleted.
    views: u64,
    /// Matching raw events, also of days where some are deleted.
    raw: u64,
}

impl MatchingViews {
    fn has_any(&self) -> bool {
        self.views > 0 || self.raw > 0
    }
}

async fn find_in_day(
    reads: &ReadPool,
    project: i64,
    day: i64,
    is_raw: bool,
    matches: &Matches,
) -> Result<MatchingViews, Failure> {
    let mut found = MatchingViews::default();
    let mut connection = reads.acquire().await?;
    for id in day::blocks(&mut connection, project, day).await? {
        let block = day::read_block(&mut connection, id).await?;
        let (events, raw) = matches.count(&block, day * DAY, (day + 1) * DAY);
        (found.events, found.raw) = (found.events + events, found.raw + raw);
    }
    found.views = match is_raw {
        true => found.raw,
        false => rollups::find(&mut connection, project, day, matches).await?,
    };
    Ok(found)
}

async fn remove_from_day(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    is_raw: bool,
    matches: Matches,
) -> Result<(), Failure> {
    if is_raw {
        day::rewrite(connection, project, day, |block, from, to| matches.remove(block, from, to)).await?;
        return Ok(());
    }
    for id in day::blocks(connection, project, day).await? {
        let mut block = day::read_block(connection, id).await?;
        if matches.remove(&mut block, day * DAY, (day + 1) * DAY) > 0 {
            day::write_block(connection, id, &block).await?;
        }
    }
    rollups::remove(connection, project, day, &matches).await
}
