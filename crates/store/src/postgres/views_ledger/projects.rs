//! Leases projects, rewrites days, and deletes.

use async_trait::async_trait;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use traffic::Progress;
use traffic::ledger::{LedgerError, Projects};

use super::{LedgerWork, ledger_error};

/// Few enough for one statement.
const IDS_PER_PURGE: i64 = 50_000;

#[async_trait]
impl Projects for LedgerWork {
    async fn progress(&mut self, project: &str, file: &str) -> Result<Option<Progress>, LedgerError> {
        let select = "SELECT bytes, hash FROM views_imports WHERE file = $1 AND bytes > 0
            AND project = (SELECT id FROM views_projects WHERE name = $2)";
        let found = sqlx::query_as(select).bind(file).bind(project).fetch_optional(&mut *self.tx);
        let found: Option<(i64, String)> = found.await.map_err(ledger_error)?;
        Ok(found.map(|(bytes, hash)| Progress { bytes: bytes.unsigned_abs(), hash }))
    }

    async fn lease_project(
        &mut self,
        project: &str,
        lease: &str,
        lease_ms: i64,
    ) -> Result<Option<Option<i64>>, LedgerError> {
        let take = "UPDATE views_projects SET lease = $2, lease_until = $3
            WHERE name = $1 AND (lease_until <= $4 OR lease = $2) RETURNING id";
        let take =
            sqlx::query_scalar(take).bind(project).bind(lease).bind(self.now + lease_ms).bind(self.now);
        if let Some(id) = take.fetch_optional(&mut *self.tx).await.map_err(ledger_error)? {
            return Ok(Some(Some(id)));
        }
        let exists = sqlx::query("SELECT 1 FROM views_projects WHERE name = $1").bind(project);
        let exists = exists.fetch_optional(&mut *self.tx).await.map_err(ledger_error)?;
        Ok(exists.map(|_| None))
    }

    async fn extend_lease(&mut self, project: i64, lease: &str, lease_ms: i64) -> Result<bool, LedgerError> {
        let extend = "UPDATE views_projects SET lease_until = $3
            WHERE id = $1 AND lease = $2 AND lease_until > $4";
        let extend = sqlx::query(extend).bind(project).bind(lease).bind(self.now + lease_ms).bind(self.now);
        extend.execute(&mut *self.tx).await.map(|done| done.rows_affected() > 0).map_err(ledger_error)
    }

    async fn next_generation(&mut self, project: i64, day: i64) -> Result<i64, LedgerError> {
        // At least the seconds since 1970: a database that was restored from a backup would use a number again.
        let next =
            "INSERT INTO views_days AS kept (project, day, last_generation, dirty) VALUES ($1, $2, $3, true)
            ON CONFLICT (project, day) DO UPDATE
                SET last_generation = greatest(kept.last_generation + 1, excluded.last_generation), dirty = true
            RETURNING last_generation";
        let next = sqlx::query_scalar(next).bind(project).bind(day).bind(self.now / 1000);
        next.fetch_one(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn set_generation(
        &mut self,
        project: i64,
        day: i64,
        generation: i64,
        visitors: Option<&[u8]>,
    ) -> Result<(), LedgerError> {
        let set = "UPDATE views_days SET generation = $3, visitors = $4, folds = folds + 1
            WHERE project = $1 AND day = $2";
        self.run(sqlx::query(set).bind(project).bind(day).bind(generation).bind(visitors)).await?;
        let mark = "UPDATE views_projects SET version = version + 1 WHERE id = $1";
        self.run(sqlx::query(mark).bind(project)).await
    }

    async fn dirty_days(&mut self, project: i64) -> Result<Vec<(i64, i64)>, LedgerError> {
        let dirty = "SELECT day, generation FROM views_days WHERE project = $1 AND dirty ORDER BY day";
        sqlx::query_as(dirty).bind(project).fetch_all(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn clean_days(&mut self, project: i64, days: &[(i64, i64)]) -> Result<(), LedgerError> {
        // Rows of a rewrite that was not completed stay until the next one.
        let clean = "UPDATE views_days SET dirty = false FROM unnest($2::bigint[], $3::bigint[]) AS sent (day, generation)
            WHERE project = $1 AND views_days.day = sent.day AND views_days.generation = sent.generation";
        let (days, generations): (Vec<i64>, Vec<i64>) = days.iter().copied().unzip();
        self.run(sqlx::query(clean).bind(project).bind(days).bind(generations)).await
    }

    async fn due_projects(&mut self, raw_from_day: i64) -> Result<Vec<String>, LedgerError> {
        let due = "SELECT name FROM views_projects WHERE raw_oldest < $1
            OR id IN (SELECT project FROM views_days WHERE dirty) ORDER BY id";
        sqlx::query_scalar(due).bind(raw_from_day).fetch_all(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn move_raw_from(&mut self, project: i64, raw_from: i64) -> Result<(), LedgerError> {
        let change = "UPDATE views_projects SET raw_from = greatest(raw_from, $2), version = version + 1
            WHERE id = $1";
        self.run(sqlx::query(change).bind(project).bind(raw_from)).await
    }

    async fn raw_deleted(&mut self, project: i64, raw_from_day: i64) -> Result<(), LedgerError> {
        let change = "UPDATE views_projects SET raw_oldest = $2 WHERE id = $1 AND raw_oldest < $2";
        self.run(sqlx::query(change).bind(project).bind(raw_from_day)).await
    }

    async fn pages(&mut self, project: i64) -> Result<Vec<String>, LedgerError> {
        let pages = sqlx::query_scalar("SELECT path FROM views_pages WHERE project = $1").bind(project);
        pages.fetch_all(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn remove_pages(&mut self, project: i64, paths: &[String]) -> Result<(), LedgerError> {
        let remove = "DELETE FROM views_pages WHERE project = $1 AND path = ANY($2)";
        self.run(sqlx::query(remove).bind(project).bind(paths)).await?;
        let epoch = "UPDATE views_projects SET pages_epoch = pages_epoch + 1 WHERE id = $1";
        self.run(sqlx::query(epoch).bind(project)).await
    }

    async fn forget(&mut self, project: &str) -> Result<Option<i64>, LedgerError> {
        let delete =
            sqlx::query_scalar("DELETE FROM views_projects WHERE name = $1 RETURNING id").bind(project);
        let id: Option<i64> = delete.fetch_optional(&mut *self.tx).await.map_err(ledger_error)?;
        if let Some(id) = id {
            self.run(
                sqlx::query("INSERT INTO views_purges (project, since) VALUES ($1, $2)")
                    .bind(id)
                    .bind(self.now),
            )
            .await?;
        }
        Ok(id)
    }

    async fn purges(&mut self, before: i64) -> Result<Vec<i64>, LedgerError> {
        let purges = "SELECT project FROM views_purges WHERE since <= $1 ORDER BY project";
        let purges = sqlx::query_scalar(purges).bind(before);
        purges.fetch_all(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn purge_ids(&mut self, project: i64) -> Result<bool, LedgerError> {
        for delete in [
            "DELETE FROM views_ids_a WHERE project = $1
                AND id IN (SELECT id FROM views_ids_a WHERE project = $1 LIMIT $2)",
            "DELETE FROM views_ids_b WHERE project = $1
                AND id IN (SELECT id FROM views_ids_b WHERE project = $1 LIMIT $2)",
        ] {
            let delete = sqlx::query(delete).bind(project).bind(IDS_PER_PURGE).execute(&mut *self.tx);
            if delete.await.map_err(ledger_error)?.rows_affected() > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn purged(&mut self, project: i64) -> Result<(), LedgerError> {
        self.run(sqlx::query("DELETE FROM views_purges WHERE project = $1").bind(project)).await
    }
}

impl LedgerWork {
    pub(super) async fn run(
        &mut self,
        statement: Query<'_, sqlx::Postgres, PgArguments>,
    ) -> Result<(), LedgerError> {
        statement.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }
}
