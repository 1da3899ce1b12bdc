//! SQLite, opened one way: WAL with `synchronous=FULL`, a few readers, one writer
//! task that commits in groups and answers each caller after the group's fsync.

mod copy;
mod look;
mod migrate;
mod trouble;
mod writer;

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use machine::Trouble;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection, SqlitePool};
use tokio::time::timeout;

pub use copy::{CopyError, DatabaseCopy, check_copy, copy_databases, read_copy, write_copy};
pub use look::{Inspection, inspect};
pub use trouble::{DATA_DIRECTORY, trouble};
use writer::Writer;

const READERS: u32 = 4;
/// How long a write waits for another process, such as an admin command beside the server.
const BUSY: Duration = Duration::from_secs(5);
/// How long a close may take. What is not done by then is in the write-ahead log, and the next start reads it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a close waits for queries that are still running.
const READERS_TIMEOUT: Duration = Duration::from_secs(1);

/// What to do about a database that is older than this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Bring it up to date: for the one who holds the data directory's lock.
    Migrate,
    /// The same, but make none where there is none.
    Existing,
    /// Refuse: a running server of another version is using it.
    MustMatch,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the database {path} was written by a newer version of Docwright (schema {found}; this one knows {known}): run the newer version, or restore a backup from before the upgrade"
    )]
    Newer { path: String, found: usize, known: usize },
    #[error(
        "the database {path} is of an older version (schema {found}, this one needs {known}) and a server is using it: stop that server first"
    )]
    Older { path: String, found: usize, known: usize },
    #[error(
        "the database {path} is empty: check that it is the right one; `docwright serve` makes the tables of a new one"
    )]
    Empty { path: String },
    #[error(
        "the database {path} has a -wal file without a -shm file, as after a restore, and cannot be read without changing it: start the server once"
    )]
    Unrecovered { path: String },
    #[error("the database {path} cannot be opened: {source}")]
    Unusable { path: String, source: sqlx::Error },
}

/// The write did not happen, or at least was never acknowledged.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the database did not take the write: {message}")]
pub struct WriteError {
    pub message: String,
    /// The machine's, if that was the cause.
    #[source]
    pub trouble: Option<Trouble>,
}

impl WriteError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), trouble: None }
    }
}

impl From<sqlx::Error> for WriteError {
    fn from(error: sqlx::Error) -> Self {
        Self { trouble: trouble(&error), message: error.to_string() }
    }
}

/// One database file. Clones share the readers and the writer.
#[derive(Debug, Clone)]
pub struct Database {
    reads: SqlitePool,
    writer: Writer,
}

impl Database {
    /// Opens or makes the file. `migrations` are applied in order, each once; their count is
    /// the schema's version.
    pub async fn open(
        path: &Path,
        migrations: &'static [&'static str],
        schema: Schema,
    ) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Unusable { path: path.display().to_string(), source };
        let mut connection = options(path).create_if_missing(true).connect().await.map_err(unusable)?;
        migrate::run(&mut connection, path, migrations, schema).await?;
        let reads = SqlitePoolOptions::new()
            .max_connections(READERS)
            // All of them now, and for good: one that is made later opens whatever has that name then.
            .min_connections(READERS)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options(path).read_only(true))
            .await
            .map_err(unusable)?;
        Ok(Self { reads, writer: Writer::start(connection) })
    }

    pub fn reads(&self) -> &SqlitePool {
        &self.reads
    }

    /// Runs `work` in the writer, in a savepoint of its own: when it answers `Err`, what it
    /// wrote is undone and the others in the group are not. Returns after the fsync.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<WriteError> + Send + 'static,
    {
        self.writer.run(work).await
    }

    /// Commits what is queued, moves the write-ahead log into the database file and closes all connections, of every
    /// clone. Bounded in time; nothing is lost when the time runs out.
    pub async fn close(&self) {
        let closing = async {
            // The writer goes last: SQLite removes the log with the last connection that may write.
            let _ = timeout(READERS_TIMEOUT, self.reads.close()).await;
            self.writer.close().await;
        };
        if timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::warn!("a database was not closed in time: the next start reads its write-ahead log");
        }
    }

    /// Moves the write-ahead log into the database file and empties it, so that nothing that was deleted is left in
    /// either. False when a reader is in the way: try again later.
    pub async fn checkpoint(&self) -> Result<bool, WriteError> {
        self.writer.checkpoint().await
    }

    /// Commits a write that changes nothing and waits until it is on the disk.
    pub async fn prove_write(&self) -> Result<(), WriteError> {
        self.write(|connection| touch(connection).boxed()).await
    }
}

/// Writes the header of the database as it is: SQLite writes the page whether the number is another one or not.
async fn touch(connection: &mut SqliteConnection) -> Result<(), WriteError> {
    let id: i32 = sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await?;
    sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA application_id = {id}"))).execute(connection).await?;
    Ok(())
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // FAST would leave the text of deleted rows in pages that become free.
        .pragma("secure_delete", "on")
        // A kill between the making and the unlinking of a temporary file would leave it in the temporary directory.
        .pragma("temp_store", "memory")
        .busy_timeout(BUSY)
        .disable_statement_logging()
}
