//! A project as reports need it: its views sorted. While the disk takes no writes they cannot be, so what is not sorted
//! comes along, and reports go on without a write.

use std::sync::Arc;

use super::fold;
use super::keeper::Keeper;
use super::project::Shared;
use crate::block::{Block, Row};
use crate::views::Failure;

pub(super) struct Sorted {
    pub(super) shared: Arc<Shared>,
    unsorted: Option<Unsorted>,
}

struct Unsorted {
    block: Block,
    /// Of the project when this was read: after the next fold it is also among what is sorted.
    folds: u64,
}

impl Sorted {
    /// The views that are not sorted.
    pub(super) fn unsorted(&self) -> Option<&Block> {
        self.unsorted.as_ref().map(|unsorted| &unsorted.block)
    }

    pub(super) fn unsorted_rows(&self) -> impl Iterator<Item = &Row> {
        self.unsorted().into_iter().flat_map(|block| &block.rows)
    }

    /// Whether what was read since counts no view twice; if not, ask again.
    pub(super) fn is_current(&self) -> bool {
        self.unsorted.as_ref().is_none_or(|unsorted| self.shared.read().folds == unsorted.folds)
    }
}

impl Keeper {
    /// The project when all of its views are sorted, if there is one.
    pub(super) async fn sorted(&mut self, name: &str) -> Result<Option<Sorted>, Failure> {
        match self.folded(name).await {
            Err(failure) if failure.trouble().is_some() => self.with_unsorted(name).await,
            folded => Ok(folded?.map(|shared| Sorted { shared, unsorted: None })),
        }
    }

    async fn with_unsorted(&mut self, name: &str) -> Result<Option<Sorted>, Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(None) };
        let (project, folds) = {
            let project = shared.read();
            (project.id, project.folds)
        };
        let (block, _) = fold::read_journal(&mut *self.database.reads().acquire().await?, project).await?;
        Ok(Some(Sorted { shared, unsorted: Some(Unsorted { block, folds }) }))
    }
}

#[cfg(test)]
#[path = "sorted_tests.rs"]
mod tests;
