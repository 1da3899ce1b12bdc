//! The steps that write to the ledger alone: pages, imported files, event ids, and the ends of stages.

use super::state::{ProjectState, Stage, step_of};
use super::{Current, Shared};
use crate::remote::transaction::transact;
use crate::sqlite::export::Export;
use crate::views::Failure;

/// Few enough for one transaction.
const MAX_PAGES: i64 = 10_000;
pub(super) const MAX_IMPORTS: i64 = 1_000;

impl Current {
    /// Moves pages. The first step also creates the project.
    pub(super) async fn move_pages(&mut self, from: &Export, to: &Shared) -> Result<(), Failure> {
        let project = &self.project;
        let pages = from.named_pages(project.id, self.state.after, MAX_PAGES).await?;
        let next = match pages.last() {
            Some((number, ..)) => ProjectState { after: *number, ..self.state.clone() },
            None => self.state.at(Stage::Imports),
        };
        let mut days: Vec<(i64, Vec<String>)> = Vec::new();
        for (_, path, day) in pages {
            match days.last_mut() {
                Some((last, paths)) if *last == day => paths.push(path),
                _ => days.push((day, vec![path])),
            }
        }
        let (step, encoded) = (step_of(project.id), next.encode());
        transact!(to.ledger, |tx| {
            tx.create_project(project.id, &project.name, project.raw_from).await?;
            for (day, paths) in &days {
                tx.add_pages(project.id, *day, paths).await?;
            }
            tx.save_step(&step, &encoded).await
        })?;
        self.state = next;
        Ok(())
    }

    /// Moves the progress of imported files.
    pub(super) async fn move_imports(&mut self, from: &Export, to: &Shared) -> Result<(), Failure> {
        let id = self.project.id;
        let imports = from.imports(id, self.state.file.as_deref(), MAX_IMPORTS).await?;
        let next = match imports.last() {
            Some((file, _)) => ProjectState { file: Some(file.clone()), ..self.state.clone() },
            None => self.state.at(Stage::Rollups),
        };
        let (step, encoded) = (step_of(id), next.encode());
        transact!(to.ledger, |tx| {
            if !imports.is_empty() {
                tx.add_imports(id, &imports).await?;
            }
            tx.save_step(&step, &encoded).await
        })?;
        self.state = next;
        Ok(())
    }

    pub(super) async fn move_ids(&mut self, from: &Export, to: &Shared) -> Result<(), Failure> {
        let id = self.project.id;
        let found = from.ids(id, &self.state.ids).await?;
        let (ids, next) = match found {
            Some((ids, cursor)) => (ids, ProjectState { ids: cursor, ..self.state.clone() }),
            None => (Vec::new(), self.state.at(Stage::Complete)),
        };
        let (step, encoded) = (step_of(id), next.encode());
        transact!(to.ledger, |tx| {
            if !ids.is_empty() {
                tx.add_ids(id, &ids).await?;
            }
            tx.save_step(&step, &encoded).await
        })?;
        self.state = next;
        Ok(())
    }

    /// Begins the next stage. After the raw events, every day that has or had reads is known to the ledger, also one whose
    /// reads were removed.
    pub(super) async fn end_stage(&mut self, from: &Export, to: &Shared) -> Result<(), Failure> {
        if self.state.stage == Stage::Rollups {
            return self.save(to, self.state.at(Stage::Events)).await;
        }
        let (id, raw_from_day) = (self.project.id, self.project.raw_from_day());
        let days = from.read_days(id, raw_from_day).await?;
        let days: Vec<(i64, bool)> = days.into_iter().map(|day| (day, true)).collect();
        let next = self.state.at(Stage::Ids);
        let (step, encoded) = (step_of(id), next.encode());
        transact!(to.ledger, |tx| {
            if !days.is_empty() {
                tx.touch_days(id, &days, raw_from_day).await?;
            }
            tx.save_step(&step, &encoded).await
        })?;
        self.state = next;
        Ok(())
    }
}
