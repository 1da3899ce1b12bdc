//! The store on SQLite. One file a trait, in the trait's order.

mod accounts;
mod clocks;
mod conversation;
mod create;
mod home;
mod jobs;
mod leases;
mod line;
mod notes;
mod once;
mod people;
mod pulls;
mod rates;
mod secrets;
mod sessions;
mod suspects;
mod sweeps;
mod upkeep;

use std::path::Path;
use std::sync::Arc;

use base::sqlite::{Database, Schema};
use base::{Clock, ClockGuard};
use futures_util::FutureExt;
use jiff::Timestamp;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Row, Sqlite};
use tokio::sync::Notify;

use crate::kept::from_ms;
use crate::progress::{ProgressReads, progress_reads};
use crate::secret::CHECK;
use crate::shared::Shared;
use crate::{ApiKey, MasterKey, Project, ProjectId, Result, Secrets};

pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_spine.sql"),
    include_str!("../../migrations/0002_follow_ups.sql"),
    include_str!("../../migrations/0003_conversations.sql"),
    include_str!("../../migrations/0004_project_choices.sql"),
    include_str!("../../migrations/0005_later.sql"),
    include_str!("../../migrations/0006_when_it_was_said.sql"),
    include_str!("../../migrations/0007_hosting.sql"),
    include_str!("../../migrations/0008_engine.sql"),
    include_str!("../../migrations/0009_merges.sql"),
    include_str!("../../migrations/0010_people.sql"),
    include_str!("../../migrations/0011_figures.sql"),
    include_str!("../../migrations/0012_invitations.sql"),
    include_str!("../../migrations/0013_deaths.sql"),
    include_str!("../../migrations/0014_clock.sql"),
    include_str!("../../migrations/0015_context.sql"),
    include_str!("../../migrations/0016_member_access.sql"),
];

#[derive(Clone)]
pub struct SqliteStore {
    db: Database,
    clock: Arc<dyn Clock>,
    guard: Arc<ClockGuard>,
    master: MasterKey,
    keys: Shared<Vec<u8>, Option<ApiKey>>,
    projects: Shared<ProjectId, Option<Project>>,
    rates: Shared<rates::Window, u32>,
    creates: create::Creates,
    progress: ProgressReads,
    /// Rung when a job comes in, so that a worker starts it at once.
    work: Arc<Notify>,
    /// Rung when a job may have an event more, for those who watch it, and when a key or a session ended.
    news: Arc<Notify>,
}

impl SqliteStore {
    pub async fn open(path: &Path, schema: Schema, master: MasterKey, clock: Arc<dyn Clock>) -> Result<Self> {
        let db = Database::open(path, MIGRATIONS, schema).await?;
        let store = Self::over(db, clock, master);
        store.check_master_key().await?;
        Ok(store)
    }

    /// Reads a database of this version, and changes nothing.
    pub async fn look(path: &Path, master: MasterKey, clock: Arc<dyn Clock>) -> Result<Self> {
        let store = Self::over(Database::open_read_only(path, MIGRATIONS).await?, clock, master);
        store.secret(CHECK.0, CHECK.1).await?;
        Ok(store)
    }

    fn over(db: Database, clock: Arc<dyn Clock>, master: MasterKey) -> Self {
        let guard = ClockGuard::new(clock.clone());
        let (reads, time) = (db.reads().clone(), clock.clone());
        let keys = move |hash| accounts::key_of(reads.clone(), hash, time.clone());
        let reads = db.reads().clone();
        let projects = move |id| accounts::project_of(reads.clone(), id);
        let reads = db.reads().clone();
        let rates = move |window| rates::used_of(reads.clone(), window);
        let reads = db.reads().clone();
        let progress = move |ids| jobs::progress_of(reads.clone(), ids);
        Self {
            keys: Shared::new(keys),
            projects: Shared::new(projects),
            rates: Shared::new(rates),
            creates: create::creates(db.clone(), guard.clone()),
            progress: progress_reads(progress),
            work: Arc::new(Notify::new()),
            news: Arc::new(Notify::new()),
            db,
            clock,
            guard,
            master,
        }
    }

    /// A write of one statement; answers how many rows it touched.
    async fn execute(&self, query: Query<'static, Sqlite, SqliteArguments>) -> Result<u64> {
        self.db.write(|db| async move { Ok(query.execute(db).await?.rows_affected()) }.boxed()).await
    }
}

/// A column that holds a moment.
fn time(row: &SqliteRow, column: &str) -> Result<Timestamp> {
    from_ms(row.try_get(column)?)
}

fn time_or_none(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>> {
    row.try_get::<Option<i64>, _>(column)?.map(from_ms).transpose()
}
