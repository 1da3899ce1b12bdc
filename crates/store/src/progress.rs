//! How far jobs are. Those who ask while one read runs share the next one, so that a crowd of event streams costs a few
//! reads and leaves the others to whoever needs them.

use std::collections::HashMap;
use std::sync::Arc;

use base::Together;
use futures_util::FutureExt;

use crate::coalesced::SharedResult;
use crate::{JobId, ProjectId, Result, Status};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub status: Status,
    /// The number of the job's last event.
    pub last_event: u64,
}

pub(crate) type JobKey = (ProjectId, JobId);
pub(crate) type ProgressReads = Together<(), JobKey, SharedResult<Option<Progress>>>;

/// `read` gets ids of jobs, each once.
pub(crate) fn progress_reads<F>(read: impl Fn(Vec<String>) -> F + Send + Sync + 'static) -> ProgressReads
where
    F: Future<Output = Result<HashMap<JobKey, Progress>>> + Send + 'static,
{
    Together::new(move |(), keys: Vec<JobKey>| {
        let mut ids: Vec<_> = keys.iter().map(|(_, id)| id.0.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        let reading = read(ids);
        async move {
            match reading.await {
                Ok(found) => keys.iter().map(|key| Ok(found.get(key).copied())).collect(),
                Err(error) => vec![Err(Arc::new(error)); keys.len()],
            }
        }
        .boxed()
    })
}
