//! The store on SQLite: one server, one writer that commits in groups, and a few readers.

mod create;
mod queue;
mod views_directory;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::sqlite::{Database, ReadPool, Schema};
use base::{Clock, ClockName, Cutoff};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use crate::secret::CHECK;
use crate::sql::{Backend, Common, Connection, Fetch, Query, Row, check_master_key, job_columns, sql};
use crate::{Job, JobId, Lease, LeaseLimits, MasterKey, ProjectId, Result, Secrets, StoreError, WorkerId};
pub(crate) use create::insert_jobs;

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
    include_str!("../../migrations/0017_activity.sql"),
    include_str!("../../migrations/0018_proposals.sql"),
    include_str!("../../migrations/0019_findings.sql"),
    include_str!("../../migrations/0020_list_of_findings.sql"),
];

#[derive(Clone)]
pub struct SqliteStore {
    db: Database,
    clock: Arc<dyn Clock>,
    reader: Reader,
    common: Common<Self>,
    work: Arc<Notify>,
    events: Arc<Notify>,
}

impl SqliteStore {
    pub async fn open(path: &Path, schema: Schema, master: MasterKey, clock: Arc<dyn Clock>) -> Result<Self> {
        let store = Self::over(Database::open(path, MIGRATIONS, schema).await?, clock, master);
        check_master_key(&store).await?;
        Ok(store)
    }

    /// Reads a database of this version, and changes nothing.
    pub async fn look(path: &Path, master: MasterKey, clock: Arc<dyn Clock>) -> Result<Self> {
        let store = Self::over(Database::open_read_only(path, MIGRATIONS).await?, clock, master);
        store.secret(CHECK.0, CHECK.1).await?;
        Ok(store)
    }

    pub(crate) fn reads(&self) -> &ReadPool {
        self.db.reads()
    }

    fn over(db: Database, clock: Arc<dyn Clock>, master: MasterKey) -> Self {
        let reader = Reader { connections: db.reads().clone(), clock: clock.clone() };
        let common = Common::new(clock.clone(), master, reader.clone());
        Self { db, clock, reader, common, work: Arc::default(), events: Arc::default() }
    }
}

/// The read connections.
#[derive(Clone)]
struct Reader {
    connections: ReadPool,
    clock: Arc<dyn Clock>,
}

impl Fetch for Reader {
    async fn rows(&self, query: Query) -> Result<Vec<Row>> {
        Connection::sqlite(&mut *self.connections.acquire().await?, &*self.clock).rows(query).await
    }
}

impl Fetch for SqliteStore {
    async fn rows(&self, query: Query) -> Result<Vec<Row>> {
        self.reader.rows(query).await
    }
}

impl Backend for SqliteStore {
    const JOB_CLOCK: ClockName = ClockName::Server;

    async fn execute(&self, query: Query) -> Result<u64> {
        self.transaction(query, |db, query| db.execute(query.clone()).boxed()).await
    }

    async fn returning(&self, query: Query) -> Result<Option<Row>> {
        self.transaction(query, |db, query| db.row(query.clone()).boxed()).await
    }

    async fn transaction<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a, 'c> Fn(&'a mut Connection<'c>, &'a I) -> BoxFuture<'a, Result<T>> + Send + Sync + 'static,
    {
        let clock = self.clock.clone();
        self.db
            .write(move |db| async move { work(&mut Connection::sqlite(db, &*clock), &input).await }.boxed())
            .await
    }

    async fn now(&self) -> Result<i64> {
        Ok(self.clock.now_ms())
    }

    async fn cutoff(&self, age: Duration) -> Result<Cutoff> {
        Ok(self.common.guard.cutoff(age))
    }

    fn common(&self) -> &Common<Self> {
        &self.common
    }

    fn notify_work(&self) {
        self.work.notify_one();
    }

    async fn work_notified(&self) {
        self.work.notified().await;
    }

    fn notify_events(&self) {
        self.events.notify_waiters();
    }

    async fn events_notified(&self) {
        self.events.notified().await;
    }

    async fn find_job(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        let find = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1 AND project = $2");
        self.optional(sql(find).bind(&id.0).bind(&project.0)).await
    }

    async fn lease(&self, worker: &WorkerId, limits: LeaseLimits) -> Result<Option<Lease>> {
        // Most polls find nothing; those need no write and no fsync.
        let mut reader = self.db.reads().acquire().await?;
        let mut db = Connection::sqlite(&mut reader, &*self.clock);
        if !queue::has_work(&mut db, worker, limits).await? {
            return Ok(None);
        }
        drop(reader);
        self.transaction((worker.clone(), limits), |db, (worker, limits)| {
            queue::lease(db, worker, *limits).boxed()
        })
        .await
    }

    async fn add_waiting_events(&self, wait: Duration) -> Result<usize> {
        let ids = queue::unannounced(self, wait).await?;
        let count = ids.len();
        if count > 0 {
            self.transaction(ids, |db, ids| queue::announce(db, ids).boxed()).await?;
        }
        Ok(count)
    }

    /// One server has the data directory, so all earlier workers are dead.
    async fn void_all_leases(&self) -> Result<()> {
        self.transaction((), |db, ()| queue::requeue_all(db).boxed()).await
    }

    async fn empty_log(&self) -> Result<bool> {
        Ok(self.db.checkpoint().await?)
    }

    async fn test_write(&self) -> Result<()> {
        self.db.probe_write().await.map_err(|error| match error.trouble {
            Some(trouble) => StoreError::Machine(trouble),
            None => StoreError::Database(error.message),
        })
    }

    async fn disconnect(&self) {
        self.db.close().await;
    }
}
