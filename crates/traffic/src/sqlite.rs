//! Page views in one SQLite file. Events are kept in blocks, reads in cells of hours and days, and
//! what a question needs of them in memory.

mod convert;
mod count;
mod day;
mod fold;
mod forget;
mod forget_paths;
mod keeper;
mod ledger;
mod live;
mod load;
mod names;
mod parts;
mod project;
mod reclassify;
mod reports;
mod retention;
mod salts;
mod seen;
mod series;
mod sorted;
mod take;
mod visitors;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base::sqlite::{Database, OpenError, Schema, WriteError};
use base::{Clock, ClockGuard};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

use crate::bytes::Damaged;
use crate::event::Event;
use crate::portion::Portion;
use crate::range::Range;
use crate::room::{Limits, Room};
use crate::share::NewPageShares;
use crate::views::{Counts, Failure, Part, Progress, Receipt, TakeError, Views, Visitors};
use keeper::{Ask, Batch, Keeper};
use project::{InMemory, Shared};
use salts::Salts;
use sorted::Sorted;

const MIGRATIONS: &[&str] = &[
    include_str!("sqlite/schema.sql"),
    include_str!("sqlite/blocks.sql"),
    include_str!("sqlite/imports.sql"),
    include_str!("sqlite/names.sql"),
];
/// How many migrations a `views.db` of this version has seen.
pub const VIEWS_SCHEMA: usize = MIGRATIONS.len();
/// Messages that may wait for the keeper; batches are bounded before that.
const QUEUE: usize = 4096;
/// How long a close waits for the keeper, which may be in the middle of a fold.
const KEEPER_TIMEOUT: Duration = Duration::from_secs(5);
/// A report can look at much that is on disk; the others wait for their turn.
const REPORTS: usize = 2;

/// Cheap to clone.
#[derive(Clone)]
pub struct SqliteViews {
    database: Database,
    clock: Arc<dyn Clock>,
    room: Room,
    /// Reports that may be made at once.
    reports: Arc<Semaphore>,
    memory: Arc<InMemory>,
    keeper: mpsc::Sender<Ask>,
}

impl SqliteViews {
    /// Opens or makes the file at `path`, for the one process that takes page views.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_with(path, clock, Limits::default()).await
    }

    pub async fn open_with(path: &Path, clock: Arc<dyn Clock>, limits: Limits) -> Result<Self, OpenError> {
        let guard = ClockGuard::trusting(clock.clone());
        Self::open_guarded(path, clock, limits, guard).await
    }

    /// Deletes what is too old only as the guard allows.
    pub async fn open_guarded(
        path: &Path,
        clock: Arc<dyn Clock>,
        limits: Limits,
        guard: Arc<ClockGuard>,
    ) -> Result<Self, OpenError> {
        let database = Database::open(path, MIGRATIONS, Schema::Migrate).await?;
        convert::convert(&database).await.map_err(|failure| OpenError::Unusable {
            path: path.display().to_string(),
            source: sqlx::Error::Decode(keeper::because(&failure).into()),
        })?;
        let (asks, queue) = mpsc::channel(QUEUE);
        let memory = Arc::new(InMemory::default());
        let keeper = Keeper {
            database: database.clone(),
            clock: clock.clone(),
            guard,
            limits,
            memory: memory.clone(),
            seen: HashMap::new(),
            salts: Salts::default(),
            shares: NewPageShares::default(),
        };
        tokio::spawn(keeper.run(queue));
        let (room, reports) = (Room::new(limits), Arc::new(Semaphore::new(REPORTS)));
        Ok(Self { database, clock, room, reports, memory, keeper: asks })
    }

    /// The newest time that is known of, in milliseconds since 1970. A view may be a day ahead of it.
    pub async fn newest(&self) -> Result<Option<i64>, Failure> {
        let newest = "SELECT max(at) FROM
            (SELECT max(received) AS at FROM journal UNION ALL SELECT max(last) FROM block)";
        Ok(sqlx::query_scalar(newest).fetch_one(self.database.reads()).await?)
    }

    /// Sorts what came in and lets go of what is too old, which otherwise happens when a minute
    /// has passed or much has come.
    pub async fn tidy(&self) -> Result<(), Failure> {
        self.ask(Ask::Tidy).await
    }

    async fn batch(
        &self,
        project: &str,
        part: Option<Part>,
        events: Vec<Event>,
    ) -> Result<Receipt, TakeError> {
        let weight = events.iter().map(Event::weight).sum();
        let place = self.room.enter(weight).ok_or(TakeError::Busy)?;
        let project = project.to_owned();
        let taken = self.ask(|answer| Ask::Take(Batch { project, part, events, answer, _place: place }));
        taken.await?.map_err(TakeError::NotNext)
    }

    async fn ask<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T, Failure>>) -> Ask,
    ) -> Result<T, Failure> {
        let gone = || Failure::new("the keeper of the page views has stopped");
        let (answer, answered) = oneshot::channel();
        self.keeper.send(ask(answer)).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// A place among those whose report is being made.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.reports.acquire().await.map_err(Failure::new)
    }

    /// A project whose views are sorted, as far as that can be written.
    async fn sorted(&self, project: &str) -> Result<Option<Sorted>, Failure> {
        self.ask(|answer| Ask::Fold(project.to_owned(), answer)).await
    }

    /// A project with the sums of its days.
    async fn whole(&self, project: &str) -> Result<Option<Arc<Shared>>, Failure> {
        match self.memory.get(project) {
            Some(shared) if shared.read().index.is_some() => Ok(Some(shared)),
            _ => self.ask(|answer| Ask::Load(project.to_owned(), answer)).await,
        }
    }
}

#[async_trait]
impl Views for SqliteViews {
    async fn take(&self, project: &str, events: Vec<Event>) -> Result<Receipt, TakeError> {
        match events.is_empty() {
            true => Ok(Receipt::default()),
            false => self.batch(project, None, events).await,
        }
    }

    async fn take_part(&self, project: &str, part: Part, events: Vec<Event>) -> Result<Receipt, TakeError> {
        self.batch(project, Some(part), events).await
    }

    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure> {
        ledger::progress(self.database.reads(), project, file).await
    }

    async fn count(&self, project: &str, range: &Range, portion: &Portion) -> Result<Counts, Failure> {
        loop {
            let Some(shared) = self.whole(project).await? else { return Ok(Counts::default()) };
            if let Some(counts) = count::count(self.database.reads(), &shared, range, portion).await? {
                return Ok(counts);
            }
        }
    }

    async fn visitors(&self, project: &str, range: &Range, portion: &Portion) -> Result<Visitors, Failure> {
        let days = visitors::days(range);
        loop {
            let Some(sorted) = self.sorted(project).await? else { return Ok(Visitors::default()) };
            let answer = visitors::answer(&self.database, &sorted, days, portion).await?;
            if sorted.is_current() {
                return Ok(answer);
            }
        }
    }

    async fn forget(&self, project: &str) -> Result<(), Failure> {
        self.ask(|answer| Ask::Forget(project.to_owned(), answer)).await
    }

    async fn checkpoint(&self) -> Result<bool, Failure> {
        Ok(self.database.checkpoint().await?)
    }

    async fn close(&self) {
        let (closing, closed) = oneshot::channel();
        let ended = async {
            if self.keeper.send(Ask::Close(closing)).await.is_ok() {
                let _ = closed.await;
            }
        };
        if timeout(KEEPER_TIMEOUT, ended).await.is_err() {
            tracing::warn!("page views are still being sorted: the next start goes on with it");
        }
        self.database.close().await;
    }

    async fn prove_write(&self) -> Result<(), Failure> {
        let proven = self.database.prove_write().await;
        proven.map_err(|error| error.trouble.map_or_else(|| Failure::new(error.message), Failure::new))
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

impl From<Damaged> for Failure {
    fn from(damaged: Damaged) -> Self {
        Self::new(damaged)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}
