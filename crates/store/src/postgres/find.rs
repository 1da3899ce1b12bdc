//! Coalesces lookups of jobs: those that arrive while one query runs share the next one, so many polling clients cost
//! one query at a time.

use std::collections::HashMap;

use base::Coalescer;
use futures_util::FutureExt;

use crate::coalesced::{SharedResult, share_all};
use crate::progress::JobKey;
use crate::sql::{Fetch, job_columns, sql};
use crate::{Job, JobId, Result};

pub(super) type Finds = Coalescer<(), JobKey, SharedResult<Option<Job>>>;

pub(super) fn finds(reads: impl Fetch + Clone) -> Finds {
    Coalescer::new(move |(), keys: Vec<JobKey>| {
        let reads = reads.clone();
        async move {
            let jobs = find_all(&reads, &keys).await;
            share_all(jobs.map(|jobs| keys.iter().map(|key| in_project(&jobs, key)).collect()), keys.len())
        }
        .boxed()
    })
}

async fn find_all(reads: &impl Fetch, keys: &[JobKey]) -> Result<HashMap<JobId, Job>> {
    let ids: Vec<String> = keys.iter().map(|(_, id)| id.0.clone()).collect();
    let select = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = ANY($1)");
    let jobs: Vec<Job> = reads.all(sql(select).bind(ids)).await?;
    Ok(jobs.into_iter().map(|job| (job.id.clone(), job)).collect())
}

/// A job of another project is not found.
fn in_project(jobs: &HashMap<JobId, Job>, (project, id): &JobKey) -> Option<Job> {
    jobs.get(id).filter(|job| job.project == *project).cloned()
}
