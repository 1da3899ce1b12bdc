//! Rewrites the days of a project: adds the rows that stay as a new generation, and then makes it the one that counts.
//!
//! The switch is one transaction of the ledger, so a report sees a day before or after it. A rewrite that was interrupted
//! leaves rows of a generation that never counts. They are deleted with the next rewrite of the day.

use super::Shared;
use super::engine::{CONSISTENT_READ, QUORUM};
use super::lease::ProjectLease;
use super::lease::with_lease;
use super::ledger::LedgerSnapshot;
use super::schema::{DAY_OF_AT, TABLES};
use super::sql::{Conditions, generation_of};
use crate::range_parts::{DAY, Span};
use crate::views::Failure;

/// Blocks of a rewrite can be equal, and ClickHouse would drop them as retries.
const NO_DEDUPLICATION: &[(&str, &str)] =
    &[("insert_deduplicate", "0"), ("async_insert", "0"), ("max_partitions_per_insert_block", "0")];
/// A deletion waits for the replica that got it. The others follow on their own, also one that is away: no report counts
/// these rows meanwhile.
const DELETE_SETTINGS: &[(&str, &str)] = &[("lightweight_deletes_sync", "1"), ("mutations_sync", "1")];

/// The class and the product of the rows that stay, as expressions.
pub(super) struct RowChange {
    pub(super) class: String,
    pub(super) product: String,
    /// A condition on the rows that stay.
    pub(super) stays: String,
}

impl Default for RowChange {
    fn default() -> Self {
        Self { class: "class".into(), product: "product".into(), stays: "1".into() }
    }
}

pub(super) fn span_of(day: i64) -> Span {
    (day * DAY, (day + 1) * DAY)
}

impl Shared {
    /// Rewrites the raw events of a day. ClickHouse fills the rollups of the new generation.
    pub(super) async fn rewrite_raw(
        &self,
        lease: &ProjectLease,
        ledger: &LedgerSnapshot,
        day: i64,
        change: &RowChange,
    ) -> Result<(), Failure> {
        let generation = self.next_generation(lease, day).await?;
        let current = Conditions::new(ledger).raw(&[span_of(day)]);
        let RowChange { class, product, stays } = change;
        // The names of the new columns differ, because the conditions are about the old ones.
        let insert = format!(
            "INSERT INTO views (project, at, path, kind, class, markdown, status, agent, product, referrer, verification, visitor, folded, generation) \
             SELECT project, at, path, kind, {class} AS new_class, markdown, status, agent, {product} AS new_product, referrer, verification, visitor, folded, toUInt32({generation}) AS new_generation \
             FROM views WHERE {current} AND {stays}"
        );
        self.copy_rows(insert).await?;
        self.switch(lease, day, generation, None).await
    }

    /// Copies the rows of rollups that stay, for a day without raw events.
    pub(super) async fn rewrite_rollups(
        &self,
        lease: &ProjectLease,
        ledger: &LedgerSnapshot,
        day: i64,
        (path_stays, name_stays): (&str, &str),
        visitors: Option<Vec<u8>>,
    ) -> Result<(), Failure> {
        let generation = self.next_generation(lease, day).await?;
        let conditions = Conditions::new(ledger);
        let (of_day, of_hours) =
            (conditions.days((day, day + 1)), conditions.hours(&[(day * 24, (day + 1) * 24)]));
        for (table, key, current, stays) in [
            ("views_daily", "day, path", &of_day, path_stays),
            ("views_hourly", "hour, path", &of_hours, path_stays),
            ("views_names", "about, day, name", &of_day, name_stays),
        ] {
            let copy = format!(
                "INSERT INTO {table} (project, {key}, class, generation, n) \
                 SELECT project, {key}, class, toUInt32({generation}) AS new_generation, n FROM {table} \
                 WHERE {current} AND {stays}"
            );
            self.copy_rows(copy).await?;
        }
        self.switch(lease, day, generation, visitors).await
    }

    /// On a cluster, from a replica that has every row, and to a majority.
    async fn copy_rows(&self, insert: String) -> Result<(), Failure> {
        let engine = self.ready().await?;
        let mut settings = NO_DEDUPLICATION.to_vec();
        if engine.cluster.is_some() {
            settings.extend(QUORUM);
            settings.push(CONSISTENT_READ);
        }
        Ok(engine.execute(insert, &settings).await?)
    }

    async fn next_generation(&self, lease: &ProjectLease, day: i64) -> Result<i64, Failure> {
        with_lease!(self, lease, |tx| tx.next_generation(lease.project, day).await)
    }

    async fn switch(
        &self,
        lease: &ProjectLease,
        day: i64,
        generation: i64,
        visitors: Option<Vec<u8>>,
    ) -> Result<(), Failure> {
        let visitors = visitors.as_deref();
        with_lease!(self, lease, |tx| tx.set_generation(lease.project, day, generation, visitors).await)
    }

    /// Deletes rows of earlier generations. A deletion that is late deletes no row of a later one.
    pub(super) async fn delete_old_generations(&self, lease: &ProjectLease) -> Result<(), Failure> {
        let dirty = with_lease!(self, lease, |tx| tx.dirty_days(lease.project).await)?;
        if dirty.is_empty() {
            return Ok(());
        }
        for table in TABLES {
            let day = match table {
                "views" => DAY_OF_AT,
                "views_hourly" => "toUInt32(intDiv(hour, 24))",
                _ => "day",
            };
            let old = format!("project = {} AND generation < {}", lease.project, generation_of(&dirty, day));
            self.delete(table, &old).await?;
        }
        with_lease!(self, lease, |tx| tx.clean_days(lease.project, &dirty).await)
    }

    pub(super) async fn delete(&self, table: &str, condition: &str) -> Result<(), Failure> {
        let engine = self.ready().await?;
        let delete = format!("DELETE FROM {table} WHERE {condition}");
        Ok(engine.execute(delete, DELETE_SETTINGS).await?)
    }
}
