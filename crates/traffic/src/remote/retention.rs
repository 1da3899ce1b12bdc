//! Deletes by age: raw events after `raw_days`, event ids after seven days, and salts after their day. Also deletes what
//! ClickHouse still has of deleted projects and of rewritten days.
//!
//! Deletes nothing while the clock cannot be trusted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::lease::with_lease;
use super::ledger::{LedgerError, LedgerTransaction};
use super::schema::TABLES;
use super::snapshot::Moment;
use super::transaction::transact;
use super::{DEDUP_WINDOW, Shared};
use crate::range_parts::DAY;
use crate::views::{Failure, with_cause};
use crate::visitor_salts::Salts;

const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(60);
/// Rows of a deleted project may still arrive with a shipment that was sent before.
const PURGE_AGAIN_AFTER_MS: i64 = 60 * 60 * 1000;

pub(super) async fn run(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(MAINTENANCE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    loop {
        ticks.tick().await;
        if let Err(failure) = shared.run_maintenance().await {
            tracing::warn!("maintenance of page views failed: {}", with_cause(&failure));
        }
    }
}

impl Shared {
    pub(super) async fn run_maintenance(&self) -> Result<(), Failure> {
        transact!(self.ledger, |tx| {
            tx.rotate_ids(&self.guard.database_cutoff(tx.now(), DEDUP_WINDOW)).await?;
            self.rotate_salts(tx).await
        })?;
        self.ship(None).await?;
        let (raw_from, due) = transact!(self.ledger, |tx| {
            let raw_from = self.raw_from(tx.now());
            Ok((raw_from, tx.due_projects(raw_from.div_euclid(DAY)).await?))
        })?;
        // What fails for one project must not keep the data of the others.
        let mut done = Ok(());
        for project in due {
            done = done.and(self.expire(&project, raw_from).await);
        }
        for project in transact!(self.ledger, |tx| tx.purges(tx.now() - PURGE_AGAIN_AFTER_MS).await)? {
            done = done.and(self.purge_again(project).await);
        }
        done
    }

    async fn purge_again(&self, project: i64) -> Result<(), Failure> {
        self.purge(project).await?;
        Ok(transact!(self.ledger, |tx| tx.purged(project).await)?)
    }

    /// Where raw events begin, once all older ones are deleted.
    fn raw_from(&self, now: i64) -> i64 {
        let age = Duration::from_millis(DAY.unsigned_abs()) * self.limits.raw_days;
        self.guard.database_cutoff(now, age).before.div_euclid(DAY) * DAY
    }

    /// Deletes the raw events of a project before a day, and rows of earlier generations.
    async fn expire(&self, name: &str, raw_from: i64) -> Result<(), Failure> {
        let Some(lease) = self.lease(name).await? else { return Ok(()) };
        let expired = async {
            self.ship_leased(&lease).await?;
            let ledger = self.leased_snapshot(&lease).await?;
            if ledger.raw_from < raw_from {
                // Visitors are counted before their raw events are deleted. Those that wait are late.
                let moment = Moment { ledger, waiting: Vec::new(), lease: lease.token.clone() };
                self.keep_readers_before(&moment, raw_from.div_euclid(DAY)).await?;
                with_lease!(self, &lease, |tx| tx.move_raw_from(lease.project, raw_from).await)?;
            }
            let raw_from = self.leased_snapshot(&lease).await?.raw_from;
            let old =
                format!("project = {} AND at < fromUnixTimestamp64Milli({raw_from}, 'UTC')", lease.project);
            self.delete("views", &old).await?;
            let day = raw_from.div_euclid(DAY);
            with_lease!(self, &lease, |tx| tx.raw_deleted(lease.project, day).await)?;
            self.delete_old_generations(&lease).await
        };
        let expired = expired.await;
        self.release(&lease).await;
        expired
    }

    pub(super) async fn rotate_salts(&self, tx: &mut dyn LedgerTransaction) -> Result<Salts, LedgerError> {
        let today = tx.now().div_euclid(DAY);
        let trusted = self.guard.database_cutoff(tx.now(), Duration::ZERO);
        let is_trusted = trusted != base::Cutoff::NOTHING;
        let mut new = Vec::new();
        for day in [today, today + 1] {
            let mut salt = [0; 32];
            getrandom::fill(&mut salt).map_err(|error| LedgerError::Failed(error.to_string()))?;
            new.push((day, salt));
        }
        let kept: HashMap<i64, [u8; 32]> = tx.salts(&new, is_trusted.then_some(today)).await?;
        Ok(Salts(kept))
    }

    /// Deletes a project. Its number is never used again, so what ClickHouse still has of it is in no report.
    pub(super) async fn forget(&self, project: &str) -> Result<(), Failure> {
        let Some(id) = transact!(self.ledger, |tx| tx.forget(project).await)? else { return Ok(()) };
        if let Err(failure) = self.purge(id).await {
            tracing::warn!("views of a deleted project are deleted later: {}", with_cause(&failure));
        }
        Ok(())
    }

    async fn purge(&self, project: i64) -> Result<(), Failure> {
        while !transact!(self.ledger, |tx| tx.purge_ids(project).await)? {}
        for table in TABLES {
            self.delete(table, &format!("project = {project}")).await?;
        }
        Ok(())
    }
}
