//! Which server's data directory stores page views.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use traffic::ledger::Ledger;

use super::PostgresStore;
use super::dedicated::DedicatedReader;
use crate::coalesced::CoalescedRead;
use crate::sql::{Backend, Fetch, Query, sql};
use crate::{Result, SHARED_VIEWS, ViewsChoice, ViewsDirectory, ViewsHome};

#[async_trait]
impl ViewsDirectory for PostgresStore {
    async fn claim_views(&self, dir: &str, choice: ViewsChoice) -> Result<ViewsHome> {
        let claim = match choice {
            ViewsChoice::IfFree => {
                "INSERT INTO views_home (one, dir) VALUES (true, $1)
                 ON CONFLICT (one) DO UPDATE SET seen_at = excluded.seen_at,
                   epoch = CASE WHEN $1 = $2 THEN views_home.epoch ELSE excluded.epoch END
                   WHERE views_home.dir = $1
                 RETURNING epoch"
            }
            ViewsChoice::Take | ViewsChoice::TakeEmpty => {
                "INSERT INTO views_home (one, dir) VALUES (true, $1)
                 ON CONFLICT (one) DO UPDATE SET dir = $1, seen_at = excluded.seen_at,
                   epoch = CASE WHEN $1 = $2 AND views_home.dir = $1 THEN views_home.epoch ELSE excluded.epoch END
                 RETURNING epoch"
            }
            ViewsChoice::Leave => {
                self.execute(sql("DELETE FROM views_home WHERE dir = $1").bind(dir)).await?;
                return self.home_of_others().await;
            }
        };
        self.here_if_returned(sql(claim).bind(dir).bind(SHARED_VIEWS)).await
    }

    async fn renew_views(&self, dir: &str, epoch: i64) -> Result<ViewsHome> {
        let renew = "UPDATE views_home SET seen_at = docwright_now_ms()
             WHERE dir = $1 AND epoch = $2 RETURNING epoch";
        self.here_if_returned(sql(renew).bind(dir).bind(epoch)).await
    }

    async fn is_views_epoch(&self, dir: &str, epoch: i64) -> Result<bool> {
        self.views_epochs.read((dir.to_owned(), epoch)).await
    }

    async fn views_epoch(&self) -> Result<Option<i64>> {
        let row = self.row(sql("SELECT epoch FROM views_home")).await?;
        row.map(|row| row.get("epoch")).transpose()
    }

    async fn views_home(&self, dir: &str) -> Result<ViewsHome> {
        let own = self.row(sql("SELECT epoch FROM views_home WHERE dir = $1").bind(dir)).await?;
        match own {
            Some(row) => Ok(ViewsHome::Here { epoch: row.get("epoch")? }),
            None => self.home_of_others().await,
        }
    }

    fn views_ledger(&self) -> Option<Arc<dyn Ledger>> {
        Some(Arc::new(Self::views_ledger(self)))
    }
}

/// Reads whether an epoch is the current one. Every group of page views asks.
pub(super) fn epochs(reader: DedicatedReader) -> CoalescedRead<(String, i64), bool> {
    CoalescedRead::new(move |(dir, epoch): (String, i64)| {
        let reader = reader.clone();
        async move {
            let current =
                sql("SELECT epoch FROM views_home WHERE dir = $1 AND epoch = $2").bind(dir).bind(epoch);
            Ok(reader.row(current).await?.is_some())
        }
    })
}

impl PostgresStore {
    async fn here_if_returned(&self, statement: Query) -> Result<ViewsHome> {
        match self.returning(statement).await? {
            Some(row) => Ok(ViewsHome::Here { epoch: row.get("epoch")? }),
            None => self.home_of_others().await,
        }
    }

    async fn home_of_others(&self) -> Result<ViewsHome> {
        let silence = "SELECT docwright_now_ms() - seen_at AS silence, dir FROM views_home";
        let Some(row) = self.row(sql(silence)).await? else { return Ok(ViewsHome::Nowhere) };
        if row.get::<String>("dir")? == SHARED_VIEWS {
            return Ok(ViewsHome::Shared);
        }
        let silence: i64 = row.get("silence")?;
        Ok(ViewsHome::Elsewhere { silent_for: Duration::from_millis(silence.max(0).unsigned_abs()) })
    }
}
