//! The clocks that deletions by age go by: what is recorded of them, and how one is confirmed to be right.

use std::sync::Arc;

use async_trait::async_trait;
use base::{ClockGuard, ClockName, Pause};

use crate::Result;

/// A database keeps a record of each clock, so that a restart after a jump is no way around the pause.
#[async_trait]
pub trait Clocks: Send + Sync {
    /// Whoever deletes something because of its age asks this guard first.
    fn clock_guard(&self) -> Arc<ClockGuard>;

    /// Judges the clocks, takes over what was confirmed, and keeps their records. A server does this at its start and
    /// every few seconds; nothing is deleted before the first time. `server` is the id of its data directory. A
    /// database with no record yet is judged by its newest job, and by the `newest` time that the caller knows.
    async fn watch_clocks(&self, server: &str, newest: Option<i64>) -> Result<()>;

    /// Accepts the clocks as they are: the database's, and that of the server. Running servers see it the next time
    /// that they judge their clocks.
    async fn confirm_clocks(&self, server: Option<&str>) -> Result<()>;

    /// The clocks that cannot be trusted, by their records and the present time.
    async fn paused_clocks(&self, server: Option<&str>) -> Result<Vec<(ClockName, Pause)>>;
}
