//! Opens SQLite databases: write-ahead log with `synchronous=FULL`, a pool of readers, and one writer task
//! with group commit, which answers each caller after the fsync of its group.

mod copy;
mod inspect;
mod migrate;
mod read_pool;
mod trouble;
mod writer;

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use machine::Trouble;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use tokio::time::timeout;

pub use copy::{CopyError, DatabaseCopy, check_copy, copy_databases, read_copy, write_copy};
pub use inspect::{Inspection, inspect};
pub use read_pool::{ReadConnection, ReadPool};
pub use trouble::{DATA_DIRECTORY, trouble};
use writer::Writer;

/// How long a write waits for another process, such as an admin command.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a close may take. After that, the next start recovers the rest from the write-ahead log.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What to do when the database's schema is older than this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Migrate it. Only the process that holds the lock of the data directory may do this.
    Migrate,
    /// Migrate it, but do not create a missing database.
    Existing,
    /// Refuse to open it: a running server of another version is using it.
    MustMatch,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the database {path} was written by a newer version of Docwright (schema {found}; this version knows {known}). Run the newer version, or restore a backup from before the upgrade"
    )]
    Newer { path: String, found: usize, known: usize },
    #[error(
        "the database {path} has the schema of an older version ({found}; this version needs {known}), and a server is using it. Stop that server first"
    )]
    Older { path: String, found: usize, known: usize },
    #[error(
        "the database {path} is empty. Check that it is the right one; `docwright serve` creates the tables of a new database"
    )]
    Empty { path: String },
    #[error(
        "the database {path} has a -wal file without a -shm file, as after a restore, so it cannot be read without changing it. Start the server once"
    )]
    Unrecovered { path: String },
    #[error(
        "an installation was moved to the database {path} only in part. Run the same `docwright move` again to continue, or create an empty database"
    )]
    Incomplete { path: String },
    #[error("the database {path} cannot be opened: {source}")]
    Unusable { path: String, source: sqlx::Error },
}

/// A write that was not committed, or whose commit was not acknowledged.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the database refused the write: {message}")]
pub struct WriteError {
    pub message: String,
    /// Set when the machine was the cause, such as a full disk.
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
    reads: ReadPool,
    writer: Writer,
}

impl Database {
    /// Opens or creates the file. Applies each of the `migrations` once, in order; the schema version is
    /// their number.
    pub async fn open(
        path: &Path,
        migrations: &'static [&'static str],
        schema: Schema,
    ) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Unusable { path: path.display().to_string(), source };
        let mut connection = options(path).create_if_missing(true).connect().await.map_err(unusable)?;
        migrate::run(&mut connection, path, migrations, schema).await?;
        let reads = ReadPool::open(&options(path).read_only(true)).await.map_err(unusable)?;
        Ok(Self { reads, writer: Writer::start(connection) })
    }

    pub fn reads(&self) -> &ReadPool {
        &self.reads
    }

    /// Runs `work` in the writer, in its own savepoint. When it returns `Err`, only its own changes are
    /// rolled back, not those of the other writes in the group. Returns after the fsync.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<WriteError> + Send + 'static,
    {
        self.writer.run(work).await
    }

    /// Commits the queued writes, checkpoints the write-ahead log and closes the connections of every clone.
    /// Bounded in time; nothing is lost when the time runs out.
    pub async fn close(&self) {
        let closing = async {
            // The writer closes last: SQLite removes the log when the last connection that can write closes.
            self.reads.close().await;
            self.writer.close().await;
        };
        if timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::warn!(
                "a database was not closed in time. The next start recovers it from its write-ahead log"
            );
        }
    }

    /// Checkpoints the write-ahead log into the database file and truncates it, so that deleted data is left
    /// in neither. Returns false when a reader blocks the checkpoint: try again later.
    pub async fn checkpoint(&self) -> Result<bool, WriteError> {
        self.writer.checkpoint().await
    }

    /// Tests whether the disk takes writes: commits a write that changes nothing and waits for the fsync.
    pub async fn probe_write(&self) -> Result<(), WriteError> {
        self.write(|connection| rewrite_header(connection).boxed()).await
    }
}

/// Writes the database header unchanged: SQLite writes the page even when the number stays the same.
async fn rewrite_header(connection: &mut SqliteConnection) -> Result<(), WriteError> {
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
        // FAST would leave the text of deleted rows in free pages.
        .pragma("secure_delete", "on")
        // A process that is killed between creating and unlinking a temporary file would leave the file
        // behind.
        .pragma("temp_store", "memory")
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
}
