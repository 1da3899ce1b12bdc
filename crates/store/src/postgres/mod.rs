//! The store on PostgreSQL, for several servers on one database. A write locks the rows that it depends on, and the
//! database's clock dates jobs.

mod connect;
mod create;
mod dedicated;
mod find;
mod inspect;
mod migrate;
mod notifier;
mod queue;
mod trouble;
mod url;
mod views_directory;
mod views_ledger;

use std::sync::Arc;
use std::time::Duration;

use base::sqlite::{OpenError, Schema};
use base::{Clock, ClockName, Cutoff};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::time::timeout;

use crate::coalesced::{CoalescedRead, unshare};
use crate::encoding::milliseconds;
use crate::queue::WAKE_BATCH;
use crate::sql::{Backend, Common, Connection, Fetch, Query, Row, check_master_key, sql};
use crate::terms::HOUR;
use crate::transfer::refuse_incomplete;
use crate::{Job, JobId, Lease, LeaseLimits, MasterKey, ProjectId, Result, StoreError, WorkerId};
pub(crate) use create::insert_jobs;
use dedicated::DedicatedReader;
pub use inspect::{PostgresInspection, inspect_postgres};
use migrate::User;
pub(crate) use migrate::{IN_USE, MIGRATIONS};
use notifier::{Listener, Notifier};
use queue::Attempt;
pub(crate) use trouble::trouble;
pub use url::DatabaseUrl;
pub use views_ledger::PostgresLedger;

/// Connections of one process. A database has about a hundred for all its clients.
const MAX_CONNECTIONS: u32 = 16;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that was idle for longer is pinged before its next use.
const PING_AFTER: Duration = Duration::from_secs(1);
/// The limit of any operation. The database cancels a statement before that.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How often a transaction is tried that the database aborts.
const MAX_TRIES: u32 = 5;

#[derive(Clone)]
pub struct PostgresStore {
    pool: PgPool,
    common: Common<Self>,
    finds: find::Finds,
    views_epochs: CoalescedRead<(String, i64), bool>,
    notifier: Arc<Notifier>,
}

impl PostgresStore {
    /// A database that other servers use keeps its schema. In tests, the database's clock follows `clock`.
    pub async fn open(
        url: &DatabaseUrl,
        schema: Schema,
        master: MasterKey,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let mut first = Self::connect_to_migrated(url, schema).await?;
        refuse_incomplete(&mut first, url).await?;
        Self::start(first, url, master, clock, User::Installation).await
    }

    /// Opens a database that an installation is being moved to.
    pub(crate) async fn open_during_move(
        url: &DatabaseUrl,
        master: MasterKey,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let first = Self::connect_to_migrated(url, Schema::MustMatch).await?;
        Self::start(first, url, master, clock, User::Move).await
    }

    /// Connects once, and brings the schema up to date.
    pub(crate) async fn connect_to_migrated(
        url: &DatabaseUrl,
        schema: Schema,
    ) -> Result<PgConnection, OpenError> {
        let mut first = connect::connect(url).await?;
        migrate::run(&mut first, url, schema).await?;
        Ok(first)
    }

    /// Connects for a move: creates the tables in an empty database, and changes no other schema.
    pub(crate) async fn connect_for_move(url: &DatabaseUrl) -> Result<PgConnection, OpenError> {
        let mut first = connect::connect(url).await?;
        let unusable = |source| OpenError::Unusable { path: url.to_string(), source };
        let schema = match migrate::version(&mut first).await.map_err(unusable)? {
            0 => Schema::Migrate,
            _ => Schema::MustMatch,
        };
        migrate::run(&mut first, url, schema).await?;
        Ok(first)
    }

    async fn start(
        mut first: PgConnection,
        url: &DatabaseUrl,
        master: MasterKey,
        clock: Arc<dyn Clock>,
        user: User,
    ) -> Result<Self> {
        let unusable = |source| OpenError::Unusable { path: url.to_string(), source };
        let options = url.options();
        let opened = Listener::open(&options, user).await;
        if opened.is_err() && user == User::Installation {
            // A move may have begun since the first look: says so.
            refuse_incomplete(&mut first, url).await?;
        }
        let listener = opened.map_err(unusable)?;
        let _ = first.close().await;
        let pool = pool(options.clone(), clock.clone());
        let reader = DedicatedReader::new(pool.clone(), clock.clone());
        let store = Self {
            common: Common::new(clock, master, reader.clone()),
            views_epochs: views_directory::epochs(reader.clone()),
            finds: find::finds(reader),
            notifier: Notifier::start(pool.clone(), options, listener),
            pool,
        };
        check_master_key(&store).await?;
        // Each start of a server adds a worker: deletes those that have been dead for a day.
        store.execute(sql("DELETE FROM workers WHERE alive_until < docwright_now_ms() - 86400000")).await?;
        Ok(store)
    }
}

impl Fetch for PostgresStore {
    async fn rows(&self, query: Query) -> Result<Vec<Row>> {
        let rows = in_time(async { Ok(query.for_postgres().fetch_all(&self.pool).await?) }).await?;
        Ok(rows.into_iter().map(Row::Postgres).collect())
    }
}

impl Backend for PostgresStore {
    const JOB_CLOCK: ClockName = ClockName::Database;

    async fn execute(&self, query: Query) -> Result<u64> {
        in_time(async { Ok(query.for_postgres().execute(&self.pool).await?.rows_affected()) }).await
    }

    async fn returning(&self, query: Query) -> Result<Option<Row>> {
        self.row(query).await
    }

    async fn transaction<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a, 'c> Fn(&'a mut Connection<'c>, &'a I) -> BoxFuture<'a, Result<T>> + Send + Sync + 'static,
    {
        retry(|| async {
            let mut tx = self.pool.begin().await?;
            let mut db = Connection::postgres(&mut tx);
            let result = work(&mut db, &input).await;
            // Now rather than when the connection is dropped: workers skip jobs that are locked.
            if result.is_err() || db.is_discarded() {
                let _ = tx.rollback().await;
            } else {
                tx.commit().await?;
            }
            result
        })
        .await
    }

    async fn now(&self) -> Result<i64> {
        let now = sqlx::query_scalar("SELECT docwright_now_ms()").fetch_one(&self.pool);
        in_time(async { Ok(now.await?) }).await
    }

    async fn cutoff(&self, age: Duration) -> Result<Cutoff> {
        Ok(self.common.guard.database_cutoff(self.now().await?, age))
    }

    fn common(&self) -> &Common<Self> {
        &self.common
    }

    fn notify_work(&self) {
        self.notifier.notify_work();
    }

    async fn work_notified(&self) {
        self.notifier.work_notified().await;
    }

    fn notify_events(&self) {
        self.notifier.notify_events();
    }

    async fn events_notified(&self) {
        self.notifier.events_notified().await;
    }

    async fn find_job(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        unshare(self.finds.submit((), (project.clone(), id.clone())).await)
    }

    async fn lease(&self, worker: &WorkerId, limits: LeaseLimits) -> Result<Option<Lease>> {
        loop {
            let attempt = self.transaction((worker.clone(), limits), |db, (worker, limits)| {
                queue::lease(db, worker, *limits).boxed()
            });
            match attempt.await? {
                Attempt::Leased(lease) => return Ok(Some(*lease)),
                Attempt::Again => {}
                Attempt::Nothing => return Ok(None),
            }
        }
    }

    async fn add_waiting_events(&self, wait: Duration) -> Result<usize> {
        let announce = queue::announce(milliseconds(wait), WAKE_BATCH);
        let announced =
            self.transaction(announce, |db, announce| async { db.execute(announce.clone()).await }.boxed());
        Ok(announced.await? as usize)
    }

    /// Other servers may be alive: a lease ends by time alone.
    async fn void_all_leases(&self) -> Result<()> {
        Ok(())
    }

    async fn empty_log(&self) -> Result<bool> {
        Ok(true)
    }

    async fn test_write(&self) -> Result<()> {
        let write = sql("INSERT INTO rates (bucket, hour, used) VALUES ('ready', docwright_now_ms() / $1, 1)
             ON CONFLICT (bucket) DO UPDATE SET hour = excluded.hour");
        self.execute(write.bind(HOUR)).await.map(drop)
    }

    async fn disconnect(&self) {
        // Queries that still run are not waited for: their connections end with the process.
        let _ = timeout(ACQUIRE_TIMEOUT, self.pool.close()).await;
    }
}

fn pool(options: PgConnectOptions, clock: Arc<dyn Clock>) -> PgPool {
    let connect_clock = clock.clone();
    PgPoolOptions::new()
        .max_connections(MAX_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(move |db, _| {
            let time = connect_clock.test_override();
            Box::pin(async move { set_time(db, time).await })
        })
        // A ping takes as long as most queries, so a connection that was just used is not pinged.
        .test_before_acquire(false)
        .before_acquire(move |db, about| {
            let time = clock.test_override();
            Box::pin(async move {
                if about.idle_for > PING_AFTER {
                    db.ping().await?;
                }
                set_time(db, time).await.map(|()| true)
            })
        })
        // A canceled query leaves its answer on the connection. If the answer does not come, the connection is lost and
        // must not take a place in the pool.
        .after_release(|db, _| {
            Box::pin(async {
                timeout(ACQUIRE_TIMEOUT, db.ping())
                    .await
                    .unwrap_or(Err(sqlx::Error::PoolTimedOut))
                    .map(|()| true)
            })
        })
        .connect_lazy_with(options)
}

/// Sets the database's clock for this connection, in tests.
async fn set_time(db: &mut PgConnection, time: Option<Timestamp>) -> Result<(), sqlx::Error> {
    if let Some(time) = time {
        let set = sqlx::query("SELECT set_config('docwright.now_ms', $1, false)");
        set.bind(time.as_millisecond().to_string()).execute(db).await?;
    }
    Ok(())
}

/// Fails instead of waiting for a database that does not answer.
async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || StoreError::Database(format!("it took longer than {} seconds", TIMEOUT.as_secs()));
    timeout(TIMEOUT, work).await.unwrap_or_else(|_| Err(late()))
}

/// Runs a transaction, and runs it again when the database aborts it (deadlock or serialization failure).
async fn retry<T, W, F>(work: W) -> Result<T>
where
    W: Fn() -> F,
    F: Future<Output = Result<T>>,
{
    for _ in 1..MAX_TRIES {
        match in_time(work()).await {
            Err(StoreError::Aborted) => {}
            done => return done,
        }
    }
    in_time(work()).await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn an_aborted_transaction_is_tried_again() {
        let tried = Cell::new(0);
        let fails = |times| {
            let tried = &tried;
            move || async move {
                tried.set(tried.get() + 1);
                if tried.get() <= times { Err(StoreError::Aborted) } else { Ok(tried.get()) }
            }
        };
        assert_eq!(retry(fails(MAX_TRIES - 1)).await.unwrap(), MAX_TRIES);
        tried.set(0);
        assert!(matches!(retry(fails(100)).await, Err(StoreError::Aborted)));
        assert_eq!(tried.get(), MAX_TRIES);
        tried.set(0);
        let other = || async { Err::<(), _>(StoreError::Database(String::new())) };
        assert!(matches!(retry(other).await, Err(StoreError::Database(_))));
    }
}
