//! Copies databases as one consistent snapshot, while other processes write to them.
//!
//! Each database is read in one read transaction, so no writer waits for the copy. The read transactions of
//! several databases begin one after the other. A commit in between would make the copies disagree. The copy
//! detects such a commit and begins the transactions again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use tokio::time::Instant;

use super::options;

/// How long to try to begin all read transactions without a commit in between.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(30);
/// Excludes SQLite's internal tables. Statistics are not copied: SQLite computes them again.
const IS_USER_TABLE: &str = r"name NOT LIKE 'sqlite\_%' ESCAPE '\'";

/// A database, and the file to copy it to, which must not exist yet.
#[derive(Debug, Clone)]
pub struct DatabaseCopy {
    pub from: PathBuf,
    pub to: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("{path} cannot be read: {source}")]
    Unreadable { path: String, source: sqlx::Error },
    #[error("{path} cannot be written: {source}")]
    Unwritable { path: String, source: sqlx::Error },
    #[error("{path} is damaged: {problem}")]
    Damaged { path: String, problem: String },
    #[error("{path} cannot be copied: it has {what}, which this program does not copy")]
    Unsupported { path: String, what: String },
    #[error("the databases were written to without a pause for {} seconds. Try again", SNAPSHOT_TIMEOUT.as_secs())]
    Busy,
}

/// Copies all databases as one consistent snapshot. Returns the schema version of each. A copy is one file,
/// and reading it does not change it. The copies are checked, but not synced to disk.
pub async fn copy_databases(copies: &[DatabaseCopy]) -> Result<Vec<usize>, CopyError> {
    let mut sources = Vec::with_capacity(copies.len());
    for copy in copies {
        sources.push(Source::open(copy).await.map_err(|source| unreadable(&copy.from, source))?);
    }
    begin_snapshot(&mut sources).await?;
    let mut versions = Vec::with_capacity(copies.len());
    for source in &mut sources {
        versions.push(source.copy().await?);
    }
    for source in sources {
        let path = source.path;
        source.close().await.map_err(|source| unreadable(path, source))?;
    }
    Ok(versions)
}

/// Begins a read transaction on each database so that all of them form one consistent snapshot: nothing was
/// committed to the earlier databases before the last transaction began.
async fn begin_snapshot(sources: &mut [Source<'_>]) -> Result<(), CopyError> {
    let deadline = Instant::now() + SNAPSHOT_TIMEOUT;
    loop {
        let before = data_versions(sources).await?;
        for source in sources.iter_mut() {
            source.begin().await.map_err(|error| unreadable(source.path, error))?;
        }
        if data_versions(sources).await? == before {
            return Ok(());
        }
        for source in sources.iter_mut() {
            let rolled_back = execute(&mut source.copier, "ROLLBACK").await;
            rolled_back.map_err(|error| unreadable(source.path, error))?;
        }
        if Instant::now() >= deadline {
            return Err(CopyError::Busy);
        }
    }
}

/// Numbers that change when another connection commits, for all databases but the last.
async fn data_versions(sources: &mut [Source<'_>]) -> Result<Vec<i64>, CopyError> {
    let mut versions = Vec::new();
    if let Some((_, earlier)) = sources.split_last_mut() {
        for source in earlier {
            let version = scalar(&mut source.observer, "PRAGMA data_version").await;
            versions.push(version.map_err(|error| unreadable(source.path, error))?);
        }
    }
    Ok(versions)
}

struct Source<'a> {
    path: &'a Path,
    to: &'a Path,
    /// Sees the newest state of the database. It closes last and may write, so it checkpoints the write-ahead
    /// log if the server stopped in the meantime.
    observer: SqliteConnection,
    /// Has the copy as its main database, and the original attached read-only.
    copier: SqliteConnection,
}

impl<'a> Source<'a> {
    async fn open(copy: &'a DatabaseCopy) -> Result<Self, sqlx::Error> {
        let mut observer = options(&copy.from).connect().await?;
        let page_size = scalar(&mut observer, "PRAGMA page_size").await?;
        let mut copier = SqliteConnectOptions::new()
            .filename(&copy.to)
            .create_if_missing(true)
            .page_size(u32::try_from(page_size).unwrap_or(4096))
            // An incomplete copy is thrown away, so it needs no journal.
            .journal_mode(SqliteJournalMode::Off)
            .synchronous(SqliteSynchronous::Off)
            .foreign_keys(false)
            .pragma("temp_store", "MEMORY")
            .disable_statement_logging()
            .connect()
            .await?;
        sqlx::query("ATTACH ? AS original").bind(read_only_uri(&copy.from)).execute(&mut copier).await?;
        Ok(Self { path: &copy.from, to: &copy.to, observer, copier })
    }

    /// A read transaction begins with the first read.
    async fn begin(&mut self) -> Result<(), sqlx::Error> {
        execute(&mut self.copier, "BEGIN").await?;
        scalar(&mut self.copier, "SELECT count(*) FROM original.sqlite_schema").await.map(drop)
    }

    async fn copy(&mut self) -> Result<usize, CopyError> {
        let (path, to) = (self.path, self.to);
        let failed = |error| match is_full(&error) {
            true => CopyError::Unwritable { path: to.display().to_string(), source: error },
            false => unreadable(path, error),
        };
        if let Some(name) = self.virtual_table().await.map_err(failed)? {
            let what = format!("the virtual table {name}");
            return Err(CopyError::Unsupported { path: path.display().to_string(), what });
        }
        let version = self.copy_content().await.map_err(failed)?;
        let is_same = self.has_same_schema().await.map_err(failed)?;
        execute(&mut self.copier, "COMMIT").await.map_err(failed)?;
        let problem = match is_same {
            true => quick_check(&mut self.copier).await.map_err(failed)?,
            false => Some("the schema of the copy differs".into()),
        };
        match problem {
            None => Ok(version),
            Some(problem) => Err(CopyError::Damaged { path: path.display().to_string(), problem }),
        }
    }

    /// A virtual table stores its rows in shadow tables; copying them needs its module.
    async fn virtual_table(&mut self) -> Result<Option<String>, sqlx::Error> {
        let name = "SELECT name FROM original.sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'";
        sqlx::query_scalar(name).fetch_optional(&mut self.copier).await
    }

    /// Creates indexes before it copies rows: when table and indexes are the same on both sides, SQLite
    /// copies their pages without sorting. Creates triggers last, so that none fires.
    async fn copy_content(&mut self) -> Result<usize, sqlx::Error> {
        let db = &mut self.copier;
        create_schema_objects(db, "type = 'table'").await?;
        create_schema_objects(db, "type = 'index'").await?;
        for table in table_names(db).await? {
            copy_rows(db, &table).await?;
        }
        if scalar(db, "SELECT count(*) FROM original.sqlite_schema WHERE name = 'sqlite_sequence'").await? > 0
        {
            let sequences = "DELETE FROM main.sqlite_sequence;
                INSERT INTO main.sqlite_sequence SELECT * FROM original.sqlite_sequence";
            execute(db, sequences).await?;
        }
        create_schema_objects(db, "type IN ('view', 'trigger')").await?;
        for pragma in ["user_version", "application_id"] {
            let value = scalar(db, &format!("PRAGMA original.{pragma}")).await?;
            execute(db, &format!("PRAGMA main.{pragma} = {value}")).await?;
        }
        let version = scalar(db, "PRAGMA main.user_version").await?;
        Ok(usize::try_from(version).unwrap_or(usize::MAX))
    }

    async fn has_same_schema(&mut self) -> Result<bool, sqlx::Error> {
        let schema = |of: &str| {
            format!("SELECT type, name, tbl_name, sql FROM {of}.sqlite_schema WHERE {IS_USER_TABLE}")
        };
        let differences = format!("SELECT count(*) FROM ({} EXCEPT {})", schema("original"), schema("main"));
        Ok(scalar(&mut self.copier, &differences).await? == 0)
    }

    async fn close(self) -> Result<(), sqlx::Error> {
        self.copier.close().await?;
        self.observer.close().await
    }
}

/// Creates the original's schema objects of one kind in the copy.
async fn create_schema_objects(db: &mut SqliteConnection, kind: &str) -> Result<(), sqlx::Error> {
    let statements = format!(
        "SELECT sql FROM original.sqlite_schema WHERE {kind} AND sql IS NOT NULL AND {IS_USER_TABLE} ORDER BY rowid"
    );
    let statements: Vec<String> = sqlx::query_scalar(AssertSqlSafe(statements)).fetch_all(&mut *db).await?;
    for statement in statements {
        execute(db, &statement).await?;
    }
    Ok(())
}

async fn table_names(db: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    let names = format!("SELECT name FROM original.sqlite_schema WHERE type = 'table' AND {IS_USER_TABLE}");
    sqlx::query_scalar(AssertSqlSafe(names)).fetch_all(db).await
}

/// Generated columns are left out, because they cannot be inserted. Columns are named only if there is a
/// generated one: naming them prevents SQLite's fast copy of whole tables.
async fn copy_rows(db: &mut SqliteConnection, table: &str) -> Result<(), sqlx::Error> {
    let columns = "SELECT name, hidden IN (2, 3) FROM pragma_table_xinfo(?, 'original')";
    let columns: Vec<(String, bool)> = sqlx::query_as(columns).bind(table).fetch_all(&mut *db).await?;
    let stored: Vec<_> = columns
        .iter()
        .filter(|(_, is_generated)| !is_generated)
        .map(|(name, _)| quote_identifier(name))
        .collect();
    let (into, from) = match stored.len() == columns.len() {
        true => (String::new(), "*".to_owned()),
        false => (format!("({})", stored.join(", ")), stored.join(", ")),
    };
    let table = quote_identifier(table);
    execute(db, &format!("INSERT INTO main.{table} {into} SELECT {from} FROM original.{table}")).await
}

fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Checks a copy and returns its schema version.
pub async fn check_copy(path: &Path) -> Result<usize, CopyError> {
    let checked = async {
        let mut db = read_copy(path).await?;
        let problem = quick_check(&mut db).await?;
        let version = scalar(&mut db, "PRAGMA user_version").await?;
        db.close().await?;
        Ok::<_, sqlx::Error>((problem, version))
    };
    match checked.await.map_err(|error| unreadable(path, error))? {
        (None, version) => Ok(usize::try_from(version).unwrap_or(usize::MAX)),
        (Some(problem), _) => Err(CopyError::Damaged { path: path.display().to_string(), problem }),
    }
}

/// Opens a copy that no process writes to. Leaves no file beside it.
pub async fn read_copy(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    options.disable_statement_logging().connect().await
}

/// Opens a copy to change it. The copy stays one file.
pub async fn write_copy(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).journal_mode(SqliteJournalMode::Delete);
    options.synchronous(SqliteSynchronous::Full).disable_statement_logging().connect().await
}

/// The first problem of the main database, if there is one.
async fn quick_check(db: &mut SqliteConnection) -> Result<Option<String>, sqlx::Error> {
    let found: String = sqlx::query_scalar("PRAGMA main.quick_check(1)").fetch_one(db).await?;
    Ok((found != "ok").then_some(found))
}

/// Escapes the characters that have a meaning in a URI.
fn read_only_uri(path: &Path) -> String {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{path}?mode=ro")
}

async fn execute(db: &mut SqliteConnection, sql: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(db).await.map(drop)
}

async fn scalar(db: &mut SqliteConnection, sql: &str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(db).await
}

/// A full disk concerns the copy, because nothing else is written.
fn is_full(error: &sqlx::Error) -> bool {
    super::trouble(error).is_some_and(|trouble| trouble.cause == machine::Cause::DiskFull)
}

fn unreadable(path: &Path, source: sqlx::Error) -> CopyError {
    CopyError::Unreadable { path: path.display().to_string(), source }
}
