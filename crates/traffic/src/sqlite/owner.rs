//! Remembers in which epoch a server stored page views in this file last, so that an older copy of it can be told from the
//! latest one.

use futures_util::FutureExt;
use sqlx::SqliteConnection;

use super::SqliteViews;
use crate::views::Failure;

impl SqliteViews {
    /// `None`: no server that shares a database with others has stored page views in this file.
    pub async fn epoch(&self) -> Result<Option<i64>, Failure> {
        let epoch = sqlx::query_scalar("SELECT epoch FROM owner");
        Ok(epoch.fetch_optional(&mut *self.database.reads().acquire().await?).await?)
    }

    pub async fn set_epoch(&self, epoch: i64) -> Result<(), Failure> {
        self.database.write(move |connection| write_epoch(connection, epoch).boxed()).await
    }
}

async fn write_epoch(connection: &mut SqliteConnection, epoch: i64) -> Result<(), Failure> {
    let set = "INSERT INTO owner (one, epoch) VALUES (1, $1)
         ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch";
    sqlx::query(set).bind(epoch).execute(connection).await?;
    Ok(())
}
