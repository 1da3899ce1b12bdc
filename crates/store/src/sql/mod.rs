//! The store in SQL, written once for SQLite and PostgreSQL: a file for each trait, in the trait's order.
//!
//! A statement has the same text on both databases where it can ([`query`]), rows are decoded in one place ([`row`]),
//! and a transaction's body is one function over a [`Connection`]. [`Backend`] names what differs.

mod accounts;
mod audit;
mod chores;
mod clocks;
mod connection;
mod conversation;
mod create;
mod findings;
mod idempotency;
mod invites;
mod jobs;
mod leases;
mod notes;
mod people;
mod proposals;
mod pulls;
mod query;
mod queue;
mod rates;
mod reads;
mod row;
mod secrets;
mod sessions;
mod suspects;
mod sweeps;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, ClockGuard, ClockName, Cutoff};
use futures_util::future::BoxFuture;

pub(crate) use connection::{Connection, Database, lock_number};
use create::{Creates, creates};
pub(crate) use jobs::job_columns;
pub(crate) use query::{Query, sql, sql_for, without_nul};
pub(crate) use queue::{QueuedJob, end_if_over, lease_job, queued_columns};
pub(crate) use reads::Fetch;
use reads::Reads;
pub(crate) use row::{FromRow, Row};
pub(crate) use secrets::check_master_key;
pub(crate) use suspects::requeue_dead;

use crate::{Job, JobId, Lease, LeaseLimits, MasterKey, ProjectId, Result, WorkerId};

/// What a store has on either database.
#[derive(Clone)]
pub(crate) struct Common<B> {
    pub(crate) guard: Arc<ClockGuard>,
    master_key: MasterKey,
    reads: Reads,
    creates: Creates<B>,
}

impl<B: Backend> Common<B> {
    pub(crate) fn new(clock: Arc<dyn Clock>, master_key: MasterKey, fetch: impl Fetch + Clone) -> Self {
        Self { guard: ClockGuard::new(clock), master_key, reads: Reads::new(fetch), creates: creates() }
    }
}

/// What a database provides to the shared SQL.
pub(crate) trait Backend: Fetch + Clone {
    /// The clock that dates jobs.
    const JOB_CLOCK: ClockName;

    /// Writes with one statement. Answers how many rows changed.
    fn execute(&self, query: Query) -> impl Future<Output = Result<u64>> + Send;

    /// Writes with one statement that returns at most one row.
    fn returning(&self, query: Query) -> impl Future<Output = Result<Option<Row>>> + Send;

    /// Runs `work` in a transaction, which is rolled back if `work` fails. PostgreSQL runs it again after a deadlock or
    /// a serialization failure.
    fn transaction<I, T, F>(&self, input: I, work: F) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a, 'c> Fn(&'a mut Connection<'c>, &'a I) -> BoxFuture<'a, Result<T>> + Send + Sync + 'static;

    /// The time in milliseconds, by the clock that dates jobs.
    fn now(&self) -> impl Future<Output = Result<i64>> + Send;
    /// What is older than `age`, as far as the clock can be trusted.
    fn cutoff(&self, age: Duration) -> impl Future<Output = Result<Cutoff>> + Send;

    fn common(&self) -> &Common<Self>;

    /// Wakes workers that wait for work.
    fn notify_work(&self);
    fn work_notified(&self) -> impl Future<Output = ()> + Send;
    /// Wakes those who wait for a job's events, or for the end of a key or a session.
    fn notify_events(&self);
    fn events_notified(&self) -> impl Future<Output = ()> + Send;

    fn find_job(&self, project: &ProjectId, id: &JobId) -> impl Future<Output = Result<Option<Job>>> + Send;
    fn lease(
        &self,
        worker: &WorkerId,
        limits: LeaseLimits,
    ) -> impl Future<Output = Result<Option<Lease>>> + Send;
    /// Adds the event "waiting" to jobs that have been queued for `wait`. Answers how many there were.
    fn add_waiting_events(&self, wait: Duration) -> impl Future<Output = Result<usize>> + Send;
    fn void_all_leases(&self) -> impl Future<Output = Result<()>> + Send;

    /// See [`crate::Upkeep::checkpoint`].
    fn empty_log(&self) -> impl Future<Output = Result<bool>> + Send;
    /// See [`crate::Upkeep::probe_write`].
    fn test_write(&self) -> impl Future<Output = Result<()>> + Send;
    fn disconnect(&self) -> impl Future<Output = ()> + Send;
}
