//! Leases a project to rewrite its days. Nothing of the project is shipped meanwhile.
//!
//! The lease ends by time, so a server that dies blocks nobody. Each write of the ledger checks it first.

use std::time::Duration;

use tokio::time::sleep;

use super::Shared;
use super::ledger::{LedgerError, LedgerSnapshot};
use super::ship::random_token;
use super::transaction::{in_time, transact};
use crate::views::{Failure, Unavailable};

/// Longer than the rewrite of a day may take.
pub(super) const LEASE_MS: i64 = 320_000;
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// How often a lease that another server has is tried. A report may have it for as long as a query takes.
const MAX_TRIES: u32 = 500;

pub(super) struct ProjectLease {
    pub(super) project: i64,
    name: String,
    pub(super) token: String,
}

pub(super) fn lease_lost() -> LedgerError {
    LedgerError::Unavailable("another server works on these page views".into())
}

/// Writes to the ledger if the lease is still held, and extends it.
macro_rules! with_lease {
    ($shared:expr, $lease:expr, |$tx:ident| $work:expr) => {{
        let lease: &$crate::remote::lease::ProjectLease = $lease;
        let written = $crate::remote::transaction::transact!($shared.ledger, |$tx| {
            let lease_ms = $crate::remote::lease::LEASE_MS;
            if !$tx.extend_lease(lease.project, &lease.token, lease_ms).await? {
                return Err($crate::remote::lease::lease_lost());
            }
            $work
        });
        written.map_err($crate::views::Failure::from)
    }};
}
pub(super) use with_lease;

impl Shared {
    /// Waits for the lease of a project. `None` when it does not exist.
    pub(super) async fn lease(&self, name: &str) -> Result<Option<ProjectLease>, Failure> {
        for _ in 0..MAX_TRIES {
            match self.try_lease(name, LEASE_MS).await? {
                None => return Ok(None),
                Some(Some(lease)) => return Ok(Some(lease)),
                Some(None) => sleep(RETRY_DELAY).await,
            }
        }
        Err(Failure::new(Unavailable(lease_lost().to_string())))
    }

    /// `Some(None)` while another server has the lease, and `None` when the project does not exist.
    pub(super) async fn try_lease(
        &self,
        name: &str,
        lease_ms: i64,
    ) -> Result<Option<Option<ProjectLease>>, Failure> {
        let token = random_token()?;
        let leased = transact!(self.ledger, |tx| tx.lease_project(name, &token, lease_ms).await)?;
        let lease = |project| ProjectLease { project, name: name.to_owned(), token };
        Ok(leased.map(|project| project.map(lease)))
    }

    pub(super) async fn release(&self, lease: &ProjectLease) {
        // The lease also ends by time.
        let _ = transact!(self.ledger, |tx| tx.extend_lease(lease.project, &lease.token, 0).await.map(drop));
    }

    /// Ships what waits of a leased project, so that ClickHouse has all of it and nothing is on its way.
    pub(super) async fn ship_leased(&self, lease: &ProjectLease) -> Result<(), Failure> {
        self.resend(lease.project).await?;
        self.ship_as(Some(lease.project), &lease.token, Duration::ZERO).await
    }

    pub(super) async fn leased_snapshot(&self, lease: &ProjectLease) -> Result<LedgerSnapshot, Failure> {
        let snapshot = async {
            let mut tx = self.ledger.begin_read().await?;
            let snapshot = tx.snapshot(&lease.name, 0).await?;
            tx.commit().await?;
            // Another project may have got the name.
            snapshot
                .filter(|snapshot| snapshot.project == lease.project && !snapshot.is_shipping)
                .ok_or_else(lease_lost)
        };
        Ok(in_time(snapshot).await?)
    }
}
