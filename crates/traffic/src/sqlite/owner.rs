//! Remembers in which epoch a server stored page views in this file last, so that an older copy of it can be told from the
//! latest one.

use base::sqlite::Database;
use futures_util::FutureExt;
use sqlx::SqliteConnection;

use crate::views::Failure;

pub(super) async fn read(database: &Database) -> Result<Option<i64>, Failure> {
    let epoch = sqlx::query_scalar("SELECT epoch FROM owner");
    Ok(epoch.fetch_optional(&mut *database.reads().acquire().await?).await?)
}

pub(super) async fn write(database: &Database, epoch: i64) -> Result<(), Failure> {
    database.write(move |connection| write_epoch(connection, epoch).boxed()).await
}

async fn write_epoch(connection: &mut SqliteConnection, epoch: i64) -> Result<(), Failure> {
    let set = "INSERT INTO owner (one, epoch) VALUES (1, $1)
         ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch";
    sqlx::query(set).bind(epoch).execute(connection).await?;
    Ok(())
}
