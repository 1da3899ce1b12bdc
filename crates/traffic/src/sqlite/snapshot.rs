//! A snapshot of a project for reports: its compacted data, and the journal if compaction failed.
//!
//! While the disk takes no writes, the journal cannot be compacted. Then reports read it in addition, and
//! still work.

use std::sync::Arc;

use super::compaction;
use super::keeper::Keeper;
use super::project::SharedProject;
use crate::block::{Block, Row};
use crate::views::Failure;

pub(super) struct Snapshot {
    pub(super) shared: Arc<SharedProject>,
    journal: Option<Journal>,
}

struct Journal {
    block: Block,
    /// The project's version when the journal was read. After the next compaction, its views are on disk,
    /// too.
    disk_version: u64,
}

impl Snapshot {
    /// The views that are not compacted.
    pub(super) fn journal(&self) -> Option<&Block> {
        self.journal.as_ref().map(|journal| &journal.block)
    }

    pub(super) fn journal_rows(&self) -> impl Iterator<Item = &Row> {
        self.journal().into_iter().flat_map(|block| &block.rows)
    }

    /// False when a compaction since then could make a report count a view twice: retry.
    pub(super) fn is_current(&self) -> bool {
        self.journal.as_ref().is_none_or(|journal| self.shared.read().disk_version == journal.disk_version)
    }
}

impl Keeper {
    /// Compacts a project and returns its snapshot, if the project exists.
    pub(super) async fn snapshot(&mut self, name: &str) -> Result<Option<Snapshot>, Failure> {
        match self.load_compacted(name).await {
            Err(failure) if failure.trouble().is_some() => self.snapshot_with_journal(name).await,
            compacted => Ok(compacted?.map(|shared| Snapshot { shared, journal: None })),
        }
    }

    async fn snapshot_with_journal(&mut self, name: &str) -> Result<Option<Snapshot>, Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(None) };
        let (project, disk_version) = {
            let project = shared.read();
            (project.id, project.disk_version)
        };
        let mut connection = self.database.reads().acquire().await?;
        let (block, _) = compaction::read_journal(&mut connection, project).await?;
        Ok(Some(Snapshot { shared, journal: Some(Journal { block, disk_version }) }))
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
