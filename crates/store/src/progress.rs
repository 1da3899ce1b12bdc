//! Coalesces reads of the progress of jobs: requests that arrive while one query runs share the next one, so that many
//! event streams cost few queries.

use std::collections::HashMap;

use base::Coalescer;
use futures_util::FutureExt;

use crate::coalesced::{SharedResult, share_all};
use crate::{JobId, ProjectId, Result, Status};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub status: Status,
    /// The number of the job's last event.
    pub last_event: u64,
}

pub(crate) type JobKey = (ProjectId, JobId);
pub(crate) type ProgressReads = Coalescer<(), JobKey, SharedResult<Option<Progress>>>;

/// `read` gets the ids of jobs without duplicates.
pub(crate) fn progress_reads<F>(read: impl Fn(Vec<String>) -> F + Send + Sync + 'static) -> ProgressReads
where
    F: Future<Output = Result<HashMap<JobKey, Progress>>> + Send + 'static,
{
    Coalescer::new(move |(), keys: Vec<JobKey>| {
        let mut ids: Vec<_> = keys.iter().map(|(_, id)| id.0.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        let reading = read(ids);
        async move {
            let found = reading.await;
            share_all(found.map(|found| keys.iter().map(|key| found.get(key).copied()).collect()), keys.len())
        }
        .boxed()
    })
}
