//! The one writer. A commit costs an fsync whatever it holds, so whoever waits while one
//! fsync runs shares the next: throughput grows with the number of callers.

use std::panic::AssertUnwindSafe;

use failpoints::around;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::WriteError;

/// Callers that may wait in line; the next one waits to be let in.
const QUEUE: usize = 1024;
/// Writes in one commit: bounds how long the first waits for the last.
const GROUP: usize = 256;

/// The connection, or why there is no transaction to run in.
type Turn<'c> = Result<&'c mut SqliteConnection, WriteError>;
/// `None`: its caller was told why it did not run.
type Work = Box<dyn for<'c> FnOnce(Turn<'c>) -> BoxFuture<'c, Option<Ran>> + Send>;
type Answer = Box<dyn FnOnce(Result<(), WriteError>) + Send>;

/// A piece of work that ran but is not on disk yet.
struct Ran {
    keep: bool,
    answer: Answer,
}

enum Task {
    Write(Work),
    /// Empties the write-ahead log; answers whether no reader was in the way.
    Checkpoint(oneshot::Sender<Result<bool, WriteError>>),
    /// The sender is dropped once the connection is closed.
    Close(oneshot::Sender<()>),
}

#[derive(Debug, Clone)]
pub(super) struct Writer(mpsc::Sender<Task>);

impl Writer {
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE);
        tokio::spawn(run(connection, queue));
        Self(sender)
    }

    /// One that takes no write.
    pub(super) fn stopped() -> Self {
        Self(mpsc::channel(1).0)
    }

    pub(super) async fn checkpoint(&self) -> Result<bool, WriteError> {
        let gone = || WriteError::new("the writer has stopped");
        let (sender, done) = oneshot::channel();
        self.0.send(Task::Checkpoint(sender)).await.map_err(|_| gone())?;
        done.await.unwrap_or_else(|_| Err(gone()))
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
        let (tell, told) = oneshot::channel();
        let work: Work = Box::new(move |turn| {
            async move {
                // A caller that went away does not need its answer.
                let connection = match turn {
                    Ok(connection) => connection,
                    Err(error) => {
                        let _ = tell.send(Err(E::from(error)));
                        return None;
                    }
                };
                let result = work(connection).await;
                let keep = result.is_ok();
                let answer: Answer = Box::new(move |committed| {
                    let _ = tell.send(committed.map_err(E::from).and(result));
                });
                Some(Ran { keep, answer })
            }
            .boxed()
        });
        let gone = || E::from(WriteError::new("the writer has stopped"));
        self.0.send(Task::Write(work)).await.map_err(|_| gone())?;
        told.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// Commits in groups until somebody closes the queue, or nobody is left to write.
async fn run(mut connection: SqliteConnection, mut queue: mpsc::Receiver<Task>) {
    let (mut tasks, mut closing) = (Vec::with_capacity(GROUP), Vec::new());
    let mut checkpoints = Vec::new();
    while queue.recv_many(&mut tasks, GROUP).await > 0 {
        let mut group = Vec::with_capacity(tasks.len());
        for task in tasks.drain(..) {
            match task {
                Task::Write(work) => group.push(work),
                Task::Checkpoint(sender) => checkpoints.push(sender),
                Task::Close(sender) => closing.push(sender),
            }
        }
        if !closing.is_empty() {
            // What is queued is still received and written.
            queue.close();
        }
        if !group.is_empty() {
            commit(&mut connection, group.into_iter()).await;
        }
        for sender in checkpoints.drain(..) {
            // A caller that went away does not need its answer.
            let _ = sender.send(checkpoint(&mut connection).await);
        }
    }
    close(connection).await;
}

/// Moves the write-ahead log into the database file, so that the one file holds everything. The last connection of a
/// database does this by itself when it is closed. Beside another process it is tried once, without waiting for that
/// process.
async fn close(mut connection: SqliteConnection) {
    if let Err(error) =
        execute(&mut connection, "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)").await
    {
        tracing::warn!("the write-ahead log stays, and the next start reads it: {error}");
    }
    if let Err(error) = connection.close().await {
        tracing::warn!("a database connection was not closed: {error}");
    }
}

/// Waits for readers only for a moment: other writes wait meanwhile.
async fn checkpoint(connection: &mut SqliteConnection) -> Result<bool, WriteError> {
    execute(connection, "PRAGMA busy_timeout = 100").await?;
    let done = sqlx::query_as::<_, (i64, i64, i64)>("PRAGMA wal_checkpoint(TRUNCATE)");
    let done = done.fetch_one(&mut *connection).await;
    execute(connection, "PRAGMA busy_timeout = 5000").await?;
    let (is_busy, ..) = done?;
    Ok(is_busy == 0)
}

async fn commit(connection: &mut SqliteConnection, mut group: impl Iterator<Item = Work>) {
    let mut answers = Vec::new();
    let outcome = match execute(connection, "BEGIN IMMEDIATE; SAVEPOINT one").await {
        Ok(()) => run_group(connection, &mut group, &mut answers).await,
        refused => refused,
    };
    if let Err(error) = &outcome {
        tracing::error!("a group of writes was not committed, {} of which ran: {error}", answers.len());
        let _ = execute(connection, "ROLLBACK").await;
    }
    for answer in answers {
        answer(outcome.clone());
    }
    if let Err(error) = outcome {
        for work in group {
            work(Err(error.clone())).await;
        }
    }
}

/// Each statement is a message to SQLite's thread and back, so those that follow each other go as one.
async fn run_group(
    connection: &mut SqliteConnection,
    group: &mut impl Iterator<Item = Work>,
    answers: &mut Vec<Answer>,
) -> Result<(), WriteError> {
    for work in group {
        if !answers.is_empty() {
            execute(connection, "RELEASE one; SAVEPOINT one").await?;
        }
        // A panic is undone like an error: it must not take the writer with it.
        let ran = AssertUnwindSafe(work(Ok(&mut *connection))).catch_unwind().await.ok().flatten();
        let keep = ran.as_ref().is_some_and(|ran| ran.keep);
        answers.extend(ran.map(|ran| ran.answer));
        if !keep {
            undo_one(connection).await?;
        }
    }
    around("sqlite", execute(connection, "RELEASE one; COMMIT")).await
}

/// Undoes one piece of work and leaves the others of its group. After a full disk or an I/O error SQLite has undone the
/// whole transaction by itself, and there is no savepoint any more: then that error is the group's.
async fn undo_one(connection: &mut SqliteConnection) -> Result<(), WriteError> {
    let cause = last_error(connection).await;
    match execute(connection, "ROLLBACK TO one").await {
        Err(lost) => Err(cause.filter(|cause| cause.trouble.is_some()).unwrap_or(lost)),
        undone => undone,
    }
}

async fn last_error(connection: &mut SqliteConnection) -> Option<WriteError> {
    let error = connection.lock_handle().await.ok()?.last_error()?;
    Some(sqlx::Error::from(error).into())
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), WriteError> {
    Ok(sqlx::raw_sql(sql).execute(connection).await.map(drop)?)
}
