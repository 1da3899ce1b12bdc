//! Takes jobs from the store and sees them through. Meets `http` only in the store.

mod edit;
mod outcome;
mod run;
mod tree;

use std::time::Duration;

use store::{LEASE, WorkerId};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// How often to look for work that nobody rang the bell for, such as a lease that ran out.
const LOOK: Duration = Duration::from_secs(1);
const BEAT: Duration = Duration::from_secs(LEASE.as_secs() as u64 / 3);
/// A worker that could not renew its lease for this long lets go of everything, before
/// anyone else may take it up.
const LET_GO: Duration = Duration::from_secs(LEASE.as_secs() as u64 * 2 / 3);

/// One worker process, as the store sees it: one heartbeat, some jobs at once.
pub struct Worker {
    app: App,
    id: WorkerId,
    slots: usize,
}

impl Worker {
    pub fn new(app: App, slots: usize) -> Self {
        Self { app, id: WorkerId::random(), slots: slots.max(1) }
    }

    /// Works until it is told to stop, then gives back what it holds, unharmed.
    pub async fn work(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let alive = stop.child_token();
            tokio::join!(self.beat(&alive), self.take_jobs(&alive));
        }
    }

    /// Runs jobs, one after the other, until none is waiting: for tests.
    pub async fn drain(&self) -> Result<(), store::StoreError> {
        self.app.jobs.beat(&self.id).await?;
        while let Some(lease) = self.app.jobs.lease_next(&self.id).await? {
            run::see_through(&self.app, lease, &CancellationToken::new()).await;
        }
        Ok(())
    }

    /// Says that we are alive; when that could not be said in time, we are not.
    async fn beat(&self, alive: &CancellationToken) {
        let mut heard = Instant::now();
        while !alive.is_cancelled() {
            // The lease counts from when the store was asked, not from when it answered, and a
            // store that does not answer at all must not keep us from letting go.
            let asked = Instant::now();
            match timeout_at(heard + LET_GO, self.app.jobs.beat(&self.id)).await {
                Ok(Ok(())) => heard = asked,
                Ok(Err(error)) => tracing::warn!("the heartbeat was not taken: {error}"),
                Err(_) => tracing::warn!("the heartbeat was not answered"),
            }
            if heard.elapsed() >= LET_GO {
                tracing::error!("no heartbeat was taken for {LET_GO:?}: letting go of every job");
                alive.cancel();
            }
            pause(alive, BEAT).await;
        }
    }

    async fn take_jobs(&self, alive: &CancellationToken) {
        let mut running = JoinSet::new();
        while !alive.is_cancelled() {
            self.fill(&mut running, alive).await;
            tokio::select! {
                () = alive.cancelled() => {}
                Some(_) = running.join_next() => {}
                () = self.app.jobs.work_came() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        while running.join_next().await.is_some() {}
    }

    async fn fill(&self, running: &mut JoinSet<()>, alive: &CancellationToken) {
        while running.len() < self.slots && !alive.is_cancelled() {
            match self.app.jobs.lease_next(&self.id).await {
                Ok(Some(lease)) => {
                    let (id, attempt) = (&lease.job.id, lease.job.attempt);
                    tracing::info!(job.id = %id, attempt, "leased job {id}, attempt {attempt}");
                    let (app, alive) = (self.app.clone(), alive.clone());
                    running.spawn(async move { run::see_through(&app, lease, &alive).await });
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!("no job could be leased: {error}");
                    return;
                }
            }
        }
    }
}

/// Waits, but not past a stop.
async fn pause(alive: &CancellationToken, length: Duration) {
    tokio::select! {
        () = alive.cancelled() => {}
        () = tokio::time::sleep(length) => {}
    }
}
