//! Compares what the ledger alone has: event ids, and the progress of imported files. No report shows them.

use super::ledger_steps::MAX_IMPORTS;
use super::{ExportedProject, ViewsTransfer};
use crate::comparison::Difference;
use crate::remote::transaction::transact;
use crate::sqlite::export::IdCursor;
use crate::views::Failure;

/// A statement may not take long, also right after millions of ids were added.
const IDS_PER_COUNT: u64 = 250_000;
const MAX_PARTS: u64 = 256;

impl ViewsTransfer {
    pub async fn compare_ledger(&self) -> Result<Option<Difference>, Failure> {
        for project in &self.projects {
            let difference = match self.compare_imports(project).await? {
                None => self.compare_ids(project).await?,
                difference => difference,
            };
            if difference.is_some() {
                return Ok(difference);
            }
        }
        Ok(None)
    }

    async fn compare_imports(&self, project: &ExportedProject) -> Result<Option<Difference>, Failure> {
        let (id, mut after) = (project.id, None::<String>);
        loop {
            let old = self.from.imports(id, after.as_deref(), MAX_IMPORTS).await?;
            let new = transact!(self.to.ledger, |tx| tx.imports(id, after.as_deref(), MAX_IMPORTS).await)?;
            if old != new {
                let number = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
                let question = format!("the progress of imported files of {}", project.name);
                return Ok(Some(Difference::new(question, old.get(number), new.get(number))));
            }
            match old.into_iter().last() {
                Some((file, _)) => after = Some(file),
                None => return Ok(None),
            }
        }
    }

    /// The ledger has every id, received no earlier, and no other one.
    async fn compare_ids(&self, project: &ExportedProject) -> Result<Option<Difference>, Failure> {
        let (id, mut cursor, mut count) = (project.id, IdCursor::default(), 0);
        let differ = |old: u64, new: u64| {
            Ok(Some(Difference::new(format!("the number of event ids of {}", project.name), old, new)))
        };
        while let Some((ids, next)) = self.from.ids(id, &cursor).await? {
            let found = transact!(self.to.ledger, |tx| tx.count_known_ids(id, &ids).await)?;
            if found != ids.len() as u64 {
                return differ(count + ids.len() as u64, count + found);
            }
            (count, cursor) = (count + found, next);
        }
        let all = self.count_ids(id, count).await?;
        // An id that expired and came again is there twice before the move.
        if all > count { differ(count, all) } else { Ok(None) }
    }

    /// Counts the ids that the ledger has, of which there are about `expected`. Ids are hashes, so each first byte is as
    /// frequent as another.
    async fn count_ids(&self, project: i64, expected: u64) -> Result<u64, Failure> {
        let parts = (expected / IDS_PER_COUNT).clamp(1, MAX_PARTS);
        let first_byte = |part: u64| u8::try_from(part * MAX_PARTS / parts).ok().map(|byte| vec![byte]);
        let mut count = 0;
        for part in 0..parts {
            // Nothing is above the last part.
            let (from, below) = (first_byte(part).unwrap_or_default(), first_byte(part + 1));
            let counted =
                transact!(self.to.ledger, |tx| tx.count_ids(project, &from, below.as_deref()).await);
            count += counted?;
        }
        Ok(count)
    }
}
