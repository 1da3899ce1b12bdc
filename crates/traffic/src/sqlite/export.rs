//! Reads everything of the page views, for another store. The journal must be empty: see
//! [`SqliteViews::prepare_export`](super::SqliteViews::prepare_export).

mod ids;
mod rollups;

use std::sync::Arc;

use base::sqlite::{Database, ReadConnection};
use futures_util::TryStreamExt;

use super::project::DAY;
use crate::block::{Block, PathRef};
use crate::name_counts::{OTHER_NAMES, each_name};
use crate::names::MAX_NAMES_PER_DAY;
use crate::pages::OTHER_PAGES;
use crate::views::{Failure, Progress};
use crate::visitor_salts::Salt;
pub(crate) use ids::IdCursor;
pub(crate) use rollups::Rollups;

/// The views of all projects.
#[derive(Clone)]
pub(crate) struct Export(Database);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportedProject {
    pub(crate) id: i64,
    pub(crate) name: String,
    /// Raw events before this time are deleted.
    pub(crate) raw_from: i64,
}

impl ExportedProject {
    pub(crate) fn raw_from_day(&self) -> i64 {
        self.raw_from.div_euclid(DAY)
    }
}

/// Pages by number.
pub(crate) struct ExportedPages(Vec<Arc<str>>);

impl ExportedPages {
    pub(crate) fn path(&self, number: u32) -> &str {
        let path = (number as usize).checked_sub(1).and_then(|index| self.0.get(index));
        path.map(|path| &**path).filter(|path| !path.is_empty()).unwrap_or(OTHER_PAGES)
    }
}

/// Raw events, in the order in which they were stored.
pub(crate) struct RawEvents {
    pub(crate) blocks: Vec<Block>,
    /// The number of the last block.
    pub(crate) last: i64,
}

impl Export {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    pub(crate) async fn projects(&self) -> Result<Vec<ExportedProject>, Failure> {
        let select = "SELECT id, name, raw_from FROM project ORDER BY id";
        let rows: Vec<(i64, String, i64)> =
            sqlx::query_as(select).fetch_all(&mut *self.reader().await?).await?;
        Ok(rows.into_iter().map(|(id, name, raw_from)| ExportedProject { id, name, raw_from }).collect())
    }

    /// The number of stored raw events of all projects, about: some may be older than the raw events of their project.
    pub(crate) async fn events(&self) -> Result<u64, Failure> {
        let sum = "SELECT (SELECT coalesce(sum(events), 0) FROM block) + (SELECT coalesce(sum(events), 0) FROM journal)";
        let events: i64 = sqlx::query_scalar(sum).fetch_one(&mut *self.reader().await?).await?;
        Ok(events.unsigned_abs())
    }

    pub(crate) async fn salts(&self) -> Result<Vec<(i64, Salt)>, Failure> {
        let rows = sqlx::query_as("SELECT day, salt FROM salt ORDER BY day");
        let rows: Vec<(i64, Vec<u8>)> = rows.fetch_all(&mut *self.reader().await?).await?;
        Ok(rows.into_iter().filter_map(|(day, salt)| Some((day, salt.try_into().ok()?))).collect())
    }

    /// The progress of imported files after one.
    pub(crate) async fn imports(
        &self,
        project: i64,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<(String, Progress)>, Failure> {
        let select = "SELECT file, bytes, hash FROM import WHERE project = ?1 AND (?2 IS NULL OR file > ?2)
            ORDER BY file LIMIT ?3";
        let select = sqlx::query_as(select).bind(project).bind(after.map(str::to_owned)).bind(limit);
        let rows: Vec<(String, i64, String)> = select.fetch_all(&mut *self.reader().await?).await?;
        let import = |(file, bytes, hash): (String, i64, String)| {
            (file, Progress { bytes: bytes.unsigned_abs(), hash })
        };
        Ok(rows.into_iter().map(import).collect())
    }

    pub(crate) async fn pages(&self, project: i64) -> Result<ExportedPages, Failure> {
        let select = "SELECT path FROM page WHERE project = ? ORDER BY number";
        let paths: Vec<String> =
            sqlx::query_scalar(select).bind(project).fetch_all(&mut *self.reader().await?).await?;
        Ok(ExportedPages(paths.into_iter().map(Arc::from).collect()))
    }

    /// Named pages after a number, each with its number and the day on which it was found.
    pub(crate) async fn named_pages(
        &self,
        project: i64,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, String, i64)>, Failure> {
        let select = "SELECT number, path, day FROM page WHERE project = ? AND number > ? AND path <> ''
            ORDER BY number LIMIT ?";
        let pages = sqlx::query_as(select).bind(project).bind(after).bind(limit);
        Ok(pages.fetch_all(&mut *self.reader().await?).await?)
    }

    /// The days with reads, from a day on.
    pub(crate) async fn read_days(&self, project: i64, from: i64) -> Result<Vec<i64>, Failure> {
        let days = sqlx::query_scalar("SELECT day FROM day WHERE project = ? AND day >= ? ORDER BY day");
        Ok(days.bind(project).bind(from).fetch_all(&mut *self.reader().await?).await?)
    }

    /// Blocks after one: up to the block `until`, or until they have `max_events`. Paths of reads are texts.
    pub(crate) async fn raw_events(
        &self,
        project: i64,
        pages: &ExportedPages,
        (after, until): (i64, Option<i64>),
        max_events: usize,
    ) -> Result<RawEvents, Failure> {
        let select = "SELECT id, block FROM block WHERE project = ? AND id > ? AND id <= ? ORDER BY id";
        let mut connection = self.reader().await?;
        let blocks = sqlx::query_as::<_, (i64, Vec<u8>)>(select).bind(project).bind(after);
        let mut blocks = blocks.bind(until.unwrap_or(i64::MAX)).fetch(&mut *connection);
        let (mut found, mut events) = (RawEvents { blocks: Vec::new(), last: after }, 0);
        while let Some((id, packed)) = blocks.try_next().await? {
            let mut block = Block::decode(&packed)?;
            name_pages(&mut block, pages);
            events += block.rows.len();
            found.blocks.push(block);
            found.last = id;
            if until.is_none() && events >= max_events {
                break;
            }
        }
        Ok(found)
    }

    /// The days whose further names count as other, with the names that they have. A day that was compacted again after
    /// it was full has one name less: `(other)` takes its place.
    pub(crate) async fn full_name_days(
        &self,
        project: i64,
        mut with: impl FnMut(u8, i64, Vec<String>),
    ) -> Result<(), Failure> {
        let select = "SELECT about, day, names FROM named WHERE project = ? AND about IN (1, 2, 3)";
        let mut connection = self.reader().await?;
        let mut rows = sqlx::query_as::<_, (u8, i64, Vec<u8>)>(select).bind(project).fetch(&mut *connection);
        while let Some((about, day, packed)) = rows.try_next().await? {
            let mut names = Vec::new();
            each_name(&packed, |name, _| names.push(name.to_owned()))?;
            let is_full = names.len() >= MAX_NAMES_PER_DAY || names.iter().any(|name| name == OTHER_NAMES);
            if is_full {
                names.retain(|name| name != OTHER_NAMES);
                with(about, day, names);
            }
        }
        Ok(())
    }

    async fn reader(&self) -> Result<ReadConnection, Failure> {
        Ok(self.0.reads().acquire().await?)
    }
}

/// Replaces the numbers of pages, which only this project knows, with their paths.
fn name_pages(block: &mut Block, pages: &ExportedPages) {
    let mut numbers = std::collections::HashMap::<u32, u32>::new();
    for row in &mut block.rows {
        if let PathRef::Page(page) = row.path {
            let number = numbers.entry(page).or_insert_with(|| block.texts.number(pages.path(page)));
            row.path = PathRef::Text(*number);
        }
    }
}
