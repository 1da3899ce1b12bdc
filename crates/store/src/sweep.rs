//! What an archived job may have left on its host: a pull request that was being opened while the
//! job was stopped. It is looked for until it is found or can no longer come.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Job, NewEvent, PullState, Result};

/// How long whoever looks is left alone with it.
pub(crate) const SWEEP: Duration = Duration::from_secs(60);

/// An archived job whose host is to be asked, for the `tries`th time.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub job: Job,
    pub tries: u32,
}

/// What an archive leaves to be done. It is set by the archive itself, of every job that has noted a
/// change and no pull request.
#[async_trait]
pub trait Sweeps: Send + Sync {
    /// The next one whose time has come. The try is counted before it returns; whoever takes longer
    /// than a minute has lost it to the next one, and its writes are not taken.
    async fn next_sweep(&self) -> Result<Option<Sweep>>;
    /// Not found, or nobody to ask: again in a while.
    async fn sweep_again(&self, sweep: &Sweep, wait: Duration) -> Result<()>;
    /// It is over. What was found is the job's pull request from now on.
    async fn swept(
        &self,
        sweep: &Sweep,
        found: Option<(&str, PullState)>,
        event: Option<NewEvent>,
    ) -> Result<()>;
}
