//! Where page views are stored: in one data directory, even if several servers share a database, or in ClickHouse, by
//! every server.
//!
//! An epoch is a fencing token: it grows whenever a server starts to store page views. A server acknowledges page views only
//! while its epoch is the current one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use traffic::ledger::Ledger;

use crate::Result;

/// Stands for the id of a data directory if all servers store page views in ClickHouse. No directory has this id.
pub const SHARED_VIEWS: &str = "clickhouse";

/// Whether a server wants to store page views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViewsChoice {
    /// Yes, unless another directory stores them.
    #[default]
    IfFree,
    /// Yes, even if another directory stores them.
    Take,
    /// Like `Take`, also if this directory lacks the page views that are stored so far.
    TakeEmpty,
    /// No, and no longer if it does.
    Leave,
}

impl ViewsChoice {
    pub fn takes(self) -> bool {
        matches!(self, Self::Take | Self::TakeEmpty)
    }

    /// Whether the page views that are stored so far may be given up.
    pub fn may_begin_empty(self) -> bool {
        self == Self::TakeEmpty
    }
}

/// Which server stores page views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewsHome {
    /// The server that asks, in this epoch.
    Here { epoch: i64 },
    /// Another one, which said so last before this time.
    Elsewhere { silent_for: Duration },
    /// Every server that is connected to ClickHouse. The one that asks is not.
    Shared,
    /// None yet, or none any longer.
    Nowhere,
}

#[async_trait]
pub trait ViewsDirectory: Send + Sync {
    /// Applies the choice of a server that starts with the data directory of this id. If the directory stores page views,
    /// a new epoch begins, so a server with a copy of the directory stores them no longer. On SQLite there is one
    /// directory, which stores them unless the choice is to leave. All servers with [`SHARED_VIEWS`] have the same epoch.
    async fn claim_views(&self, dir: &str, choice: ViewsChoice) -> Result<ViewsHome>;
    /// Records that the server of this epoch runs.
    async fn renew_views(&self, dir: &str, epoch: i64) -> Result<ViewsHome>;
    /// Whether this epoch of this directory is the current one. Servers ask before they acknowledge page views. A database
    /// that was restored from a backup counts epochs again, so an epoch alone doesn't tell.
    async fn is_views_epoch(&self, dir: &str, epoch: i64) -> Result<bool>;
    /// The current epoch, of whichever directory; `None` on SQLite, and if no server stores page views.
    async fn views_epoch(&self) -> Result<Option<i64>>;
    /// Which server stores page views, as seen from a server with the data directory of this id. Changes nothing.
    async fn views_home(&self, dir: &str) -> Result<ViewsHome>;
    /// The ledger for page views in ClickHouse. `None` on SQLite, which only one server can use.
    fn views_ledger(&self) -> Option<Arc<dyn Ledger>>;
}
