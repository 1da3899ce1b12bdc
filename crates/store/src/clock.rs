//! The clocks that retention depends on, and how an operator confirms that a clock is right.

use std::sync::Arc;

use async_trait::async_trait;
use base::{ClockGuard, ClockName, Pause};

use crate::Result;

/// The database has a record of each clock, so that a pause after a jump of the clock survives a restart.
#[async_trait]
pub trait Clocks: Send + Sync {
    /// Code that deletes by age asks this guard first.
    fn clock_guard(&self) -> Arc<ClockGuard>;

    /// Checks the clocks, reads confirmations, and stores the records. A server calls this at its start and every few
    /// seconds; nothing is deleted before the first call. `server` is the id of its data directory. A clock without a
    /// record is compared with the newest job and with `newest`, the newest time that the caller knows.
    async fn watch_clocks(&self, server: &str, newest: Option<i64>) -> Result<()>;

    /// Accepts the present time of the database's clock and of the server's. Running servers see this at their next
    /// check.
    async fn confirm_clocks(&self, server: Option<&str>) -> Result<()>;

    /// The clocks that cannot be trusted, by their records and the present time.
    async fn paused_clocks(&self, server: Option<&str>) -> Result<Vec<(ClockName, Pause)>>;
}
