//! Reads ClickHouse and the outbox as of one moment.
//!
//! A report counts the views that ClickHouse has and those that wait in the outbox. If a server freezes a shipment in
//! between, the report would miss or double its views. So the ledger counts a version up before that, and a report whose
//! version changed is computed again.

use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::sleep;

use super::Shared;
use super::lease::ProjectLease;
use super::ledger::LedgerSnapshot;
use super::rows::path;
use super::transaction::{in_time, transact};
use crate::block::{Block, Row};
use crate::classify::Class;
use crate::event::Kind;
use crate::views::{Failure, Tally, Unavailable};

/// How often a report is outdated before it keeps its project from being shipped, so that it ends.
const OUTDATED_BEFORE_HOLD: u32 = 2;
/// Longer than a query may take.
const HOLD_MS: i64 = 25_000;
/// Views that a report reads from the outbox. If more wait, they are shipped first.
const MAX_WAITING: u64 = 200_000;
/// How often a report is computed, or waits for a shipment.
const MAX_TRIES: u32 = 400;
const SHIPMENT_DELAY: Duration = Duration::from_millis(25);
/// After so many delays, the report sends a shipment that no server sends.
const DELAYS_BEFORE_SEND: u32 = 8;
/// After so many delays, the report sends the shipment even if a server sends it, too: that server may have died. Longer
/// than an insert usually takes, because many reports may wait for the same one.
const DELAYS_BEFORE_RESEND: u32 = 120;

/// A moment of a project.
pub(super) struct Moment {
    pub(super) ledger: LedgerSnapshot,
    /// The views that wait.
    pub(super) waiting: Vec<Block>,
    /// The lease of the project, if the report has it; otherwise empty.
    pub(super) lease: String,
}

/// A read by a human or an assistant that waits.
pub(super) struct WaitingRead<'b> {
    pub(super) at: i64,
    pub(super) path: &'b str,
    pub(super) class: Class,
    pub(super) visitor: Option<u64>,
}

impl Moment {
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Block, &Row)> {
        self.waiting.iter().flat_map(|block| block.rows.iter().map(move |row| (block, row)))
    }

    pub(super) fn reads(&self) -> impl Iterator<Item = WaitingRead<'_>> {
        let counts =
            |row: &Row| row.kind == Kind::Read && matches!(row.class, Class::Human | Class::Assistant);
        self.rows().filter(move |(_, row)| counts(row)).map(|(block, row)| WaitingRead {
            at: row.at,
            path: path(block, row),
            class: row.class,
            visitor: row.visitor,
        })
    }
}

/// The tally of reads of one class, which must be human or assistant.
pub(super) fn tally(class: Class, reads: u64) -> Tally {
    match class {
        Class::Human => Tally { human: reads, ai: 0 },
        _ => Tally { human: 0, ai: reads },
    }
}

/// Computes a report as of one moment: again, until no shipment was frozen meanwhile. `None` when the project does not
/// exist.
macro_rules! report {
    ($shared:expr, $project:expr, |$moment:ident| $compute:expr) => {{
        let mut moments = $shared.moments($project).await?;
        loop {
            let Some(moment) = moments.next().await? else { break Ok(None) };
            let $moment = &moment;
            let report = $crate::remote::snapshot::compute(async { $compute }).await;
            if moments.is_current(&moment).await? {
                break report.map(Some);
            }
        }
    }};
}
pub(super) use report;

/// Names the type of the error, for [`report`].
pub(super) async fn compute<T>(report: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    report.await
}

/// The moments at which a report can be computed.
pub(super) struct Moments<'s> {
    shared: &'s Shared,
    project: &'s str,
    tries: u32,
    delays: u32,
    outdated: u32,
    /// A lease, so that nothing of the project is shipped while the report is computed. It also ends by time.
    hold: Option<ProjectLease>,
    _permit: SemaphorePermit<'s>,
}

impl Moments<'_> {
    /// A moment at which nothing is on its way to ClickHouse.
    pub(super) async fn next(&mut self) -> Result<Option<Moment>, Failure> {
        let shared = self.shared;
        while self.tries < MAX_TRIES {
            self.tries += 1;
            if self.outdated >= OUTDATED_BEFORE_HOLD && self.hold.is_none() {
                self.hold = shared.try_lease(self.project, HOLD_MS).await?.flatten();
            }
            let Some(ledger) = shared.snapshot(self.project).await? else { return Ok(None) };
            if ledger.is_shipping {
                self.delays += 1;
                if self.delays.is_multiple_of(DELAYS_BEFORE_RESEND) {
                    shared.resend(ledger.project).await?;
                } else if self.delays.is_multiple_of(DELAYS_BEFORE_SEND) {
                    shared.send_released().await?;
                } else {
                    sleep(SHIPMENT_DELAY).await;
                }
            } else if ledger.waiting_events > MAX_WAITING {
                self.release().await;
                shared.ship(Some(ledger.project)).await?;
                sleep(SHIPMENT_DELAY).await;
            } else {
                let mut waiting = Vec::with_capacity(ledger.blocks.len());
                for packed in &ledger.blocks {
                    waiting.push(Block::decode(packed)?);
                }
                let lease = self.hold.as_ref().map(|hold| hold.token.clone()).unwrap_or_default();
                return Ok(Some(Moment { ledger, waiting, lease }));
            }
        }
        Err(Failure::new(Unavailable("page views are being shipped all the time".into())))
    }

    /// Whether a report of this moment is right.
    pub(super) async fn is_current(&mut self, moment: &Moment) -> Result<bool, Failure> {
        let version = self.shared.version(moment.ledger.project).await?;
        self.release().await;
        let is_current = version == Some(moment.ledger.version);
        self.outdated += u32::from(!is_current);
        Ok(is_current)
    }

    async fn release(&mut self) {
        if let Some(hold) = self.hold.take() {
            self.shared.release(&hold).await;
        }
    }
}

impl Shared {
    /// The moments of a report.
    pub(super) async fn moments<'s>(&'s self, project: &'s str) -> Result<Moments<'s>, Failure> {
        self.engine.check_silence().await?;
        let permit = self.reports.acquire().await.map_err(Failure::new)?;
        Ok(Moments { shared: self, project, tries: 0, delays: 0, outdated: 0, hold: None, _permit: permit })
    }

    /// Ships what waits, because it is too much for a report. The report is computed again, because its version changes;
    /// the error is for the case that another server rewrites the project and nothing can be shipped.
    pub(super) async fn ship_and_retry(&self, moment: &Moment) -> Result<Failure, Failure> {
        self.ship_as(Some(moment.ledger.project), &moment.lease, Duration::ZERO).await?;
        Ok(Failure::new(Unavailable("too many page views wait for a report".into())))
    }

    async fn snapshot(&self, project: &str) -> Result<Option<LedgerSnapshot>, Failure> {
        let snapshot = async {
            let mut tx = self.ledger.begin_read().await?;
            let snapshot = tx.snapshot(project, MAX_WAITING).await?;
            tx.commit().await?;
            Ok(snapshot)
        };
        Ok(in_time(snapshot).await?)
    }

    async fn version(&self, project: i64) -> Result<Option<i64>, Failure> {
        Ok(transact!(self.ledger, |tx| tx.version(project).await)?)
    }
}
