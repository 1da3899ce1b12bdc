//! Runs periodic chores: watching clocks, announcing waiting jobs, deleting old data, and limiting the
//! caches.

use std::sync::atomic::Ordering;
use std::time::Duration;

use forge::State;
use store::Job;
use tokio_util::sync::CancellationToken;

use app::App;
use app::findings::refresh_due_findings;

const INTERVAL: Duration = Duration::from_secs(5);
const ROUNDS_PER_HOUR: u32 = 60 * 60 / INTERVAL.as_secs() as u32;
/// A job that wasn't started after so long gets an event that it waits.
const ANNOUNCE_AFTER: Duration = Duration::from_secs(5);

pub(crate) async fn run_until_stopped(app: &App, stop: &CancellationToken) {
    let mut rounds = 0_u32;
    while stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
        stop.run_until_cancelled(do_chores(app)).await;
        rounds = rounds.wrapping_add(1);
        if rounds % ROUNDS_PER_HOUR == 1 {
            stop.run_until_cancelled(shrink_caches(app)).await;
        }
    }
}

/// Limits the disk space of the repository caches. It reads every file of every cache, so it runs only once
/// an hour.
pub async fn shrink_caches(app: &App) {
    if !app.directory.is_intact() {
        return; // another server may own the caches now
    }
    let is_clock_trusted = !app.clocks.clock_guard().is_paused();
    if let Err(error) = app.hosts.shrink_caches(app.max_cache_bytes, is_clock_trusted).await {
        tracing::warn!("cannot limit the repository caches: {error}");
    }
}

/// Runs all chores that are due. Each can be interrupted, and continues the next time.
pub async fn do_chores(app: &App) {
    if !app.directory.is_intact() {
        return; // `directory::watch` logs it
    }
    watch_clocks(app).await;
    announce_waiting(app).await;
    let results = [
        ("old transcripts", trim_transcripts(app).await),
        ("old branches", remove_old_branches(app).await),
        ("deleted projects", purge_projects(app).await),
    ];
    if let Err(error) = refresh_due_findings(app).await {
        tracing::warn!("cannot refresh the findings yet: {error:#}");
    }
    for (what, result) in results {
        if let Err(error) = result {
            tracing::warn!("cannot remove {what} yet: {error:#}");
        }
    }
    checkpoint(app).await;
}

/// Removes deleted text from the write-ahead logs of the databases, once no reader blocks it.
async fn checkpoint(app: &App) {
    if !app.needs_checkpoint.swap(false, Ordering::Relaxed) {
        return;
    }
    let checkpoint = async { anyhow::Ok(app.upkeep.checkpoint().await? & app.views.checkpoint().await?) };
    match checkpoint.await {
        Ok(true) => {}
        Ok(false) => app.needs_checkpoint.store(true, Ordering::Relaxed),
        Err(error) => {
            app.needs_checkpoint.store(true, Ordering::Relaxed);
            tracing::warn!("cannot remove deleted text from a database's write-ahead log yet: {error:#}");
        }
    }
}

/// Each deletion also checks the clocks. This reports and records a jump when no deletion is due.
async fn watch_clocks(app: &App) {
    if let Err(error) = app.clocks.watch_clocks(app.views_owner.directory_id(), None).await {
        tracing::warn!("cannot record the clocks: {error}");
    }
}

async fn trim_transcripts(app: &App) -> anyhow::Result<()> {
    let Some(after) = app.transcript_retention else { return Ok(()) };
    while app.upkeep.trim(after).await? {}
    Ok(())
}

async fn remove_old_branches(app: &App) -> anyhow::Result<()> {
    let Some(after) = app.branch_retention else { return Ok(()) };
    while let Some(job) = app.upkeep.next_settled(after).await? {
        match remove_branch(app, &job).await {
            Ok(()) => app.upkeep.branch_is_gone(&job.id).await?,
            Err(error) => {
                tracing::info!("cannot remove the branch {} of job {}: {error:#}", job.branch, job.id)
            }
        }
    }
    Ok(())
}

/// Removes the branch only if it's still at the commit of its pull request. Later commits belong to people.
async fn remove_branch(app: &App, job: &Job) -> anyhow::Result<()> {
    let project = app.accounts.project(&job.project).await?;
    let Some(project) = project else { return Ok(()) };
    let host = app.hosts.open(&project).await?;
    let pulls = host.find(&job.branch).await?;
    anyhow::ensure!(pulls.iter().all(|pull| pull.state != State::Open), "a pull request is open on it");
    let own = pulls.iter().find(|pull| pull.job.as_deref() == Some(job.id.0.as_str()));
    let Some(own) = own else { anyhow::bail!("its pull request was not found") };
    let cache = app.hosts.cache(&project.id).await?;
    Ok(cache.delete_branch(&host.remote(), &job.branch, &own.head_commit).await?)
}

/// Removes the data of deleted projects, on the server that has their page views. Their caches on other
/// servers stay.
async fn purge_projects(app: &App) -> anyhow::Result<()> {
    if !app.stores_views() {
        return Ok(());
    }
    for project in app.upkeep.to_purge().await? {
        if !app.views_owner.confirm().await? {
            return Ok(()); // another server has them now
        }
        while app.upkeep.purge_jobs(&project).await? {}
        app.views.forget(&project.0).await?;
        app.hosts.remove_project(&project).await?;
        app.upkeep.purge_project(&project).await?;
        app.needs_checkpoint.store(true, Ordering::Relaxed);
        tracing::info!("removed all data of project {project}");
    }
    Ok(())
}

async fn announce_waiting(app: &App) {
    loop {
        match app.queue.announce_waiting(ANNOUNCE_AFTER).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!("cannot announce waiting jobs: {error}"),
        }
    }
}
