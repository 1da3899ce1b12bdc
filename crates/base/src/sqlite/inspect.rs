//! Inspects a database read-only: it changes neither the file nor its write-ahead log, and creates no file.
//!
//! It works for any user, whether the server runs, is stopped or was killed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::{BUSY_TIMEOUT, Database, OpenError, ReadPool, Schema, Writer, migrate};

/// SQLite instructions between two checks of the deadline.
const DEADLINE_CHECK_STEPS: i32 = 1_000;
/// A damaged file has thousands of problems; the first few are enough.
const MAX_PROBLEMS: u32 = 10;
/// SQLite's result codes SQLITE_INTERRUPT and SQLITE_CORRUPT.
const INTERRUPTED: &str = "9";
const CORRUPT: &str = "11";

/// What `PRAGMA quick_check` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// How many migrations were applied to the file.
    pub schema: usize,
    /// As SQLite describes them; empty for an intact file.
    pub problems: Vec<String>,
    /// False when the time limit ended the check early.
    pub is_complete: bool,
}

impl Database {
    /// Opens a database of this schema read-only.
    pub async fn open_read_only(path: &Path, migrations: &'static [&'static str]) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Unusable { path: path.display().to_string(), source };
        let options = options(path)?;
        let mut first = options.connect().await.map_err(unusable)?;
        migrate::run(&mut first, path, migrations, Schema::MustMatch).await?;
        let _ = first.close().await;
        let reads = ReadPool::open(&options).await.map_err(unusable)?;
        Ok(Self { reads, writer: Writer::stopped() })
    }
}

/// Checks a database for damage, for at most `limit`.
pub async fn inspect(path: &Path, limit: Duration) -> Result<Inspection, OpenError> {
    let was_at_rest = !has_log(path);
    let found = inspect_once(path, limit).await;
    // A server that started in the meantime changed pages while they were read.
    match was_at_rest && has_log(path) {
        true => inspect_once(path, limit).await,
        false => found,
    }
}

async fn inspect_once(path: &Path, limit: Duration) -> Result<Inspection, OpenError> {
    let unusable = |source| OpenError::Unusable { path: path.display().to_string(), source };
    let mut db = options(path)?.connect().await.map_err(unusable)?;
    let found = quick_check(&mut db, limit).await.map_err(unusable);
    let _ = db.close().await;
    found
}

async fn quick_check(db: &mut SqliteConnection, limit: Duration) -> Result<Inspection, sqlx::Error> {
    let schema = migrate::version(db).await?;
    let deadline = Instant::now() + limit;
    db.lock_handle().await?.set_progress_handler(DEADLINE_CHECK_STEPS, move || Instant::now() < deadline);
    let check = sqlx::AssertSqlSafe(format!("PRAGMA quick_check({MAX_PROBLEMS})"));
    let found: Result<Vec<String>, _> = sqlx::query_scalar(check).fetch_all(&mut *db).await;
    match found {
        Ok(mut problems) => {
            problems.retain(|line| line != "ok");
            Ok(Inspection { schema, problems, is_complete: true })
        }
        Err(sqlx::Error::Database(cut)) if cut.code().as_deref() == Some(INTERRUPTED) => {
            Ok(Inspection { schema, problems: Vec::new(), is_complete: false })
        }
        // Damage that stops the check itself.
        Err(sqlx::Error::Database(broken)) if broken.code().as_deref() == Some(CORRUPT) => {
            Ok(Inspection { schema, problems: vec![broken.message().to_owned()], is_complete: false })
        }
        Err(error) => Err(error),
    }
}

/// A file without a write-ahead log is opened as immutable. With a log, `readonly_shm` keeps SQLite from
/// writing the index of the log, the -shm file.
fn options(path: &Path) -> Result<SqliteConnectOptions, OpenError> {
    let plain =
        SqliteConnectOptions::new().read_only(true).busy_timeout(BUSY_TIMEOUT).disable_statement_logging();
    if !has_log(path) {
        return Ok(plain.filename(path).immutable(true));
    }
    match sibling_file(path, "-shm").exists() {
        true => Ok(plain.filename(format!("file:{}?mode=ro&readonly_shm=1", escape_for_uri(path)))),
        false => Err(OpenError::Unrecovered { path: path.display().to_string() }),
    }
}

fn has_log(path: &Path) -> bool {
    std::fs::metadata(sibling_file(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

fn sibling_file(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn escape_for_uri(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let escape = |byte: &u8| match is_plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.as_os_str().as_encoded_bytes().iter().map(escape).collect()
}
