//! Pins of commits that a run made and that need none any more: a worker that was killed, or lost its lease, leaves the
//! pin in its cache, and who ends the job may be another one with a cache of its own.

use store::{JobId, ProjectId, Status};

use crate::shared::Shared;

/// Drops them, before this worker takes its first job: a pin of a job that has ended is nobody's then.
pub(super) async fn drop_old(app: &Shared) {
    for project in app.hosts.cached() {
        if let Err(error) = drop_old_of(app, &project).await {
            tracing::warn!("the cache of project {project} keeps what it does not need: {error}");
        }
    }
}

async fn drop_old_of(app: &Shared, project: &ProjectId) -> anyhow::Result<()> {
    let cache = app.hosts.cache(project).await?;
    for pin in cache.pins()? {
        // What a job started from has a name that is longer than its id, and stays.
        if let Some(job) = app.jobs.find(project, &JobId(pin.clone())).await?
            && job.status != Status::Active
        {
            cache.unpin(&pin).await?;
        }
    }
    Ok(())
}
