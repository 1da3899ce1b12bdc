//! The store on PostgreSQL, for many servers on one database. One file a trait, in the trait's
//! order, beside those of SQLite. Where SQLite has one writer, a write here locks the rows that it
//! judges by; time is the database's own.

mod accounts;
mod bells;
mod clocks;
mod conversation;
mod create;
mod find;
mod home;
mod jobs;
mod leases;
mod line;
mod migrate;
mod notes;
mod once;
mod people;
mod pulls;
mod rates;
mod reach;
mod reads;
mod secrets;
mod sessions;
mod suspects;
mod sweeps;
mod trouble;
mod upkeep;
mod url;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base::sqlite::{OpenError, Schema};
use base::{Clock, ClockGuard};
use jiff::Timestamp;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Connection, PgConnection, PgPool, Postgres, Row, Transaction};
use tokio::time::timeout;

use crate::id::sha256;
use crate::kept::{damaged, from_ms};
use crate::progress::{ProgressReads, progress_reads};
use crate::shared::Shared;
use crate::{ApiKey, MasterKey, Project, ProjectId, Result, StoreError};
use bells::{Bells, Ear};
use reads::Reads;
pub(crate) use trouble::trouble;
pub use url::DatabaseUrl;

/// Of one process; each holds a connection of the database's, of which there are about a hundred.
const CONNECTIONS: u32 = 16;
/// How long a connection is waited for.
const ACQUIRE: Duration = Duration::from_secs(5);
/// A connection that nobody used for longer is looked at first.
const FRESH: Duration = Duration::from_secs(1);
/// How long anything at all may take; the database ends a statement of its own accord before that.
const ANSWER: Duration = Duration::from_secs(15);
/// How often a write is tried that the database broke off for the sake of another one.
const TRIES: u32 = 5;

#[derive(Clone)]
pub struct PostgresStore {
    pool: PgPool,
    guard: Arc<ClockGuard>,
    master: MasterKey,
    keys: Shared<Vec<u8>, Option<ApiKey>>,
    projects: Shared<ProjectId, Option<Project>>,
    rates: Shared<String, (u32, i64)>,
    finds: find::Finds,
    creates: create::Creates,
    progress: ProgressReads,
    bells: Arc<Bells>,
}

impl PostgresStore {
    /// A database that others use is left at the schema that it has. A clock that stands where a
    /// test put it is the database's, too, for this store.
    pub async fn open(
        url: &DatabaseUrl,
        schema: Schema,
        master: MasterKey,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let unusable = |source| OpenError::Unusable { path: url.to_string(), source };
        let options = url.options();
        let mut first = reach::connect(url).await?;
        migrate::run(&mut first, url, schema).await?;
        let ear = Ear::open(&options).await.map_err(unusable)?;
        let _ = first.close().await;
        let (pool, guard) = (pool(options.clone(), clock.clone()), ClockGuard::new(clock.clone()));
        let reads = Reads::new(pool.clone(), clock);
        let store = Self::over(pool.clone(), reads, guard, master, Bells::hang(pool, options, ear));
        store.check_master_key().await?;
        store.forget_workers().await?;
        Ok(store)
    }

    fn over(
        pool: PgPool,
        reads: Reads,
        guard: Arc<ClockGuard>,
        master: MasterKey,
        bells: Arc<Bells>,
    ) -> Self {
        let [keys, projects, rates, progress] = [reads.clone(), reads.clone(), reads.clone(), reads.clone()];
        Self {
            keys: Shared::new(move |hash| accounts::key_of(keys.clone(), hash)),
            projects: Shared::new(move |id| accounts::project_of(projects.clone(), id)),
            rates: Shared::new(move |bucket| rates::used_of(rates.clone(), bucket)),
            finds: find::finds(reads),
            progress: progress_reads(move |ids| jobs::progress_of(progress.clone(), ids)),
            creates: create::creates(pool.clone(), guard.clone()),
            pool,
            guard,
            master,
            bells,
        }
    }

    async fn rows(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Vec<PgRow>> {
        in_time(async { Ok(query.fetch_all(&self.pool).await?) }).await
    }

    async fn row(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Option<PgRow>> {
        in_time(async { Ok(query.fetch_optional(&self.pool).await?) }).await
    }

    /// A write of one statement; answers how many rows it touched.
    async fn execute(&self, query: Query<'_, Postgres, PgArguments>) -> Result<u64> {
        in_time(async { Ok(query.execute(&self.pool).await?.rows_affected()) }).await
    }

    async fn now(&self) -> Result<i64> {
        in_time(async { now(&mut *self.pool.acquire().await?).await }).await
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>> {
        Ok(self.pool.begin().await?)
    }
}

fn pool(options: PgConnectOptions, clock: Arc<dyn Clock>) -> PgPool {
    let again = clock.clone();
    PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(ACQUIRE)
        .after_connect(move |db, _| {
            let told = clock.test_override();
            Box::pin(async move { tell_time(db, told).await })
        })
        // One that was asked a moment ago need not be asked whether it is there: that took as long as most answers.
        .test_before_acquire(false)
        .before_acquire(move |db, about| {
            let told = again.test_override();
            Box::pin(async move {
                if about.idle_for > FRESH {
                    db.ping().await?;
                }
                tell_time(db, told).await.map(|()| true)
            })
        })
        // Whoever was cut off left an answer to come. If it does not come, the connection is lost, and
        // must not take its place in the pool with it.
        .after_release(|db, _| {
            Box::pin(async {
                timeout(ACQUIRE, db.ping()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map(|()| true)
            })
        })
        .connect_lazy_with(options)
}

async fn tell_time(db: &mut PgConnection, told: Option<Timestamp>) -> Result<(), sqlx::Error> {
    if let Some(moment) = told {
        let tell = sqlx::query("SELECT set_config('docwright.now_ms', $1, false)");
        tell.bind(moment.as_millisecond().to_string()).execute(db).await?;
    }
    Ok(())
}

/// A database that is gone without a word must not keep anybody waiting.
async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || StoreError::Database(format!("it took longer than {} seconds", ANSWER.as_secs()));
    timeout(ANSWER, work).await.unwrap_or_else(|_| Err(late()))
}

/// Runs a transaction, and runs it again when the database broke it off for the sake of another.
async fn write<T, W, F>(work: W) -> Result<T>
where
    W: Fn() -> F,
    F: Future<Output = Result<T>>,
{
    for _ in 1..TRIES {
        match in_time(work()).await {
            Err(StoreError::BrokenOff) => {}
            done => return done,
        }
    }
    in_time(work()).await
}

/// Ends a transaction that wrote nothing, here and now: whoever looks for work passes over a job
/// that is locked.
async fn undone<T>(tx: Transaction<'_, Postgres>, result: Result<T>) -> Result<T> {
    tx.rollback().await?;
    result
}

/// What the time is, asked after the locks are there: a lease can end while one waits for them.
async fn now(db: &mut PgConnection) -> Result<i64> {
    Ok(sqlx::query_scalar("SELECT docwright_now_ms()").fetch_one(db).await?)
}

/// Until the end of the transaction, nobody else is let past the same words.
async fn one_at_a_time(db: &mut PgConnection, what: &[&str]) -> Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(lock_number(what)).execute(db).await?;
    Ok(())
}

fn lock_number(what: &[&str]) -> i64 {
    let hash = sha256(what.join("\0").as_bytes());
    hash.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}

/// PostgreSQL's text holds any character but NUL, which nobody means to send.
fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

fn number<T: TryFrom<i64>>(row: &PgRow, column: &str) -> Result<T> {
    row.try_get::<i64, _>(column)?.try_into().map_err(|_| damaged("a number"))
}

/// A column that holds a moment.
fn time(row: &PgRow, column: &str) -> Result<Timestamp> {
    from_ms(row.try_get(column)?)
}

fn time_or_none(row: &PgRow, column: &str) -> Result<Option<Timestamp>> {
    row.try_get::<Option<i64>, _>(column)?.map(from_ms).transpose()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_write_that_was_broken_off_is_tried_again() {
        let tried = Cell::new(0);
        let fails = |times| {
            let tried = &tried;
            move || async move {
                tried.set(tried.get() + 1);
                if tried.get() <= times { Err(StoreError::BrokenOff) } else { Ok(tried.get()) }
            }
        };
        assert_eq!(write(fails(TRIES - 1)).await.unwrap(), TRIES);
        tried.set(0);
        assert!(matches!(write(fails(100)).await, Err(StoreError::BrokenOff)));
        assert_eq!(tried.get(), TRIES);
        tried.set(0);
        let other = || async { Err::<(), _>(StoreError::Database(String::new())) };
        assert!(matches!(write(other).await, Err(StoreError::Database(_))));
    }
}
