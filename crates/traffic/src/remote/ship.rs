//! Ships what was taken to ClickHouse, exactly once.
//!
//! Any server freezes blocks as a shipment under a random token and commits that before it sends the rows. So a retry, by
//! this server or another one, sends the same rows under the same token, and ClickHouse inserts them once. The token is
//! random: a restored database would use a sequence again, and ClickHouse would drop every row.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::Shared;
use super::day_readers::{DayReaders, Visit};
use super::ledger::{LedgerError, LedgerTransaction, Shipment, ShipmentScope};
use super::name_folds::RowName;
use super::rows::{COLUMNS, Placement, path, put_row};
use super::transaction::transact;
use crate::block::Block;
use crate::event::Kind;
use crate::range_parts::DAY;
use crate::views::{Failure, with_cause};

/// No insert is smaller than what this time brings, to all servers together.
const SHIP_INTERVAL: Duration = Duration::from_secs(1);
/// Events in one shipment. ClickHouse inserts them as one block.
const MAX_EVENTS: u64 = 200_000;
/// Longer than an insert may take. After that, another server sends the shipment.
const LEASE_MS: i64 = 40_000;

/// The rows of a shipment, and what the ledger records once they are inserted.
#[derive(Default)]
struct EncodedShipment {
    rows: Vec<u8>,
    /// The days of each project, and whether they have reads.
    days: BTreeMap<i64, BTreeMap<i64, bool>>,
    /// Readers of days whose raw events are deleted.
    late: Vec<(i64, i64, DayReaders)>,
}

/// Ships what waits, every second.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(SHIP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count_at = Instant::now();
    loop {
        ticks.tick().await;
        let shipped = shared.ship_if_due().await;
        let mut counted = Ok(());
        if Instant::now() >= count_at {
            let started = Instant::now();
            counted = shared.update_backlog().await.map(drop);
            // With millions of blocks, counting must not become the work.
            count_at = Instant::now() + started.elapsed() * 20;
        }
        let failed = counted.and(shipped).err();
        let was_failing = shared.is_failing.swap(failed.is_some(), Ordering::Relaxed);
        match failed {
            Some(failure) if !was_failing => {
                tracing::warn!("page views wait for ClickHouse: {}", with_cause(&failure));
            }
            None if was_failing => tracing::info!("page views are shipped to ClickHouse again"),
            _ => {}
        }
    }
}

impl Shared {
    /// Ships what waits, of one project or of all.
    pub(super) async fn ship(&self, project: Option<i64>) -> Result<(), Failure> {
        self.ship_as(project, "", Duration::ZERO).await
    }

    pub(super) async fn ship_if_due(&self) -> Result<(), Failure> {
        self.ship_as(None, "", SHIP_INTERVAL).await
    }

    /// Ships what waits now, if something has waited for `min_age`: what arrives meanwhile would keep this from ending.
    /// `lease` is the lease of the project, if the caller has it.
    pub(super) async fn ship_as(
        &self,
        project: Option<i64>,
        lease: &str,
        min_age: Duration,
    ) -> Result<(), Failure> {
        // While ClickHouse is away, the oldest shipment fails here, and nothing more is frozen.
        self.ready().await?;
        while self.send_released().await? {}
        let min_age_ms = i64::try_from(min_age.as_millis()).unwrap_or(i64::MAX);
        let last = transact!(self.ledger, |tx| tx.last_waiting().await)?;
        let scope = ShipmentScope { project, lease, max_events: MAX_EVENTS, last, min_age_ms };
        while let Some(token) = self.freeze(scope).await? {
            self.send_leased(&token).await?;
        }
        Ok(())
    }

    /// Sends a shipment that no server sends. Returns false if there is none.
    pub(super) async fn send_released(&self) -> Result<bool, Failure> {
        let Some(token) = transact!(self.ledger, |tx| tx.lease_shipment(LEASE_MS).await)? else {
            return Ok(false);
        };
        self.send_leased(&token).await?;
        Ok(true)
    }

    /// Sends the shipments of a project, even if another server does, too.
    pub(super) async fn resend(&self, project: i64) -> Result<(), Failure> {
        let tokens = transact!(self.ledger, |tx| tx.shipments_of(project).await)?;
        for token in tokens {
            self.send(&token).await?;
        }
        Ok(())
    }

    async fn freeze(&self, scope: ShipmentScope<'_>) -> Result<Option<String>, Failure> {
        let token = random_token()?;
        let frozen = transact!(self.ledger, |tx| tx.freeze(&token, scope, LEASE_MS).await)?;
        Ok(frozen.then_some(token))
    }

    async fn send_leased(&self, token: &str) -> Result<(), Failure> {
        let sent = self.send(token).await;
        if sent.is_err() {
            // The lease also ends by time.
            let _ = transact!(self.ledger, |tx| tx.release_shipment(token).await);
        }
        sent
    }

    async fn send(&self, token: &str) -> Result<(), Failure> {
        let engine = self.ready().await?;
        let shipment = transact!(self.ledger, |tx| tx.shipment(token).await)?;
        let encoded = self.encode(&shipment).await?;
        if !encoded.rows.is_empty() {
            let insert = format!("INSERT INTO views ({COLUMNS}) FORMAT RowBinary");
            engine.insert(&insert, token, encoded.rows).await?;
        }
        let (days, late, raw_from) = (&encoded.days, &encoded.late, &shipment.raw_from);
        Ok(transact!(self.ledger, |tx| {
            if !tx.remove_shipment(token).await? {
                return Ok(());
            }
            for (project, days) in days {
                let days: Vec<(i64, bool)> = days.iter().map(|(day, reads)| (*day, *reads)).collect();
                let raw_from = raw_from.get(project).copied().unwrap_or_default();
                tx.touch_days(*project, &days, raw_from.div_euclid(DAY)).await?;
            }
            add_late_readers(tx, late).await
        })?)
    }

    async fn encode(&self, shipment: &Shipment) -> Result<EncodedShipment, Failure> {
        let mut blocks = Vec::with_capacity(shipment.blocks.len());
        for (project, packed) in &shipment.blocks {
            blocks.push((*project, Block::decode(packed)?));
        }
        let mut folds = self.load_name_folds(&blocks).await?;
        let mut encoded = EncodedShipment::default();
        let mut late = BTreeMap::<(i64, i64), Vec<Visit<'_>>>::new();
        for (project, block) in &blocks {
            let raw_from = shipment.raw_from.get(project).copied().unwrap_or_default();
            for row in &block.rows {
                let day = row.at.div_euclid(DAY);
                let generation = shipment.generations.get(&(*project, day)).copied().unwrap_or_default();
                let name = RowName::of(*project, block, row);
                let is_folded = name.is_some_and(|name| folds.is_folded(&name));
                put_row(
                    &mut encoded.rows,
                    block,
                    row,
                    Placement { project: *project, generation, is_folded },
                );
                let is_read = row.kind == Kind::Read;
                *encoded.days.entry(*project).or_default().entry(day).or_default() |= is_read;
                if let (true, true, Some(visitor)) = (is_read, row.at < raw_from, row.visitor) {
                    let visit = Visit { path: path(block, row), visitor, class: row.class };
                    late.entry((*project, day)).or_default().push(visit);
                }
            }
        }
        let late =
            late.into_iter().map(|((project, day), visits)| (project, day, DayReaders::from_visits(visits)));
        encoded.late = late.collect();
        Ok(encoded)
    }
}

/// Adds readers to days whose raw events are deleted. They were hashed with another salt, so none of them is counted
/// there already.
async fn add_late_readers(
    tx: &mut dyn LedgerTransaction,
    late: &[(i64, i64, DayReaders)],
) -> Result<(), LedgerError> {
    for (project, day, readers) in late {
        let damaged = |error: &dyn std::error::Error| LedgerError::Failed(error.to_string());
        let mut all = readers.clone();
        if let Some(kept) = tx.lock_visitors(*project, *day).await? {
            all.add(&DayReaders::decode(&kept).map_err(|error| damaged(&error))?);
        }
        let packed = all.encode().map_err(|error| damaged(&error))?;
        tx.set_visitors(*project, *day, &packed).await?;
    }
    Ok(())
}

pub(super) fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
