//! Applies schema migrations in order. `PRAGMA user_version` counts the applied ones.

use std::path::Path;

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::{OpenError, Schema};

pub(super) async fn run(
    connection: &mut SqliteConnection,
    path: &Path,
    migrations: &'static [&'static str],
    schema: Schema,
) -> Result<(), OpenError> {
    let unusable = |source| OpenError::Unusable { path: path.display().to_string(), source };
    let known = migrations.len();
    let found = version(connection).await.map_err(unusable)?;
    let name = path.display().to_string();
    match found {
        _ if found == known => Ok(()),
        _ if found > known => Err(OpenError::Newer { path: name, found, known }),
        0 if schema == Schema::Existing => Err(OpenError::Empty { path: name }),
        _ if schema == Schema::MustMatch => Err(OpenError::Older { path: name, found, known }),
        _ => apply(connection, &migrations[found..], found).await.map_err(unusable),
    }
}

pub(super) async fn version(connection: &mut SqliteConnection) -> Result<usize, sqlx::Error> {
    let found: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await?;
    Ok(usize::try_from(found).unwrap_or(usize::MAX))
}

/// In one transaction, so that a failed migration leaves the previous schema.
async fn apply(
    connection: &mut SqliteConnection,
    pending: &'static [&'static str],
    from: usize,
) -> Result<(), sqlx::Error> {
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    for migration in pending {
        sqlx::raw_sql(*migration).execute(&mut *connection).await?;
    }
    let commit = format!("PRAGMA user_version = {}; COMMIT", from + pending.len());
    sqlx::raw_sql(AssertSqlSafe(commit)).execute(connection).await?;
    Ok(())
}
