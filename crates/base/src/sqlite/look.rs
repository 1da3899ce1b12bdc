//! Reads a database file and changes nothing: not the file, not its log, and no file beside it appears.
//! For a look at a database whose server may be running, stopped or killed, by any user.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::{BUSY, Database, OpenError, READERS, Schema, Writer, migrate};

/// Steps of SQLite between two looks at the time.
const STEPS: i32 = 1_000;
/// Problems that are worth naming; a damaged file has thousands.
const MAX_PROBLEMS: u32 = 10;
/// SQLite's codes of a statement that was cut off, and of one that met damage.
const INTERRUPTED: &str = "9";
const CORRUPT: &str = "11";

/// What `PRAGMA quick_check` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// How many migrations the file has seen.
    pub schema: usize,
    /// In SQLite's words; none of a sound file.
    pub problems: Vec<String>,
    /// False when the time was up before all of the file was read.
    pub is_complete: bool,
}

impl Database {
    /// A database of this schema, to be read and not to be written.
    pub async fn look(path: &Path, migrations: &'static [&'static str]) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Unusable { path: path.display().to_string(), source };
        let options = options(path)?;
        let mut first = options.connect().await.map_err(unusable)?;
        migrate::run(&mut first, path, migrations, Schema::MustMatch).await?;
        let _ = first.close().await;
        let reads = SqlitePoolOptions::new().max_connections(READERS).connect_with(options).await;
        Ok(Self { reads: reads.map_err(unusable)?, writer: Writer::stopped() })
    }
}

/// Looks for damage, as long as `limit` allows.
pub async fn inspect(path: &Path, limit: Duration) -> Result<Inspection, OpenError> {
    let was_at_rest = !has_log(path);
    let found = inspect_once(path, limit).await;
    // A server that started meanwhile changed pages while they were read.
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
    db.lock_handle().await?.set_progress_handler(STEPS, move || Instant::now() < deadline);
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
        // Damage that keeps the check itself from going on.
        Err(sqlx::Error::Database(broken)) if broken.code().as_deref() == Some(CORRUPT) => {
            Ok(Inspection { schema, problems: vec![broken.message().to_owned()], is_complete: false })
        }
        Err(error) => Err(error),
    }
}

/// A file at rest is read as it is. One with a log is read with it; SQLite would make the index of the
/// log anew, beside it, if it were not told that the index is not to be written.
fn options(path: &Path) -> Result<SqliteConnectOptions, OpenError> {
    let plain = SqliteConnectOptions::new().read_only(true).busy_timeout(BUSY).disable_statement_logging();
    if !has_log(path) {
        return Ok(plain.filename(path).immutable(true));
    }
    match beside(path, "-shm").exists() {
        true => Ok(plain.filename(format!("file:{}?mode=ro&readonly_shm=1", escaped(path)))),
        false => Err(OpenError::Unrecovered { path: path.display().to_string() }),
    }
}

fn has_log(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A path as it stands in a URI.
fn escaped(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let escape = |byte: &u8| match is_plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.as_os_str().as_encoded_bytes().iter().map(escape).collect()
}
