//! Compares what the ledger alone has: event ids, and the progress of imported files. No report shows them.

use super::ledger_steps::MAX_IMPORTS;
use super::{ExportedProject, ViewsTransfer};
use crate::comparison::Difference;
use crate::remote::transaction::transact;
use crate::sqlite::export::IdCursor;
use crate::views::Failure;

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
        let all = transact!(self.to.ledger, |tx| tx.count_ids(id).await)?;
        // An id that expired and came again is there twice before the move.
        if all > count { differ(count, all) } else { Ok(None) }
    }
}
