//! The outbox of page views: blocks that wait for ClickHouse, and shipments.

use std::collections::HashSet;

use async_trait::async_trait;
use traffic::ledger::{Backlog, LedgerError, Outbox, Shipment, ShipmentScope};

use super::{LedgerWork, ledger_error};

/// Blocks that one shipment looks at. A view from a browser can be a block of its own.
const MAX_BLOCKS: i64 = 10_000;

#[async_trait]
impl Outbox for LedgerWork {
    async fn backlog(&mut self) -> Result<Backlog, LedgerError> {
        let sum = "SELECT coalesce(sum(events), 0)::bigint, coalesce(sum(bytes), 0)::bigint, min(received)
            FROM views_outbox";
        let (events, bytes, oldest): (i64, i64, Option<i64>) =
            sqlx::query_as(sum).fetch_one(&mut *self.tx).await.map_err(ledger_error)?;
        Ok(Backlog { events: events.unsigned_abs(), bytes: bytes.unsigned_abs(), oldest })
    }

    async fn last_waiting(&mut self) -> Result<i64, LedgerError> {
        let last = "SELECT coalesce(max(n), 0) FROM views_outbox WHERE shipment IS NULL";
        sqlx::query_scalar(last).fetch_one(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn freeze(
        &mut self,
        token: &str,
        scope: ShipmentScope<'_>,
        lease_ms: i64,
    ) -> Result<bool, LedgerError> {
        if scope.min_age_ms > 0 && !self.has_waited(scope.min_age_ms).await? {
            return Ok(false);
        }
        let found = self.waiting_blocks(scope).await?;
        let mut projects: Vec<i64> = found.iter().map(|(_, project)| *project).collect();
        projects.sort_unstable();
        projects.dedup();
        let free = self.mark_projects(&projects, scope.lease).await?;
        let blocks = found.into_iter().filter(|(_, project)| free.contains(project));
        let blocks: Vec<i64> = blocks.map(|(n, _)| n).collect();
        if blocks.is_empty() {
            return Ok(false);
        }
        sqlx::query("INSERT INTO views_shipments (token, leased_until) VALUES ($1, $2)")
            .bind(token)
            .bind(self.now + lease_ms)
            .execute(&mut *self.tx)
            .await
            .map_err(ledger_error)?;
        sqlx::query("UPDATE views_outbox SET shipment = $1 WHERE n = ANY($2)")
            .bind(token)
            .bind(blocks)
            .execute(&mut *self.tx)
            .await
            .map_err(ledger_error)?;
        Ok(true)
    }

    async fn lease_shipment(&mut self, lease_ms: i64) -> Result<Option<String>, LedgerError> {
        let lease = "UPDATE views_shipments SET leased_until = $1 WHERE token = (
                SELECT token FROM views_shipments WHERE leased_until <= $2
                ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING token";
        let lease = sqlx::query_scalar(lease).bind(self.now + lease_ms).bind(self.now);
        lease.fetch_optional(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn release_shipment(&mut self, token: &str) -> Result<(), LedgerError> {
        let release = "UPDATE views_shipments SET leased_until = $2 WHERE token = $1";
        let release = sqlx::query(release).bind(token).bind(self.now).execute(&mut *self.tx);
        release.await.map(drop).map_err(ledger_error)
    }

    async fn shipments_of(&mut self, project: i64) -> Result<Vec<String>, LedgerError> {
        let select = "SELECT DISTINCT shipment FROM views_outbox WHERE project = $1 AND shipment IS NOT NULL ORDER BY 1";
        sqlx::query_scalar(select).bind(project).fetch_all(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn shipment(&mut self, token: &str) -> Result<Shipment, LedgerError> {
        let blocks = "SELECT project, block FROM views_outbox WHERE shipment = $1 ORDER BY n";
        let blocks: Vec<(i64, Vec<u8>)> =
            sqlx::query_as(blocks).bind(token).fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        let projects: HashSet<i64> = blocks.iter().map(|(project, _)| *project).collect();
        let projects: Vec<i64> = projects.into_iter().collect();
        let rewritten =
            "SELECT project, day, generation FROM views_days WHERE project = ANY($1) AND generation > 0";
        let rewritten = sqlx::query_as(rewritten).bind(&projects);
        let rewritten: Vec<(i64, i64, i64)> =
            rewritten.fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        let raw_from = sqlx::query_as("SELECT id, raw_from FROM views_projects WHERE id = ANY($1)");
        let raw_from: Vec<(i64, i64)> =
            raw_from.bind(&projects).fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        let generations = rewritten.into_iter().map(|(project, day, number)| ((project, day), number));
        Ok(Shipment { blocks, generations: generations.collect(), raw_from: raw_from.into_iter().collect() })
    }

    async fn remove_shipment(&mut self, token: &str) -> Result<bool, LedgerError> {
        // Locked first, so that of two servers one removes it. Blocks refer to it, so it is deleted last.
        let lock = sqlx::query("SELECT 1 FROM views_shipments WHERE token = $1 FOR UPDATE").bind(token);
        if lock.fetch_optional(&mut *self.tx).await.map_err(ledger_error)?.is_none() {
            return Ok(false);
        }
        for delete in
            ["DELETE FROM views_outbox WHERE shipment = $1", "DELETE FROM views_shipments WHERE token = $1"]
        {
            sqlx::query(delete).bind(token).execute(&mut *self.tx).await.map_err(ledger_error)?;
        }
        Ok(true)
    }
}

impl LedgerWork {
    /// Whether the first block that waits was received so long ago.
    async fn has_waited(&mut self, age_ms: i64) -> Result<bool, LedgerError> {
        let first = "SELECT received FROM views_outbox WHERE shipment IS NULL ORDER BY n LIMIT 1";
        let first: Option<i64> =
            sqlx::query_scalar(first).fetch_optional(&mut *self.tx).await.map_err(ledger_error)?;
        Ok(first.is_some_and(|received| received <= self.now - age_ms))
    }

    /// Locks blocks that wait, and returns their numbers and projects. Other servers skip them.
    async fn waiting_blocks(&mut self, scope: ShipmentScope<'_>) -> Result<Vec<(i64, i64)>, LedgerError> {
        let select = "SELECT n, project, events FROM views_outbox AS waiting
            WHERE shipment IS NULL AND n <= $5 AND ($1::bigint IS NULL OR project = $1)
            AND NOT EXISTS (SELECT 1 FROM views_projects
                WHERE id = waiting.project AND lease_until > $2 AND lease IS DISTINCT FROM $3)
            ORDER BY n LIMIT $4 FOR UPDATE SKIP LOCKED";
        let select = sqlx::query_as(select).bind(scope.project).bind(self.now).bind(scope.lease);
        let found: Vec<(i64, i64, i64)> =
            select.bind(MAX_BLOCKS).bind(scope.last).fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        let mut events = 0;
        let fits = |(_, _, more): &(i64, i64, i64)| {
            let is_first = events == 0;
            events += more.unsigned_abs();
            is_first || events <= scope.max_events
        };
        Ok(found.into_iter().take_while(fits).map(|(n, project, _)| (n, project)).collect())
    }

    /// Increases the version of projects, so that reports which are being computed are computed again. Leaves out
    /// projects that were leased meanwhile: the lock of the row decides who is first.
    async fn mark_projects(&mut self, projects: &[i64], lease: &str) -> Result<HashSet<i64>, LedgerError> {
        let lock = "SELECT id FROM views_projects WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
        sqlx::query(lock).bind(projects).execute(&mut *self.tx).await.map_err(ledger_error)?;
        let mark = "UPDATE views_projects SET version = version + 1
            WHERE id = ANY($1) AND (lease_until <= $2 OR lease IS NOT DISTINCT FROM $3) RETURNING id";
        let mark = sqlx::query_scalar(mark).bind(projects).bind(self.now).bind(lease);
        mark.fetch_all(&mut *self.tx).await.map(HashSet::from_iter).map_err(ledger_error)
    }
}
