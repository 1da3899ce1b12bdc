//! Which database in ClickHouse the ledger belongs to.

use async_trait::async_trait;
use traffic::ledger::{Binding, EngineBinding, LedgerError};

use super::{LedgerWork, ledger_error};

#[async_trait]
impl EngineBinding for LedgerWork {
    async fn lock_binding(&mut self, new_id: &str) -> Result<Binding, LedgerError> {
        let create = "INSERT INTO views_engine (id) VALUES ($1) ON CONFLICT DO NOTHING";
        self.run(sqlx::query(create).bind(new_id)).await?;
        let lock = sqlx::query_as("SELECT id, is_bound FROM views_engine FOR UPDATE");
        let (id, is_bound) = lock.fetch_one(&mut *self.tx).await.map_err(ledger_error)?;
        Ok(Binding { id, is_bound })
    }

    async fn set_bound(&mut self, last_project: i64) -> Result<(), LedgerError> {
        self.run(sqlx::query("UPDATE views_engine SET is_bound = true")).await?;
        let skip = "SELECT setval(numbers, $1) FROM pg_get_serial_sequence('views_projects', 'id') AS numbers
            WHERE $1 > coalesce(pg_sequence_last_value(numbers::regclass), 0)";
        self.run(sqlx::query(skip).bind(last_project)).await
    }

    async fn begin_anew(&mut self, new_id: &str) -> Result<(), LedgerError> {
        self.run(sqlx::query("UPDATE views_engine SET id = $1, is_bound = false").bind(new_id)).await?;
        self.run(sqlx::query("DELETE FROM views_days")).await?;
        let reset = "UPDATE views_projects SET version = version + 1, raw_oldest = NULL";
        self.run(sqlx::query(reset)).await
    }
}
