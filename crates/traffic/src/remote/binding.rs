//! Binds the ledger to one database in ClickHouse.
//!
//! The ledger knows which ids count and what was shipped. With another database, or with one that was emptied, views
//! would be split or missing without a word. So both have the same random id, and nothing is read or shipped otherwise.

use super::Shared;
use super::engine::{Engine, insert_settings};
use super::ledger::Binding;
use super::rows::Answer;
use super::schema::TABLES;
use super::ship::random_token;
use super::transaction::transact;
use crate::views::{Failure, Unavailable};

const EMPTY: &str = "the ClickHouse database has no page views of this installation: it was emptied, or it is another one. Name the right one in views_url, or restore it from a backup. To give up the page views that it had, start one server with --page-views yes --force";
const FOREIGN: &str = "the ClickHouse database belongs to another installation of Docwright, or was given up with --force. Name this installation's own database in views_url";

impl Shared {
    /// Fails unless ClickHouse has the ledger's id. Gives it to a database that is empty at the first start. The
    /// binding is locked meanwhile, so two servers never choose two databases.
    pub(super) async fn bind(&self) -> Result<(), Failure> {
        let new_id = random_token()?;
        // Committed before ClickHouse gets it: after a kill in between, the next server gives it the same id.
        transact!(self.ledger, |tx| tx.lock_binding(&new_id).await)?;
        if self.may_begin_anew {
            self.begin_anew(&new_id).await?;
        }
        transact!(self.ledger, |tx| {
            let binding = tx.lock_binding(&new_id).await?;
            let given = async {
                let found = found_ids(&self.engine).await?;
                self.give_id(&binding, &found).await?;
                self.last_project().await
            };
            match given.await {
                Ok(last_project) => Ok(Ok(tx.set_bound(last_project).await?)),
                Err(failure) => Ok(Err(failure)),
            }
        })?
    }

    /// Changes the id if ClickHouse has lost it, so that the lost database is refused if it comes back.
    async fn begin_anew(&self, new_id: &str) -> Result<(), Failure> {
        transact!(self.ledger, |tx| {
            let binding = tx.lock_binding(new_id).await?;
            match found_ids(&self.engine).await {
                Ok(found) if found.is_empty() && binding.is_bound => Ok(Ok(tx.begin_anew(new_id).await?)),
                Ok(_) => Ok(Ok(())),
                Err(failure) => Ok(Err(failure)),
            }
        })?
    }

    /// Like [`Self::bind`], but changes nothing.
    pub(super) async fn check_binding(&self) -> Result<(), Failure> {
        let mut tx = self.ledger.begin().await?;
        // Not committed.
        let binding = tx.lock_binding("").await?;
        match found_ids(&self.engine).await? {
            found if found.is_empty() && binding.is_bound => Err(Failure::new(Unavailable(EMPTY.into()))),
            found if found.iter().any(|id| *id != binding.id) => {
                Err(Failure::new(Unavailable(FOREIGN.into())))
            }
            _ => Ok(()),
        }
    }

    async fn give_id(&self, binding: &Binding, found: &[String]) -> Result<(), Failure> {
        match found {
            [] if binding.is_bound => Err(Failure::new(Unavailable(EMPTY.into()))),
            [] => {
                let insert = format!("INSERT INTO docwright_ledger VALUES ('{}')", binding.id);
                // With a token that ClickHouse knows from a lost table, the insert would be ignored.
                let token = random_token()?;
                let settings = insert_settings(&token, self.engine.cluster.is_some());
                Ok(self.engine.execute(insert, &settings).await?)
            }
            found if found.iter().all(|id| *id == binding.id) => Ok(()),
            _ => Err(Failure::new(Unavailable(FOREIGN.into()))),
        }
    }

    /// The highest project number that ClickHouse has views of.
    async fn last_project(&self) -> Result<i64, Failure> {
        let mut last = 0;
        for table in TABLES {
            // The tables are in this order, so this reads the end of each. `max` would read every row.
            let highest = format!("SELECT project FROM {table} ORDER BY project DESC LIMIT 1");
            let answer = self.engine.query(highest).await?;
            let mut answer = Answer::new(&answer);
            if !answer.is_empty() {
                last = last.max(i64::try_from(answer.u64()?).unwrap_or(i64::MAX));
            }
        }
        Ok(last)
    }
}

/// The ids that a ClickHouse database has: none, one, or by mistake more.
pub(super) async fn found_ids(engine: &Engine) -> Result<Vec<String>, Failure> {
    let answer = engine.query("SELECT DISTINCT id FROM docwright_ledger LIMIT 2".into()).await?;
    let mut answer = Answer::new(&answer);
    let mut ids = Vec::new();
    while !answer.is_empty() {
        ids.push(answer.string()?.to_owned());
    }
    Ok(ids)
}
