//! Sweeps: searches for the pull request that an ended job may have left on its host, because it was being opened
//! while the job was archived or its worker died. They are repeated until it is found or can no longer come.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Job, NewEvent, PullState, Result};

/// How long a sweep belongs to the caller that took it.
pub(crate) const SWEEP: Duration = Duration::from_secs(60);

/// An archived or failed job to search for, for the `tries`th time since it ended.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub job: Job,
    pub tries: u32,
    /// The fencing token: the number of sweeps of the job so far.
    pub(crate) fence: u32,
}

/// An archive or a failure schedules a sweep for each job that has a stored change and no pull request.
#[async_trait]
pub trait Sweeps: Send + Sync {
    /// Takes the next sweep that is due. The try is counted before it returns. After a minute another caller can take
    /// the sweep, and the writes of the first one are ignored.
    async fn next_sweep(&self) -> Result<Option<Sweep>>;
    /// Schedules the sweep again: nothing was found, or the host did not answer.
    async fn sweep_again(&self, sweep: &Sweep, wait: Duration) -> Result<()>;
    /// Ends the sweep. `found` becomes the job's pull request.
    async fn finish_sweep(
        &self,
        sweep: &Sweep,
        found: Option<(&str, PullState)>,
        event: Option<NewEvent>,
    ) -> Result<()>;
}
