use std::sync::Arc;

use async_trait::async_trait;
use base::{ClockGuard, ClockName, ClockRecord, Reading};

use super::SqliteStore;
use crate::Result;
use crate::clock::{ClockTable, Columns, columns, record};

#[async_trait]
impl ClockTable for SqliteStore {
    fn guard(&self) -> &Arc<ClockGuard> {
        &self.guard
    }

    /// One server has the database, and its clock is the database's.
    fn names(&self, _server: Option<&str>) -> Vec<(ClockName, String)> {
        vec![(ClockName::Server, "server".to_owned())]
    }

    async fn reading(&self, _clock: ClockName) -> Result<Reading> {
        Ok(self.guard.reading())
    }

    async fn newest_job(&self, _clock: ClockName) -> Result<Option<i64>> {
        let newest = "SELECT max(coalesce(archived_at, ended_at, created_at)) FROM jobs";
        Ok(sqlx::query_scalar(newest).fetch_one(self.db.reads()).await?)
    }

    async fn load(&self, name: &str) -> Result<Option<ClockRecord>> {
        let row = "SELECT trusted, version, cause, began, last_wall, steady,
                          misdated_from, misdated_to, misdated_until
                   FROM clocks WHERE name = ?";
        let row = sqlx::query_as::<_, Columns>(row).bind(name);
        row.fetch_optional(self.db.reads()).await?.map(record).transpose()
    }

    async fn add(&self, name: &str, record: &ClockRecord) -> Result<()> {
        let add = "INSERT INTO clocks (name, trusted, version) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        let add = sqlx::query(add).bind(name.to_owned()).bind(record.trusted).bind(record.version);
        self.execute(add).await.map(drop)
    }

    async fn replace(&self, name: &str, version: i64, record: &ClockRecord) -> Result<()> {
        let replace = "UPDATE clocks
            SET (trusted, version, cause, began, last_wall, steady, misdated_from, misdated_to, misdated_until) =
                (?, ?, ?, ?, ?, ?, ?, ?, ?)
            WHERE name = ? AND version = ? AND (cause IS NULL OR ?)";
        let is_about_pause = record.pause.is_some() || record.version != version;
        let (trusted, next, cause, began, last_wall, steady, from, to, until) = columns(record);
        let replace = sqlx::query(replace)
            .bind(trusted)
            .bind(next)
            .bind(cause)
            .bind(began)
            .bind(last_wall)
            .bind(steady)
            .bind(from)
            .bind(to)
            .bind(until);
        let replace = replace.bind(name.to_owned()).bind(version).bind(is_about_pause);
        self.execute(replace).await.map(drop)
    }

    async fn confirm(&self, name: &str, now: i64) -> Result<()> {
        let confirm = "INSERT INTO clocks (name, trusted, version) VALUES (?, ?, 1)
            ON CONFLICT (name) DO UPDATE SET trusted = excluded.trusted, version = version + 1, cause = NULL,
              began = NULL, last_wall = NULL, steady = NULL";
        self.execute(sqlx::query(confirm).bind(name.to_owned()).bind(now)).await.map(drop)
    }
}
