//! Takes jobs from the store and sees them through. Meets `http` only in the store.

mod edit;
mod grounds;
mod guard;
mod later;
mod outcome;
mod passes;
mod pins;
mod record;
mod run;
mod said;
mod sweep;
mod tree;

use std::collections::HashMap;
use std::time::Duration;

use failpoints::around;
use store::{JobId, LEASE, Lease, WorkerId};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::app::App;

pub(crate) use grounds::Grounds;
pub use guard::parse_allow_path;

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
        pins::drop_old(&self.app).await;
        while !stop.is_cancelled() {
            let alive = stop.child_token();
            // Under a new name each time: what could not be given back under the old one must run out.
            let anew = Self::new(self.app.clone(), self.slots);
            tokio::join!(anew.beat(&alive), anew.take_jobs(&alive), sweep::go_on(&self.app, &alive));
        }
    }

    /// Runs jobs, one after the other, until none is waiting: for tests.
    pub async fn drain(&self) -> Result<(), store::StoreError> {
        self.app.queue.beat(&self.id).await?;
        while let Some(lease) = self.lease().await? {
            passes::see_through(&self.app, lease, &CancellationToken::new()).await;
        }
        sweep::all_due(&self.app).await;
        Ok(())
    }

    async fn lease(&self) -> Result<Option<Lease>, store::StoreError> {
        self.app.queue.lease_within(&self.id, self.app.project_jobs).await
    }

    /// Says that we are alive; when that could not be said in time, we are not.
    async fn beat(&self, alive: &CancellationToken) {
        let mut heard = Instant::now();
        while !alive.is_cancelled() {
            // The lease counts from when the store was asked, not from when it answered, and a
            // store that does not answer at all must not keep us from letting go.
            let asked = Instant::now();
            match timeout_at(heard + LET_GO, around("beat", self.app.queue.beat(&self.id))).await {
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
        let mut running = Running::default();
        while !alive.is_cancelled() {
            self.fill(&mut running, alive).await;
            tokio::select! {
                () = alive.cancelled() => {}
                () = running.one_ended() => {}
                () = self.app.queue.work_came() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            self.stop_archived(&running).await;
        }
        while !running.jobs.is_empty() {
            running.one_ended().await;
        }
    }

    async fn fill(&self, running: &mut Running, alive: &CancellationToken) {
        while running.jobs.len() < self.slots && !alive.is_cancelled() {
            match around("lease", self.lease()).await {
                Ok(Some(lease)) => running.start(&self.app, lease, alive.child_token()),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!("no job could be leased: {error}");
                    return;
                }
            }
        }
    }

    /// An archive waits for us to let go.
    async fn stop_archived(&self, running: &Running) {
        if running.jobs.is_empty() {
            return;
        }
        match self.app.queue.to_stop(&self.id).await {
            Ok(ids) => ids.iter().filter_map(|id| running.halts.get(id)).for_each(CancellationToken::cancel),
            Err(error) => tracing::warn!("it is not known which jobs are to stop: {error}"),
        }
    }
}

/// The jobs that run, each with a way to stop it.
#[derive(Default)]
struct Running {
    jobs: JoinSet<JobId>,
    halts: HashMap<JobId, CancellationToken>,
}

impl Running {
    fn start(&mut self, app: &App, lease: Lease, halt: CancellationToken) {
        let id = lease.job.id.clone();
        self.halts.insert(id.clone(), halt.clone());
        let app = app.clone();
        self.jobs.spawn(async move {
            passes::see_through(&app, lease, &halt).await;
            id
        });
    }

    /// Never, while none runs.
    async fn one_ended(&mut self) {
        match self.jobs.join_next().await {
            Some(Ok(id)) => drop(self.halts.remove(&id)),
            Some(Err(error)) => tracing::error!("a job's run broke off: {error}"),
            None => std::future::pending().await,
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
