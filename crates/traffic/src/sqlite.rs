//! Page views in one SQLite file, a row an event.

mod count;
mod take;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use base::Clock;
use base::sqlite::{Database, OpenError, Schema, WriteError};
use futures_util::FutureExt;
use sqlx::SqliteConnection;

use crate::event::Event;
use crate::range::Range;
use crate::room::{Limits, Room};
use crate::views::{Counts, Failure, Receipt, TakeError, Views};

const MIGRATIONS: &[&str] = &[include_str!("sqlite/schema.sql")];

pub struct SqliteViews {
    database: Database,
    clock: Arc<dyn Clock>,
    room: Room,
}

impl SqliteViews {
    /// Opens or makes the file at `path`, for the one process that takes page views.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_with(path, clock, Limits::default()).await
    }

    pub async fn open_with(path: &Path, clock: Arc<dyn Clock>, limits: Limits) -> Result<Self, OpenError> {
        let database = Database::open(path, MIGRATIONS, Schema::Migrate).await?;
        Ok(Self { database, clock, room: Room::new(limits) })
    }
}

#[async_trait]
impl Views for SqliteViews {
    async fn take(&self, project: &str, events: Vec<Event>) -> Result<Receipt, TakeError> {
        if events.is_empty() {
            return Ok(Receipt::default());
        }
        let weight = events.iter().map(Event::weight).sum();
        let place = self.room.enter(weight).ok_or(TakeError::Busy)?;
        let (project, now) = (project.to_owned(), self.clock.now_ms());
        let taken = self.database.write(move |connection| {
            async move {
                // Left when the batch is written, also if its sender is gone by then.
                let _place = place;
                take::take(connection, &project, events, now).await.map_err(Failure::new)
            }
            .boxed()
        });
        Ok(taken.await?)
    }

    async fn count(&self, project: &str, range: &Range, limit: u32, offset: u64) -> Result<Counts, Failure> {
        let question = count::Question { project, range, limit, offset };
        question.answer(self.database.reads()).await.map_err(Failure::new)
    }

    async fn forget(&self, project: &str) -> Result<(), Failure> {
        let project = project.to_owned();
        let forgotten = self.database.write(move |connection| {
            async move { forget(connection, &project).await.map_err(Failure::new) }.boxed()
        });
        forgotten.await
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::new(error)
    }
}

async fn forget(connection: &mut SqliteConnection, project: &str) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM event WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM word WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM seen WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM project WHERE name = ?",
    ] {
        sqlx::query(statement).bind(project).execute(&mut *connection).await?;
    }
    Ok(())
}
