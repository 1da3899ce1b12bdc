//! Stores page views in one SQLite file.
//!
//! New events go to a journal. Compaction moves them to compressed blocks of raw events and to rollups by
//! hour and day. Prefix sums of the daily rollups are in memory.

mod compaction;
mod convert;
mod count;
mod day;
mod event_ids;
pub(crate) mod export;
mod forget;
mod forget_paths;
mod import_progress;
mod ingest;
mod keeper;
mod live;
mod load;
mod names;
mod owner;
mod path_days;
mod project;
mod reclassify;
mod reports;
mod retention;
mod salts;
mod series;
mod snapshot;
mod visitors;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base::sqlite::{Database, OpenError, Schema, WriteError};
use base::{Clock, ClockGuard, SchemaChange, pending_changes};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

use crate::encoding::DamagedData;
use crate::event::Event;
use crate::limits::{IngestLimiter, Limits};
use crate::list_query::ListQuery;
use crate::new_name_quota::NewNameQuota;
use crate::new_page_quota::NewPageQuota;
use crate::range::Range;
use crate::range_parts::days_in;
use crate::ranges::AddressRanges;
use crate::remote::ViewsToMove;
use crate::views::{Counts, Failure, FilePart, IngestError, Progress, Receipt, Views, Visitors};
use crate::visitor_salts::Salts;
use export::Export;
use keeper::{Batch, Command, Keeper};
use project::{ProjectCache, SharedProject};
use snapshot::Snapshot;

const MIGRATIONS: &[&str] = &[
    include_str!("sqlite/schema.sql"),
    include_str!("sqlite/blocks.sql"),
    include_str!("sqlite/imports.sql"),
    include_str!("sqlite/names.sql"),
    include_str!("sqlite/verifications.sql"),
];
/// The schema version of `views.db`: the number of migrations.
pub const VIEWS_SCHEMA: usize = MIGRATIONS.len();

/// What the next start changes in a `views.db` of this schema version.
pub fn pending_views_changes(schema: usize) -> Vec<SchemaChange> {
    pending_changes(MIGRATIONS, schema)
}

/// Commands that may wait for the keeper. Batches have their own, lower limit.
const MAX_QUEUED_COMMANDS: usize = 4096;
/// How long a close waits for the keeper, which may be compacting.
const KEEPER_TIMEOUT: Duration = Duration::from_secs(5);
/// A report can read much data from disk, so further reports wait.
const MAX_CONCURRENT_REPORTS: usize = 2;

/// Cheap to clone.
#[derive(Clone)]
pub struct SqliteViews {
    database: Database,
    clock: Arc<dyn Clock>,
    limiter: IngestLimiter,
    reports: Arc<Semaphore>,
    memory: Arc<ProjectCache>,
    keeper: mpsc::Sender<Command>,
}

impl SqliteViews {
    /// Opens or creates the file at `path`. Only one process may ingest page views.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_with(path, clock, Limits::default()).await
    }

    pub async fn open_with(path: &Path, clock: Arc<dyn Clock>, limits: Limits) -> Result<Self, OpenError> {
        let guard = ClockGuard::trusting(clock.clone());
        Self::open_guarded(path, clock, limits, guard, AddressRanges::shipped()).await
    }

    /// Deletes expired data only when the guard allows it. Verifies agents by `ranges`.
    pub async fn open_guarded(
        path: &Path,
        clock: Arc<dyn Clock>,
        limits: Limits,
        guard: Arc<ClockGuard>,
        ranges: AddressRanges,
    ) -> Result<Self, OpenError> {
        let database = Database::open(path, MIGRATIONS, Schema::Migrate).await?;
        convert::convert(&database).await.map_err(|failure| OpenError::Unusable {
            path: path.display().to_string(),
            source: sqlx::Error::Decode(crate::views::with_cause(&failure).into()),
        })?;
        let (commands, queue) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let memory = Arc::new(ProjectCache::default());
        let keeper = Keeper {
            database: database.clone(),
            clock: clock.clone(),
            guard,
            limits,
            memory: memory.clone(),
            event_ids: HashMap::new(),
            salts: Salts::default(),
            quota: NewPageQuota::default(),
            names: NewNameQuota::default(),
            ranges: Arc::new(ranges),
        };
        tokio::spawn(keeper.run(queue));
        let (limiter, reports) =
            (IngestLimiter::new(limits), Arc::new(Semaphore::new(MAX_CONCURRENT_REPORTS)));
        Ok(Self { database, clock, limiter, reports, memory, keeper: commands })
    }

    /// The newest stored timestamp, in milliseconds since 1970. It may be up to a day ahead of the clock.
    pub async fn newest(&self) -> Result<Option<i64>, Failure> {
        let newest = "SELECT max(at) FROM
            (SELECT max(received) AS at FROM journal UNION ALL SELECT max(last) FROM block)";
        Ok(sqlx::query_scalar(newest).fetch_one(&mut *self.database.reads().acquire().await?).await?)
    }

    /// What a move of all page views has to copy.
    pub async fn count_for_move(&self) -> Result<ViewsToMove, Failure> {
        let export = Export::new(self.database.clone());
        Ok(ViewsToMove { projects: export.projects().await?.len() as u64, events: export.events().await? })
    }

    /// Compacts every journal, so that an export has all views in blocks and rollups.
    pub(crate) async fn prepare_export(&self) -> Result<Export, Failure> {
        self.run_maintenance().await?;
        Ok(Export::new(self.database.clone()))
    }

    /// Compacts the journal and deletes expired data. The keeper also does this every minute.
    pub async fn run_maintenance(&self) -> Result<(), Failure> {
        self.send(Command::RunMaintenance).await
    }

    async fn ingest_batch(
        &self,
        project: &str,
        part: Option<FilePart>,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError> {
        let bytes = events.iter().map(Event::memory_bytes).sum();
        let permit = self.limiter.try_acquire(bytes).ok_or(IngestError::Busy)?;
        let project = project.to_owned();
        let result =
            self.send(|reply| Command::Ingest(Batch { project, part, events, reply, _permit: permit }));
        result.await?.map_err(IngestError::UnexpectedPart)
    }

    async fn send<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, Failure>>) -> Command,
    ) -> Result<T, Failure> {
        let stopped = || Failure::new("the keeper of the page views has stopped");
        let (reply, response) = oneshot::channel();
        self.keeper.send(command(reply)).await.map_err(|_| stopped())?;
        response.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Waits until another report may run.
    async fn report_permit(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.reports.acquire().await.map_err(Failure::new)
    }

    /// A snapshot of a project for a report, after compaction.
    async fn snapshot(&self, project: &str) -> Result<Option<Snapshot>, Failure> {
        self.send(|reply| Command::Compact(project.to_owned(), reply)).await
    }

    /// A project with its prefix sums in memory.
    async fn project_with_sums(&self, project: &str) -> Result<Option<Arc<SharedProject>>, Failure> {
        match self.memory.get(project) {
            Some(shared) if shared.read().prefix_sums.is_some() => Ok(Some(shared)),
            _ => self.send(|reply| Command::Load(project.to_owned(), reply)).await,
        }
    }
}

#[async_trait]
impl Views for SqliteViews {
    async fn ingest(&self, project: &str, events: Vec<Event>) -> Result<Receipt, IngestError> {
        match events.is_empty() {
            true => Ok(Receipt::default()),
            false => self.ingest_batch(project, None, events).await,
        }
    }

    async fn ingest_part(
        &self,
        project: &str,
        part: FilePart,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError> {
        self.ingest_batch(project, Some(part), events).await
    }

    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure> {
        import_progress::progress(self.database.reads(), project, file).await
    }

    async fn count(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Counts, Failure> {
        loop {
            let Some(shared) = self.project_with_sums(project).await? else { return Ok(Counts::default()) };
            if let Some(counts) = count::count(self.database.reads(), &shared, range, query).await? {
                return Ok(counts);
            }
        }
    }

    async fn visitors(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Visitors, Failure> {
        let days = days_in(range);
        loop {
            let Some(snapshot) = self.snapshot(project).await? else { return Ok(Visitors::default()) };
            let report = visitors::report(&self.database, &snapshot, days, query).await?;
            if snapshot.is_current() {
                return Ok(report);
            }
        }
    }

    async fn forget(&self, project: &str) -> Result<(), Failure> {
        self.send(|reply| Command::Forget(project.to_owned(), reply)).await
    }

    async fn checkpoint(&self) -> Result<bool, Failure> {
        Ok(self.database.checkpoint().await?)
    }

    async fn epoch(&self) -> Result<Option<i64>, Failure> {
        owner::read(&self.database).await
    }

    async fn set_epoch(&self, epoch: i64) -> Result<(), Failure> {
        owner::write(&self.database, epoch).await
    }

    async fn close(&self) {
        let (closing, closed) = oneshot::channel();
        let ended = async {
            if self.keeper.send(Command::Close(closing)).await.is_ok() {
                let _ = closed.await;
            }
        };
        if timeout(KEEPER_TIMEOUT, ended).await.is_err() {
            tracing::warn!("page views are still being compacted. The next start continues");
        }
        self.database.close().await;
    }

    async fn probe_write(&self) -> Result<(), Failure> {
        let probed = self.database.probe_write().await;
        probed.map_err(|error| error.trouble.map_or_else(|| Failure::new(error.message), Failure::new))
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::new(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        match base::sqlite::trouble(&error) {
            Some(trouble) => Self::new(trouble),
            None => Self::new(error),
        }
    }
}

impl From<DamagedData> for Failure {
    fn from(damaged: DamagedData) -> Self {
        Self::new(damaged)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

#[test]
fn every_migration_says_what_it_changes() {
    for migration in MIGRATIONS {
        assert_eq!(base::description_problem(migration), None, "{migration}");
    }
}
