//! Runs transactions of the ledger: bounded in time, and again when the database aborts them.

use std::time::Duration;

use tokio::time::timeout;

use super::ledger::LedgerError;
use crate::views::{Failure, Unavailable};

/// How often a transaction is tried that the database aborts.
pub(super) const MAX_TRIES: u32 = 5;
/// The limit of a transaction. The database cancels a statement before that.
const TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn in_time<T>(work: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
    let late = || Err(LedgerError::Unavailable(format!("no answer within {} seconds", TIMEOUT.as_secs())));
    timeout(TIMEOUT, work).await.unwrap_or_else(|_| late())
}

/// Runs work in a transaction and commits it. A macro, because a future with a closure of the transaction could not be
/// sent between threads.
macro_rules! transact {
    ($ledger:expr, |$tx:ident| $work:expr) => {{
        use $crate::remote::ledger::LedgerError as Refused;
        let mut tries = 0;
        loop {
            tries += 1;
            let once = async {
                let mut transaction = $ledger.begin().await?;
                let $tx = &mut *transaction;
                let result = $crate::remote::transaction::work(async { $work }).await?;
                transaction.commit().await?;
                Ok(result)
            };
            match $crate::remote::transaction::in_time(once).await {
                Err(Refused::Aborted) if tries < $crate::remote::transaction::MAX_TRIES => {}
                done => break done,
            }
        }
    }};
}
pub(super) use transact;

/// Names the type of the error, for [`transact`].
pub(super) async fn work<T>(work: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
    work.await
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Machine(trouble) => Self::new(trouble),
            LedgerError::Failed(_) => Self::new(error),
            LedgerError::Aborted | LedgerError::Unavailable(_) => Self::new(Unavailable(error.to_string())),
        }
    }
}
