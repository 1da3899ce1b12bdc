//! What a server sees to beside requests and jobs, every few seconds, by itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use forge::State;
use store::Job;
use tokio_util::sync::CancellationToken;

use app::App;

const EVERY: Duration = Duration::from_secs(5);
/// In rounds.
const AN_HOUR: u32 = 60 * 60 / EVERY.as_secs() as u32;
/// A job that was not begun after so long is told that it waits.
const LONG: Duration = Duration::from_secs(5);

/// Until `stop`.
pub(crate) async fn go_on(app: &App, stop: &CancellationToken) {
    let mut rounds = 0_u32;
    while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
        stop.run_until_cancelled(do_chores(app)).await;
        rounds = rounds.wrapping_add(1);
        if rounds % AN_HOUR == 1 {
            stop.run_until_cancelled(make_room(app)).await;
        }
    }
}

/// Of the disk. It looks at every file of every cache, so it is not done all the time.
pub async fn make_room(app: &App) {
    if !app.directory.is_intact() {
        return; // they may be another server's caches by now
    }
    let is_clock_right = !app.clocks.clock_guard().is_paused();
    if let Err(error) = app.hosts.make_room(app.caches, is_clock_right).await {
        tracing::warn!("the caches of repositories cannot be made smaller: {error}");
    }
}

/// All that is due just now. Each can be cut off, and is gone on with the next time.
pub async fn do_chores(app: &App) {
    if !app.directory.is_intact() {
        return; // the log says so
    }
    watch_clocks(app).await;
    app.home.look().await;
    announce_waiting(app).await;
    let old = [("old transcripts", trim(app).await), ("old branches", prune(app).await)];
    for (what, done) in old.into_iter().chain([("what was deleted", purge(app).await)]) {
        if let Err(error) = done {
            tracing::warn!("{what} could not be removed, and will be later: {error:#}");
        }
    }
    checkpoint(app).await;
}

/// Removes the text of what was deleted from the logs of the databases, as soon as no reader is in the way.
async fn checkpoint(app: &App) {
    if !app.needs_checkpoint.swap(false, Ordering::Relaxed) {
        return;
    }
    let done = async { anyhow::Ok(app.upkeep.checkpoint().await? & app.views.checkpoint().await?) };
    match done.await {
        Ok(true) => {}
        Ok(false) => app.needs_checkpoint.store(true, Ordering::Relaxed),
        Err(error) => {
            app.needs_checkpoint.store(true, Ordering::Relaxed);
            tracing::warn!(
                "what was deleted is still in a log of a database, and will be removed later: {error:#}"
            );
        }
    }
}

/// Beside what each deletion sees by itself, so that a jump is told of and recorded when nothing is due.
async fn watch_clocks(app: &App) {
    if let Err(error) = app.clocks.watch_clocks(app.home.dir(), None).await {
        tracing::warn!("the time is not recorded: {error}");
    }
}

async fn trim(app: &App) -> anyhow::Result<()> {
    let Some(after) = app.transcripts else { return Ok(()) };
    while app.upkeep.trim(after).await? {}
    Ok(())
}

async fn prune(app: &App) -> anyhow::Result<()> {
    let Some(after) = app.branches else { return Ok(()) };
    while let Some(job) = app.upkeep.next_settled(after).await? {
        match remove_branch(app, &job).await {
            Ok(()) => app.upkeep.branch_is_gone(&job.id).await?,
            Err(error) => tracing::info!("the branch {} of job {} stays: {error:#}", job.branch, job.id),
        }
    }
    Ok(())
}

/// Only as it was when its pull request was settled: what people pushed to it since is theirs.
async fn remove_branch(app: &App, job: &Job) -> anyhow::Result<()> {
    let project = app.accounts.project(&job.project).await?;
    let Some(project) = project else { return Ok(()) };
    let host = app.hosts.open(&project).await?;
    let pulls = host.find(&job.branch).await?;
    anyhow::ensure!(pulls.iter().all(|pull| pull.state != State::Open), "a pull request is open on it");
    let own = pulls.iter().find(|pull| pull.job.as_deref() == Some(job.id.0.as_str()));
    let Some(own) = own else { anyhow::bail!("its pull request is not to be found") };
    let cache = app.hosts.cache(&project.id).await?;
    Ok(cache.delete_branch(&host.remote(), &job.branch, &own.head_commit).await?)
}

/// Deleted projects, by the server that has their page views. A cache of theirs on
/// another server's disk is left to its operator.
async fn purge(app: &App) -> anyhow::Result<()> {
    if !app.keeps_views() {
        return Ok(());
    }
    for project in app.upkeep.to_purge().await? {
        while app.upkeep.purge_jobs(&project).await? {}
        app.views.forget(&project.0).await?;
        app.hosts.forget(&project).await?;
        app.upkeep.purge_project(&project).await?;
        app.needs_checkpoint.store(true, Ordering::Relaxed);
        tracing::info!("all that project {project} had is removed");
    }
    Ok(())
}

async fn announce_waiting(app: &App) {
    loop {
        match app.queue.announce_waiting(LONG).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!("jobs that wait are not told so: {error}"),
        }
    }
}
