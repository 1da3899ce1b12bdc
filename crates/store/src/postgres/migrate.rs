//! Applies ordered migrations, which are embedded in the program and counted in the table `docwright_schema`. Each server
//! holds a shared lock while it uses the database, so that the schema does not change under a running server.

use base::sqlite::{OpenError, Schema};
use sqlx::{Connection, PgConnection};

use super::url::DatabaseUrl;
use crate::sql::lock_number;
use crate::transfer::is_incomplete;

pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_store.sql"),
    include_str!("../../migrations/postgres/0002_engine.sql"),
    include_str!("../../migrations/postgres/0003_merges.sql"),
    include_str!("../../migrations/postgres/0004_people.sql"),
    include_str!("../../migrations/postgres/0005_figures.sql"),
    include_str!("../../migrations/postgres/0006_invitations.sql"),
    include_str!("../../migrations/postgres/0007_deaths.sql"),
    include_str!("../../migrations/postgres/0008_clock.sql"),
    include_str!("../../migrations/postgres/0009_context.sql"),
    include_str!("../../migrations/postgres/0010_member_access.sql"),
    include_str!("../../migrations/postgres/0011_activity.sql"),
    include_str!("../../migrations/postgres/0012_proposals.sql"),
    include_str!("../../migrations/postgres/0013_findings.sql"),
    include_str!("../../migrations/postgres/0014_views_epoch.sql"),
    include_str!("../../migrations/postgres/0015_views_ledger.sql"),
    include_str!("../../migrations/postgres/0016_views_engine.sql"),
    include_str!("../../migrations/postgres/0017_list_of_findings.sql"),
];
/// The lock for reading and changing the schema.
const SCHEMA: &[&str] = &["schema"];
/// A shared lock of all servers that use the database.
pub(crate) const IN_USE: &[&str] = &["in use"];

/// Brings the schema up to date in one transaction.
pub(super) async fn run(db: &mut PgConnection, url: &DatabaseUrl, schema: Schema) -> Result<(), OpenError> {
    let unusable = |source| OpenError::Unusable { path: url.to_string(), source };
    let (path, known) = (url.to_string(), MIGRATIONS.len());
    let mut change = db.begin().await.map_err(unusable)?;
    lock(&mut change).await.map_err(unusable)?;
    let found = version(&mut change).await.map_err(unusable)?;
    if found > known {
        return Err(OpenError::Newer { path, found, known });
    }
    if found == 0 && schema == Schema::Existing {
        return Err(OpenError::Empty { path });
    }
    if found < known {
        if schema == Schema::MustMatch || is_in_use(&mut change).await.map_err(unusable)? {
            return Err(OpenError::Older { path, found, known });
        }
        apply(&mut change, found).await.map_err(unusable)?;
    }
    change.commit().await.map_err(unusable)
}

/// Who uses the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// A server or a command: not while an installation is being moved to the database.
    Installation,
    /// The move itself.
    Move,
}

/// Marks the database as in use by this connection, and checks that the schema is that of this program.
pub(super) async fn hold(db: &mut PgConnection, user: User) -> Result<(), sqlx::Error> {
    let mut look = db.begin().await?;
    lock(&mut look).await?;
    if version(&mut look).await? != MIGRATIONS.len() {
        return Err(sqlx::Error::Configuration("another version of Docwright changed its schema".into()));
    }
    let hold = sqlx::query("SELECT pg_advisory_lock_shared($1)");
    hold.bind(lock_number(IN_USE)).execute(&mut *look).await?;
    // Only now: a move that begins has this lock until it recorded that.
    if user == User::Installation && is_incomplete(&mut look).await? {
        return Err(sqlx::Error::Configuration("an installation is being moved to it".into()));
    }
    look.commit().await
}

async fn lock(db: &mut PgConnection) -> Result<(), sqlx::Error> {
    let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)");
    lock.bind(lock_number(SCHEMA)).execute(db).await.map(|_| ())
}

async fn is_in_use(db: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let free = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)");
    free.bind(lock_number(IN_USE)).fetch_one(db).await.map(|free: bool| !free)
}

pub(super) async fn version(db: &mut PgConnection) -> Result<usize, sqlx::Error> {
    let made = "SELECT to_regclass('docwright_schema') IS NOT NULL";
    if !sqlx::query_scalar::<_, bool>(made).fetch_one(&mut *db).await? {
        return Ok(0);
    }
    let found: i64 = sqlx::query_scalar("SELECT version FROM docwright_schema").fetch_one(db).await?;
    Ok(usize::try_from(found).unwrap_or(usize::MAX))
}

async fn apply(db: &mut PgConnection, from: usize) -> Result<(), sqlx::Error> {
    // A large table takes a while.
    sqlx::raw_sql("SET LOCAL statement_timeout = 0").execute(&mut *db).await?;
    if from == 0 {
        let make = "CREATE TABLE docwright_schema (version BIGINT NOT NULL);
            INSERT INTO docwright_schema (version) VALUES (0)";
        sqlx::raw_sql(make).execute(&mut *db).await?;
    }
    for migration in &MIGRATIONS[from..] {
        sqlx::raw_sql(*migration).execute(&mut *db).await?;
    }
    let done = sqlx::query("UPDATE docwright_schema SET version = $1").bind(MIGRATIONS.len() as i64);
    done.execute(db).await.map(|_| ())
}
