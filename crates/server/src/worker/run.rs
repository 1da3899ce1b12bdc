//! One run of one job. Each step notes what it found before the next one acts on it, so that
//! whoever takes the job up after a crash goes on where it was cut off and repeats nothing
//! that must not be repeated.

use std::sync::Arc;
use std::time::Duration;

use forge::{Cache, Host, Local, NewCommit, NewPull, Oid, PullRequest, Signature};
use store::{Change, Ending, Lease, NewEvent, Outcome, Project, StoreError};
use tokio_util::sync::CancellationToken;

use super::edit::{self, Edits, Made};
use super::outcome::{Stop, commit_message, completed, failed, pull_body, report};
use super::pause;
use crate::app::App;

/// How long to wait before the store is asked again.
const AGAIN: Duration = Duration::from_secs(2);
const AUTHOR: Signature<'static> = Signature { name: "Docwright", email: "docwright@localhost" };

/// Runs the leased job to its end, or until `alive` is over.
pub(super) async fn see_through(app: &App, lease: Lease, alive: &CancellationToken) {
    let id = &lease.job.id;
    // Dropping the steps kills the git program that they wait for.
    let result = tokio::select! {
        result = steps(app, &lease, alive) => result,
        () = alive.cancelled() => Err(Stop::GiveBack("the server is stopping".into())),
    };
    match result {
        Ok(ending) => finish(app, &lease, ending, alive).await,
        Err(Stop::Failed(sentence)) => finish(app, &lease, failed(sentence), alive).await,
        Err(Stop::LeaseLost) => tracing::warn!(job.id = %id, "job {id} passed to another worker"),
        Err(Stop::GiveBack(why)) => {
            tracing::info!(job.id = %id, "job {id} is given back: {why}");
            if let Err(error) = app.jobs.release(&lease).await {
                tracing::warn!(job.id = %id, "job {id} will be taken up when its lease ends: {error}");
            }
            // What went wrong is likely to go wrong again at once.
            pause(alive, AGAIN).await;
        }
    }
}

/// The outcome is known; a store that does not answer must not lose it.
async fn finish(app: &App, lease: &Lease, ending: Ending, alive: &CancellationToken) {
    let id = &lease.job.id;
    loop {
        match app.jobs.finish(lease, ending.clone()).await {
            Ok(()) => {
                let how = if ending.outcome == Outcome::Failed { "failed" } else { "completed" };
                return tracing::info!(job.id = %id, "job {id} {how}: {}", ending.message);
            }
            Err(StoreError::LeaseLost(_)) => {
                return tracing::warn!(job.id = %id, "job {id} was lost at its end");
            }
            Err(error) => tracing::error!(job.id = %id, "the end of job {id} was not kept: {error}"),
        }
        if alive.is_cancelled() {
            return;
        }
        pause(alive, AGAIN).await;
    }
}

async fn steps(app: &App, lease: &Lease, alive: &CancellationToken) -> Result<Ending, Stop> {
    let run = Run::open(app, lease).await?;
    let (base_ref, base) = run.base().await?;
    let change = match run.change_so_far().await {
        Some(change) => change,
        None => {
            let made = run.edit(&base, alive).await?;
            if made.edits.is_empty() {
                return Ok(completed(None, report(&made.report)));
            }
            run.commit(&base, made).await?
        }
    };
    let pull = run.publish(&base_ref, &base, &change).await?;
    run.let_go().await;
    Ok(completed(Some(pull), change.report))
}

struct Run<'a> {
    app: &'a App,
    lease: &'a Lease,
    project: Project,
    host: Local,
    cache: Arc<Cache>,
    pin: String,
}

impl<'a> Run<'a> {
    async fn open(app: &'a App, lease: &'a Lease) -> Result<Self, Stop> {
        let project = app.accounts.project(&lease.job.project).await?;
        let project = project.ok_or_else(|| Stop::Failed("the project is gone".into()))?;
        let host = app.hosts.local(&project).await?;
        let cache = app.hosts.cache(&project.id).await?;
        Ok(Self { app, lease, project, host, cache, pin: lease.job.id.0.clone() })
    }

    /// The branch to merge into and the commit to start from: those of an earlier attempt, as
    /// long as they can be had.
    async fn base(&self) -> Result<(String, Oid), Stop> {
        if let Some((name, commit)) = &self.lease.resume.base {
            let commit = Oid::parse(commit)?;
            if self.cache.has(&commit).await {
                return Ok((name.clone(), commit));
            }
        }
        let name = match &self.project.base_ref {
            Some(name) => name.clone(),
            None => self.host.default_branch().await?,
        };
        let commit = self.cache.fetch(&self.host.remote(), &name, &format!("{}-base", self.pin)).await?;
        self.app.jobs.set_base(self.lease, &name, commit.as_str()).await?;
        self.say(NewEvent::new("fetched", format!("Fetched {name} at {}", short(&commit)))).await?;
        Ok((name, commit))
    }

    /// What an earlier attempt committed, if the commit is still to be had here or on the host.
    async fn change_so_far(&self) -> Option<Change> {
        let change = self.lease.resume.change.clone()?;
        let commit = Oid::parse(&change.head_commit).ok()?;
        if self.cache.has(&commit).await {
            return Some(change);
        }
        let pushed = self.cache.fetch(&self.host.remote(), &self.lease.job.branch, &self.pin).await.ok()?;
        (pushed == commit).then_some(change)
    }

    async fn edit(&self, base: &Oid, alive: &CancellationToken) -> Result<Made, Stop> {
        let model = &self.lease.job.model;
        let editor = self.app.editor(model).ok_or_else(|| {
            Stop::Failed(format!("this server has no model named {model}; give the project another one"))
        })?;
        let snapshot = self.cache.snapshot(base)?;
        let docs_path = self.project.docs_path.clone();
        edit::run(self.app, self.lease, editor, snapshot, docs_path, alive).await
    }

    /// The commit is written and noted before anything of it leaves this machine.
    async fn commit(&self, base: &Oid, made: Made) -> Result<Change, Stop> {
        let job = &self.lease.job;
        let commit = self.write_commit(base, made.edits, commit_message(&made.report, job)).await?;
        let change = Change {
            head_commit: commit.to_string(),
            title: made.report.title.clone(),
            body: pull_body(&made.report, job),
            report: report(&made.report),
            diff: made.diff,
        };
        self.app.jobs.set_change(self.lease, &change).await?;
        Ok(change)
    }

    async fn write_commit(&self, base: &Oid, edits: Edits, message: String) -> Result<Oid, Stop> {
        let (cache, base, pin) = (self.cache.clone(), base.clone(), self.pin.clone());
        // Not the time of day: a second attempt must make the same commit.
        let time_seconds = self.lease.job.created_at.as_second();
        let writing = tokio::task::spawn_blocking(move || {
            let (message, pin) = (&message, &pin);
            cache.commit(&NewCommit {
                base: &base,
                edits: &edits,
                message,
                author: AUTHOR,
                time_seconds,
                pin,
            })
        });
        writing.await.map_err(|_| Stop::Failed("the commit could not be written".into()))?.map_err(Stop::from)
    }

    /// Branch, then pull request. Both are found again when they are there already.
    async fn publish(&self, base_ref: &str, base: &Oid, change: &Change) -> Result<PullRequest, Stop> {
        let head = Oid::parse(&change.head_commit)?;
        let branch = &self.lease.job.branch;
        self.say(NewEvent::new("pushing", format!("Pushing {} to {branch}", short(&head)))).await?;
        self.cache.push(&self.host.remote(), &head, branch, None).await?;
        let new = NewPull {
            title: change.title.clone(),
            body: change.body.clone(),
            head: branch.clone(),
            base: base_ref.to_owned(),
            head_commit: head,
            base_commit: base.clone(),
            job: self.lease.job.id.0.clone(),
        };
        self.say(NewEvent::new("opening", "Opening the pull request")).await?;
        Ok(self.host.open(&new).await?)
    }

    /// The host has the commit now, so the cache need not keep it; what the job started from
    /// stays pinned, to compare with.
    async fn let_go(&self) {
        if let Err(error) = self.cache.unpin(&self.pin).await {
            tracing::warn!("the cache keeps {}: {error}", self.pin);
        }
    }

    async fn say(&self, event: NewEvent) -> Result<(), Stop> {
        Ok(self.app.jobs.record(self.lease, vec![event]).await?)
    }
}

fn short(commit: &Oid) -> &str {
    &commit.as_str()[..10]
}
