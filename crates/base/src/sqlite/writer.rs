//! Group commit: one writer task commits all writes, and writes that arrive during an fsync share the next
//! one.
//!
//! A commit costs one fsync however many writes it contains, so throughput grows with the number of callers.

use std::panic::AssertUnwindSafe;

use failpoints::with_failpoints;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::WriteError;

/// When the queue is full, callers wait until they can enqueue.
const MAX_QUEUED_TASKS: usize = 1024;
/// Bounds how long the first write of a group waits for the last.
const MAX_GROUP_SIZE: usize = 256;

/// The connection in the group's transaction, or why the transaction failed.
type Transaction<'c> = Result<&'c mut SqliteConnection, WriteError>;
/// `None`: it did not run, and its caller got the error.
type Write = Box<dyn for<'c> FnOnce(Transaction<'c>) -> BoxFuture<'c, Option<Uncommitted>> + Send>;
type Acknowledge = Box<dyn FnOnce(Result<(), WriteError>) + Send>;

/// A write that ran and is not committed yet.
struct Uncommitted {
    succeeded: bool,
    acknowledge: Acknowledge,
}

enum Task {
    Write(Write),
    /// Truncates the write-ahead log; the response is false if a reader blocked it.
    Checkpoint(oneshot::Sender<Result<bool, WriteError>>),
    /// The sender is dropped once the connection is closed.
    Close(oneshot::Sender<()>),
}

#[derive(Debug, Clone)]
pub(super) struct Writer(mpsc::Sender<Task>);

impl Writer {
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (sender, queue) = mpsc::channel(MAX_QUEUED_TASKS);
        tokio::spawn(run(connection, queue));
        Self(sender)
    }

    /// A writer that refuses every write.
    pub(super) fn stopped() -> Self {
        Self(mpsc::channel(1).0)
    }

    pub(super) async fn checkpoint(&self) -> Result<bool, WriteError> {
        let stopped = || WriteError::new("the writer has stopped");
        let (sender, done) = oneshot::channel();
        self.0.send(Task::Checkpoint(sender)).await.map_err(|_| stopped())?;
        done.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Returns once all queued writes are committed and the connection is closed.
    pub(super) async fn close(&self) {
        let (closing, closed) = oneshot::channel();
        if self.0.send(Task::Close(closing)).await.is_ok() {
            let _ = closed.await;
        }
    }

    pub(super) async fn run<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<WriteError> + Send + 'static,
    {
        let (sender, response) = oneshot::channel();
        let write: Write = Box::new(move |transaction| {
            async move {
                // Sending fails when the caller was dropped. It no longer needs the response.
                let connection = match transaction {
                    Ok(connection) => connection,
                    Err(error) => {
                        let _ = sender.send(Err(E::from(error)));
                        return None;
                    }
                };
                let result = work(connection).await;
                let succeeded = result.is_ok();
                let acknowledge: Acknowledge = Box::new(move |committed| {
                    let _ = sender.send(committed.map_err(E::from).and(result));
                });
                Some(Uncommitted { succeeded, acknowledge })
            }
            .boxed()
        });
        let stopped = || E::from(WriteError::new("the writer has stopped"));
        self.0.send(Task::Write(write)).await.map_err(|_| stopped())?;
        response.await.unwrap_or_else(|_| Err(stopped()))
    }
}

/// Commits groups of writes until the queue is closed or its last sender is dropped.
async fn run(mut connection: SqliteConnection, mut queue: mpsc::Receiver<Task>) {
    let (mut tasks, mut closing) = (Vec::with_capacity(MAX_GROUP_SIZE), Vec::new());
    let mut checkpoints = Vec::new();
    while queue.recv_many(&mut tasks, MAX_GROUP_SIZE).await > 0 {
        let mut group = Vec::with_capacity(tasks.len());
        for task in tasks.drain(..) {
            match task {
                Task::Write(write) => group.push(write),
                Task::Checkpoint(sender) => checkpoints.push(sender),
                Task::Close(sender) => closing.push(sender),
            }
        }
        if !closing.is_empty() {
            // The writes already in the queue are still received and committed.
            queue.close();
        }
        if !group.is_empty() {
            commit(&mut connection, group.into_iter()).await;
        }
        for sender in checkpoints.drain(..) {
            // Sending fails when the caller was dropped. It no longer needs the response.
            let _ = sender.send(checkpoint(&mut connection).await);
        }
    }
    close(connection).await;
}

/// Checkpoints the write-ahead log, so that the database file alone is complete, and closes the connection.
/// SQLite does this for the last connection. While another process uses the database, this tries once,
/// without waiting.
async fn close(mut connection: SqliteConnection) {
    if let Err(error) =
        execute(&mut connection, "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)").await
    {
        tracing::warn!("the write-ahead log was not checkpointed. The next start recovers it: {error}");
    }
    if let Err(error) = connection.close().await {
        tracing::warn!("a database connection was not closed: {error}");
    }
}

/// Waits for readers only briefly, because other writes wait in the meantime.
async fn checkpoint(connection: &mut SqliteConnection) -> Result<bool, WriteError> {
    execute(connection, "PRAGMA busy_timeout = 100").await?;
    let done = sqlx::query_as::<_, (i64, i64, i64)>("PRAGMA wal_checkpoint(TRUNCATE)");
    let done = done.fetch_one(&mut *connection).await;
    execute(connection, "PRAGMA busy_timeout = 5000").await?;
    let (is_busy, ..) = done?;
    Ok(is_busy == 0)
}

async fn commit(connection: &mut SqliteConnection, mut group: impl Iterator<Item = Write>) {
    let mut acknowledges = Vec::new();
    let outcome = match execute(connection, "BEGIN IMMEDIATE; SAVEPOINT single_write").await {
        Ok(()) => run_group(connection, &mut group, &mut acknowledges).await,
        failed => failed,
    };
    if let Err(error) = &outcome {
        tracing::error!("a group of writes was not committed, {} of which ran: {error}", acknowledges.len());
        let _ = execute(connection, "ROLLBACK").await;
    }
    for acknowledge in acknowledges {
        acknowledge(outcome.clone());
    }
    if let Err(error) = outcome {
        for write in group {
            write(Err(error.clone())).await;
        }
    }
}

/// Each statement is a round trip to SQLite's thread, so consecutive statements are sent as one.
async fn run_group(
    connection: &mut SqliteConnection,
    group: &mut impl Iterator<Item = Write>,
    acknowledges: &mut Vec<Acknowledge>,
) -> Result<(), WriteError> {
    for write in group {
        if !acknowledges.is_empty() {
            execute(connection, "RELEASE single_write; SAVEPOINT single_write").await?;
        }
        // A panic is rolled back like an error: it must not end the writer task.
        let ran = AssertUnwindSafe(write(Ok(&mut *connection))).catch_unwind().await.ok().flatten();
        let succeeded = ran.as_ref().is_some_and(|ran| ran.succeeded);
        acknowledges.extend(ran.map(|ran| ran.acknowledge));
        if !succeeded {
            roll_back_write(connection).await?;
        }
    }
    with_failpoints("sqlite", execute(connection, "RELEASE single_write; COMMIT")).await
}

/// Rolls back one write and keeps the others of its group. After a full disk or an I/O error, SQLite has
/// already rolled back the whole transaction and there is no savepoint any more. Then the whole group fails
/// with that error.
async fn roll_back_write(connection: &mut SqliteConnection) -> Result<(), WriteError> {
    let cause = last_error(connection).await;
    match execute(connection, "ROLLBACK TO single_write").await {
        Err(no_savepoint) => Err(cause.filter(|cause| cause.trouble.is_some()).unwrap_or(no_savepoint)),
        rolled_back => rolled_back,
    }
}

async fn last_error(connection: &mut SqliteConnection) -> Option<WriteError> {
    let error = connection.lock_handle().await.ok()?.last_error()?;
    Some(sqlx::Error::from(error).into())
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), WriteError> {
    Ok(sqlx::raw_sql(sql).execute(connection).await.map(drop)?)
}
