//! Inspects a PostgreSQL database before an upgrade: reads its schema version, and changes and locks nothing.

use base::sqlite::OpenError;
use sqlx::{Connection, PgConnection};

use super::connect::connect;
use super::migrate::{IN_USE, version};
use super::url::DatabaseUrl;
use crate::Result;
use crate::sql::lock_number;

/// The lock of a 64-bit number is in two columns of 32 bits.
const USERS: &str = "SELECT count(*) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32 | objid::bigint) = $1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresInspection {
    /// How many migrations were applied.
    pub schema: usize,
    /// How many servers, workers and commands use the database.
    pub users: u64,
    /// The size of the database on its server's disk.
    pub bytes: u64,
}

pub async fn inspect_postgres(url: &DatabaseUrl) -> Result<PostgresInspection> {
    let mut db = connect(url).await?;
    let found = read(&mut db).await;
    let _ = db.close().await;
    Ok(found.map_err(|source| OpenError::Unusable { path: url.to_string(), source })?)
}

async fn read(db: &mut PgConnection) -> Result<PostgresInspection, sqlx::Error> {
    let schema = version(db).await?;
    let users: i64 = sqlx::query_scalar(USERS).bind(lock_number(IN_USE)).fetch_one(&mut *db).await?;
    let bytes = sqlx::query_scalar("SELECT pg_database_size(current_database())");
    let bytes: i64 = bytes.fetch_one(db).await?;
    Ok(PostgresInspection { schema, users: users.unsigned_abs(), bytes: bytes.unsigned_abs() })
}
