use std::sync::Arc;

use async_trait::async_trait;
use base::{ClockGuard, ClockName, ClockRecord, Reading};

use super::{PostgresStore, in_time};
use crate::Result;
use crate::clock::{ClockTable, Columns, columns, record};

#[async_trait]
impl ClockTable for PostgresStore {
    fn guard(&self) -> &Arc<ClockGuard> {
        &self.guard
    }

    /// Jobs go by the database's clock, and page views by that of the server that keeps them.
    fn names(&self, server: Option<&str>) -> Vec<(ClockName, String)> {
        let server = server.map(|id| (ClockName::Server, format!("server {id}")));
        [Some((ClockName::Database, "database".to_owned())), server].into_iter().flatten().collect()
    }

    async fn reading(&self, clock: ClockName) -> Result<Reading> {
        Ok(match clock {
            ClockName::Server => self.guard.reading(),
            ClockName::Database => self.guard.reading_at(self.now().await?),
        })
    }

    async fn newest_job(&self, clock: ClockName) -> Result<Option<i64>> {
        if clock == ClockName::Server {
            return Ok(None);
        }
        let newest = "SELECT max(coalesce(archived_at, ended_at, created_at)) FROM jobs";
        in_time(async { Ok(sqlx::query_scalar(newest).fetch_one(&self.pool).await?) }).await
    }

    async fn load(&self, name: &str) -> Result<Option<ClockRecord>> {
        let row = "SELECT trusted, version, cause, began, last_wall, steady,
                          misdated_from, misdated_to, misdated_until
                   FROM clocks WHERE name = $1";
        let row = sqlx::query_as::<_, Columns>(row).bind(name);
        in_time(async { Ok(row.fetch_optional(&self.pool).await?) }).await?.map(record).transpose()
    }

    async fn add(&self, name: &str, record: &ClockRecord) -> Result<()> {
        let add = "INSERT INTO clocks (name, trusted, version) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let add = sqlx::query(add).bind(name).bind(record.trusted).bind(record.version);
        self.execute(add).await.map(drop)
    }

    async fn replace(&self, name: &str, version: i64, record: &ClockRecord) -> Result<()> {
        let replace = "UPDATE clocks
            SET (trusted, version, cause, began, last_wall, steady, misdated_from, misdated_to, misdated_until) =
                ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            WHERE name = $10 AND version = $11 AND (cause IS NULL OR $12)";
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
        self.execute(replace.bind(name).bind(version).bind(is_about_pause)).await.map(drop)
    }

    async fn confirm(&self, name: &str, now: i64) -> Result<()> {
        let confirm = "INSERT INTO clocks (name, trusted, version) VALUES ($1, $2, 1)
            ON CONFLICT (name) DO UPDATE SET trusted = excluded.trusted, version = clocks.version + 1,
              cause = NULL, began = NULL, last_wall = NULL, steady = NULL";
        self.execute(sqlx::query(confirm).bind(name).bind(now)).await.map(drop)
    }
}
