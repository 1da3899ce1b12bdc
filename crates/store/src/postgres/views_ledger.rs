//! The ledger of page views on PostgreSQL: implements the traits of `traffic::ledger`. One method is a few statements;
//! `traffic` puts them together to transactions.

mod binding;
mod days;
mod intake;
mod outbox;
mod projects;
mod transfers;

use async_trait::async_trait;
use sqlx::{PgPool, PgTransaction};
use tokio::time::timeout;
use traffic::ledger::{Ledger, LedgerError, LedgerTransaction};

use super::{PostgresStore, TIMEOUT, trouble};

/// Cheap to clone.
#[derive(Clone)]
pub struct PostgresLedger(PgPool);

impl PostgresStore {
    /// The ledger of page views, on the connections of this store.
    pub fn views_ledger(&self) -> PostgresLedger {
        PostgresLedger(self.pool.clone())
    }
}

pub(super) struct LedgerWork {
    tx: PgTransaction<'static>,
    now: i64,
}

#[async_trait]
impl Ledger for PostgresLedger {
    async fn begin(&self) -> Result<Box<dyn LedgerTransaction>, LedgerError> {
        self.begin_with("BEGIN").await
    }

    async fn begin_read(&self) -> Result<Box<dyn LedgerTransaction>, LedgerError> {
        self.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }
}

impl PostgresLedger {
    /// Begins in a task of its own. A begin that is canceled half way would leave its transaction open on a connection
    /// of the pool; one whose caller is gone is rolled back.
    async fn begin_with(&self, begin: &'static str) -> Result<Box<dyn LedgerTransaction>, LedgerError> {
        let pool = self.0.clone();
        let begun = tokio::spawn(async move {
            let mut tx = pool.begin_with(begin).await.map_err(ledger_error)?;
            let now = sqlx::query_scalar("SELECT docwright_now_ms()").fetch_one(&mut *tx).await;
            Ok(Box::new(LedgerWork { tx, now: now.map_err(ledger_error)? }) as Box<dyn LedgerTransaction>)
        });
        let late = || format!("no answer within {} seconds", TIMEOUT.as_secs());
        match timeout(TIMEOUT, begun).await {
            Ok(Ok(begun)) => begun,
            Ok(Err(ended)) => Err(LedgerError::Unavailable(ended.to_string())),
            Err(_) => Err(LedgerError::Unavailable(late())),
        }
    }
}

#[async_trait]
impl LedgerTransaction for LedgerWork {
    fn now(&self) -> i64 {
        self.now
    }

    async fn commit(self: Box<Self>) -> Result<(), LedgerError> {
        self.tx.commit().await.map_err(ledger_error)
    }
}

/// By PostgreSQL's error codes: 08 is the connection, 53 a lack of resources, 55 and 57 a state in which the database
/// cannot answer.
fn ledger_error(error: sqlx::Error) -> LedgerError {
    if let Some(trouble) = trouble(&error) {
        return LedgerError::Machine(trouble);
    }
    let Some(code) = error.as_database_error().and_then(|refused| refused.code()) else {
        return LedgerError::Unavailable(error.to_string());
    };
    match &*code {
        "40001" | "40P01" => LedgerError::Aborted,
        _ if ["08", "53", "55", "57"].iter().any(|class| code.starts_with(class)) => {
            LedgerError::Unavailable(error.to_string())
        }
        _ => LedgerError::Failed(error.to_string()),
    }
}
