//! The one data directory stores page views. The lock of the directory keeps other servers away.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use traffic::ledger::Ledger;

use super::SqliteStore;
use crate::{Result, ViewsChoice, ViewsDirectory, ViewsHome};

const EPOCH: i64 = 1;
/// If this server doesn't store page views, no server is missed.
const DECLINED: ViewsHome = ViewsHome::Elsewhere { silent_for: Duration::ZERO };

#[async_trait]
impl ViewsDirectory for SqliteStore {
    async fn claim_views(&self, _dir: &str, choice: ViewsChoice) -> Result<ViewsHome> {
        Ok(if choice == ViewsChoice::Leave { DECLINED } else { ViewsHome::Here { epoch: EPOCH } })
    }

    async fn renew_views(&self, _dir: &str, epoch: i64) -> Result<ViewsHome> {
        Ok(ViewsHome::Here { epoch })
    }

    async fn is_views_epoch(&self, _dir: &str, _epoch: i64) -> Result<bool> {
        Ok(true)
    }

    async fn views_epoch(&self) -> Result<Option<i64>> {
        Ok(None)
    }

    async fn views_home(&self, _dir: &str) -> Result<ViewsHome> {
        Ok(DECLINED)
    }

    fn views_ledger(&self) -> Option<Arc<dyn Ledger>> {
        None
    }
}
