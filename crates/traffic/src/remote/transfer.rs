//! Moves the page views of a data directory to the ledger and to ClickHouse, exactly once.
//!
//! The ledger records how far each project is. Rows for ClickHouse are sent as shipments are ([`ship`](super::ship)): first
//! the ledger records which rows a part has, under a random token, then the part is sent, then the ledger records that it
//! was. After an interruption, the same rows are sent under the same token, and ClickHouse inserts them once.
//!
//! A project keeps its number, because the hash of a visitor depends on it: a reader of the day of the move counts once.

mod events;
mod ledger_comparison;
mod ledger_steps;
mod rollups;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::binding::found_ids;
use super::engine::Engine;
use super::name_folds::FullDays;
use super::rows::Answer;
use super::schema::{self, TABLES};
use super::ship::random_token;
use super::transaction::transact;
use super::{RemoteViews, Shared, ViewsUrl};
use crate::comparison::Difference;
use crate::sqlite::SqliteViews;
use crate::sqlite::export::{Export, ExportedPages, ExportedProject};
use crate::views::{Failure, Unavailable};
use events::EventPart;
use rollups::RollupPart;
use state::{Pending, ProjectState, Stage};

/// Rows in one part. ClickHouse inserts them as one block.
const PART_ROWS: usize = 200_000;
/// The step that records that the target was empty.
const BEGUN: &str = "views";

/// What a ClickHouse database has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundViews {
    pub has_views: bool,
    /// The ids of the ledgers that it belongs to: none, or one.
    pub ids: Vec<String>,
}

/// Looks into a ClickHouse database. Creates the tables if there are none.
pub async fn find_page_views(url: ViewsUrl, cluster: Option<String>) -> Result<FoundViews, Failure> {
    let engine = Engine::new(url, cluster)?;
    schema::prepare(&engine).await?;
    Ok(FoundViews { has_views: has_rows(&engine).await?, ids: found_ids(&engine).await? })
}

async fn has_rows(engine: &Engine) -> Result<bool, Failure> {
    for table in TABLES {
        if count(engine, &format!("SELECT count() FROM {table}")).await? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn count(engine: &Engine, sql: &str) -> Result<u64, Failure> {
    let rows = engine.query(sql.to_owned()).await?;
    Answer::new(&rows).u64()
}

/// What is to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewsToMove {
    pub projects: u64,
    /// Raw events.
    pub events: u64,
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredPart {
    pub project: String,
    /// Raw events that are moved now.
    pub events: u64,
}

/// Rows of a part, encoded for ClickHouse, and what the ledger records once they are inserted.
enum Part {
    Rollups(RollupPart),
    Events(EventPart),
}

/// A project that is being moved.
struct Current {
    project: ExportedProject,
    pages: ExportedPages,
    full_days: FullDays,
    state: ProjectState,
    part_rows: usize,
    /// The part that the ledger knows as pending.
    part: Option<Part>,
    is_sent: bool,
}

pub struct ViewsTransfer {
    from: Export,
    to: Arc<Shared>,
    projects: Vec<ExportedProject>,
    current: Option<Current>,
    part_rows: usize,
}

impl ViewsTransfer {
    /// Compacts the source, and creates the tables in ClickHouse. No other process may write to the source until the move
    /// is complete.
    pub async fn open(from: &SqliteViews, to: &RemoteViews) -> Result<Self, Failure> {
        let from = from.prepare_export().await?;
        let to = to.0.shared.clone();
        to.ready().await?;
        let projects = from.projects().await?;
        Ok(Self { from, to, projects, current: None, part_rows: PART_ROWS })
    }

    /// Sends so many rows at once, about. Tests send few.
    #[must_use]
    pub fn with_part_rows(self, part_rows: usize) -> Self {
        Self { part_rows, ..self }
    }

    pub fn projects(&self) -> Vec<String> {
        self.projects.iter().map(|project| project.name.clone()).collect()
    }

    /// Whether ClickHouse has page views, although no move to this ledger began.
    pub async fn has_other_views(&self) -> Result<bool, Failure> {
        if transact!(self.to.ledger, |tx| tx.step(BEGUN).await)?.is_some() {
            return Ok(false);
        }
        has_rows(self.to.ready().await?).await
    }

    /// Does the next step, which has one lasting effect. `None`: everything is moved.
    pub async fn step(&mut self) -> Result<Option<TransferredPart>, Failure> {
        if self.current.is_none() {
            if !self.begin().await? {
                return Ok(Some(TransferredPart { project: String::new(), events: 0 }));
            }
            self.current = self.next_project().await?;
        }
        let Some(current) = &mut self.current else { return Ok(None) };
        let project = current.project.name.clone();
        let events = match current.state.stage {
            Stage::Pages => current.move_pages(&self.from, &self.to).await.map(|()| 0),
            Stage::Imports => current.move_imports(&self.from, &self.to).await.map(|()| 0),
            Stage::Rollups | Stage::Events => current.move_part(&self.from, &self.to).await,
            Stage::Ids => current.move_ids(&self.from, &self.to).await.map(|()| 0),
            Stage::Complete => Ok(0),
        }?;
        if current.state.stage == Stage::Complete {
            self.current = None;
        }
        Ok(Some(TransferredPart { project, events }))
    }

    /// Compares the numbers of raw events.
    pub async fn compare_events(&self) -> Result<Option<Difference>, Failure> {
        for project in &self.projects {
            let moved = self.state(project).await?.map_or(0, |state| state.events);
            let sql = format!("SELECT count() FROM views WHERE project = {}", project.id);
            let found = count(self.to.ready().await?, &sql).await?;
            if moved != found {
                let question = format!("the number of raw events of {}", project.name);
                return Ok(Some(Difference::new(question, moved, found)));
            }
        }
        Ok(None)
    }

    /// The raw events that were moved, also before an interruption.
    pub async fn moved_events(&self) -> Result<u64, Failure> {
        let mut events = 0;
        for project in &self.projects {
            events += self.state(project).await?.map_or(0, |state| state.events);
        }
        Ok(events)
    }

    /// Records that the move begins, with the salts. Returns whether that was recorded before.
    async fn begin(&self) -> Result<bool, Failure> {
        if transact!(self.to.ledger, |tx| tx.step(BEGUN).await)?.is_some() {
            return Ok(true);
        }
        let salts = self.from.salts().await?;
        transact!(self.to.ledger, |tx| {
            tx.salts(&salts, None).await?;
            tx.save_step(BEGUN, "{}").await
        })?;
        Ok(false)
    }

    async fn next_project(&self) -> Result<Option<Current>, Failure> {
        for project in &self.projects {
            let state = self.state(project).await?;
            if state.as_ref().is_none_or(|state| state.stage != Stage::Complete) {
                return self.load(project.clone(), state.unwrap_or_default()).await.map(Some);
            }
        }
        Ok(None)
    }

    async fn load(&self, project: ExportedProject, state: ProjectState) -> Result<Current, Failure> {
        let mut full_days = FullDays::default();
        let id = project.id;
        self.from.full_name_days(id, |about, day, names| full_days.add((id, about, day), &names)).await?;
        let pages = self.from.pages(id).await?;
        let part_rows = self.part_rows;
        Ok(Current { project, pages, full_days, state, part_rows, part: None, is_sent: false })
    }

    async fn state(&self, project: &ExportedProject) -> Result<Option<ProjectState>, Failure> {
        let step = state::step_of(project.id);
        let state = transact!(self.to.ledger, |tx| tx.step(&step).await)?;
        state.map(|state| ProjectState::decode(&state)).transpose()
    }
}

impl Current {
    /// Records the next part, sends it, or records that it was sent. Returns the number of raw events that are moved now.
    async fn move_part(&mut self, from: &Export, to: &Shared) -> Result<u64, Failure> {
        let pending = self.state.pending.clone();
        let until = pending.as_ref().map(|pending| pending.until);
        if self.part.is_none() {
            self.part = self.read_part(from, until).await?;
        }
        match (&self.part, pending) {
            (None, None) => self.end_stage(from, to).await.map(|()| 0),
            (None, Some(_)) => {
                Err(Failure::new(Unavailable("views.db has changed since the move began".into())))
            }
            (Some(part), None) => {
                let pending = Pending { until: part.until(), token: random_token()? };
                self.save(to, ProjectState { pending: Some(pending), ..self.state.clone() }).await.map(|()| 0)
            }
            (Some(part), Some(pending)) if !self.is_sent => {
                part.send(to, self.project.id, &pending.token).await?;
                self.is_sent = true;
                Ok(0)
            }
            (Some(_), Some(pending)) => self.complete_part(to, pending.until).await,
        }
    }

    async fn read_part(&self, from: &Export, until: Option<i64>) -> Result<Option<Part>, Failure> {
        Ok(match self.state.stage {
            Stage::Rollups => RollupPart::read(from, self, until).await?.map(Part::Rollups),
            _ => EventPart::read(from, self, until).await?.map(Part::Events),
        })
    }

    async fn complete_part(&mut self, to: &Shared, until: i64) -> Result<u64, Failure> {
        let Some(part) = &self.part else { return Ok(0) };
        let (id, raw_from_day) = (self.project.id, self.project.raw_from_day());
        let next = ProjectState {
            after: until,
            pending: None,
            events: self.state.events + part.events(),
            ..self.state.clone()
        };
        let (step, encoded) = (state::step_of(id), next.encode());
        transact!(to.ledger, |tx| {
            match part {
                Part::Rollups(part) => part.record(tx, id, raw_from_day).await?,
                Part::Events(part) => part.record(tx, id, raw_from_day).await?,
            }
            tx.save_step(&step, &encoded).await
        })?;
        let events = part.events();
        (self.state, self.part, self.is_sent) = (next, None, false);
        Ok(events)
    }

    async fn save(&mut self, to: &Shared, next: ProjectState) -> Result<(), Failure> {
        let (step, encoded) = (state::step_of(self.project.id), next.encode());
        transact!(to.ledger, |tx| tx.save_step(&step, &encoded).await)?;
        self.state = next;
        Ok(())
    }
}

impl Part {
    fn until(&self) -> i64 {
        match self {
            Self::Rollups(part) => part.until,
            Self::Events(part) => part.until,
        }
    }

    fn events(&self) -> u64 {
        match self {
            Self::Rollups(_) => 0,
            Self::Events(part) => part.events,
        }
    }

    async fn send(&self, to: &Shared, project: i64, token: &str) -> Result<(), Failure> {
        match self {
            Self::Rollups(part) => part.send(to, project, token).await,
            Self::Events(part) => part.send(to, token).await,
        }
    }
}

/// Days, and whether each has reads.
type Days = BTreeMap<i64, bool>;

fn list(days: &Days) -> Vec<(i64, bool)> {
    days.iter().map(|(day, has_reads)| (*day, *has_reads)).collect()
}
