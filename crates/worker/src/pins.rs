//! Removes stale pins of commits from the repository caches.
//!
//! A worker that is killed or loses its lease leaves the pin of its run in its cache. Another worker, with
//! another cache, may end the job.

use store::{JobId, ProjectId, Status};

use crate::shared::Shared;

/// Removes the pins of jobs that ended. Call it before this worker leases its first job, when no run uses
/// them.
pub(super) async fn remove_stale_pins(app: &Shared) {
    for project in app.hosts.cached_projects() {
        if let Err(error) = remove_stale_pins_of(app, &project).await {
            tracing::warn!("cannot remove stale pins from the cache of project {project}: {error}");
        }
    }
}

async fn remove_stale_pins_of(app: &Shared, project: &ProjectId) -> anyhow::Result<()> {
    let cache = app.hosts.cache(project).await?;
    for pin in cache.pins()? {
        // The pins of a job's base commits have longer names than the job's id, and stay.
        if let Some(job) = app.jobs.find(project, &JobId(pin.clone())).await?
            && job.status != Status::Active
        {
            cache.unpin(&pin).await?;
        }
    }
    Ok(())
}
