//! Takes jobs from the store and sees them through. Meets `http` only in the store.

mod doubt;
mod edit;
mod give_up;
mod grounds;
mod guard;
mod later;
mod outcome;
mod passes;
mod pins;
mod record;
mod run;
mod said;
mod shared;
mod sweep;
mod tree;
mod vocabularies;

use std::collections::HashMap;
use std::time::Duration;

use failpoints::with_failpoints;
use store::{JobId, LEASE, Lease, StoreError, WorkerId};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use app::App;
use app::directory;
use shared::Shared;

/// How often to look for work that nobody rang the bell for, such as a lease that ran out.
const LOOK: Duration = Duration::from_secs(1);
/// The same while the store does not answer: twice as long each time, up to this.
const LONGEST_LOOK: Duration = Duration::from_secs(15);
const BEAT: Duration = Duration::from_secs(LEASE.as_secs() as u64 / 3);
/// A worker that could not renew its lease for this long lets go of everything, before
/// anyone else may take it up.
const LET_GO: Duration = Duration::from_secs(LEASE.as_secs() as u64 * 2 / 3);

/// A store that had less time to answer is not to blame for a late heartbeat.
const MIN_ANSWER_TIME: Duration = Duration::from_secs(1);

/// One worker process, as the store sees it: one heartbeat, some jobs at once.
pub struct Worker {
    app: Shared,
    id: WorkerId,
    slots: usize,
}

impl Worker {
    pub fn new(app: App, slots: usize) -> Self {
        Self { app: Shared::new(app), id: WorkerId::random(), slots: slots.max(1) }
    }

    /// The same worker under a new id.
    fn renamed(&self) -> Self {
        Self { app: self.app.clone(), id: WorkerId::random(), slots: self.slots }
    }

    /// Works until it is told to stop, then gives back what it holds, unharmed.
    pub async fn work(&self, stop: CancellationToken) {
        pins::drop_old(&self.app).await;
        let mut former = None;
        while !stop.is_cancelled() {
            directory::wait_until_intact(&self.app, &stop).await;
            let alive = stop.child_token();
            // Under a new name each time: what could not be given back under the old one must run out, unless the
            // store was the trouble. Then the new one gives it back, and nobody counts as dead.
            let anew = self.renamed();
            let working = async {
                let began = anew.release_former(former.as_ref(), &alive).await;
                if began {
                    anew.take_jobs(&alive).await;
                }
                began
            };
            let (store_failed, began, (), ()) = tokio::join!(
                anew.beat(&alive),
                working,
                sweep::go_on(&self.app, &alive),
                directory::cancel_when_lost(&self.app, &alive),
            );
            if began {
                former = store_failed.then_some(anew.id);
            }
        }
    }

    /// Answers whether the new worker may begin.
    async fn release_former(&self, former: Option<&WorkerId>, alive: &CancellationToken) -> bool {
        let Some(former) = former else { return true };
        while !alive.is_cancelled() {
            match self.app.queue.release_all(former).await {
                Ok(()) => return true,
                Err(error) => tracing::warn!("the jobs of this worker are not given back yet: {error}"),
            }
            pause(alive, LOOK).await;
        }
        false
    }

    /// Runs jobs, one after the other, until none is waiting: for tests.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.app.queue.heartbeat(&self.id).await?;
        while let Some(lease) = self.lease().await? {
            passes::see_through(&self.app, lease, &CancellationToken::new()).await;
        }
        sweep::all_due(&self.app).await;
        Ok(())
    }

    async fn lease(&self) -> Result<Option<Lease>, StoreError> {
        self.app.queue.lease_within(&self.id, self.app.project_jobs).await
    }

    async fn beat(&self, alive: &CancellationToken) -> bool {
        keep_alive(alive, || with_failpoints("beat", self.app.queue.heartbeat(&self.id))).await
    }

    async fn take_jobs(&self, alive: &CancellationToken) {
        let (mut running, mut look) = (Running::default(), LOOK);
        while !alive.is_cancelled() {
            look = match self.fill(&mut running, alive).await {
                true => LOOK,
                false => (look * 2).min(LONGEST_LOOK),
            };
            tokio::select! {
                () = alive.cancelled() => {}
                () = running.one_ended() => {}
                () = self.app.queue.wait_for_work() => {}
                () = tokio::time::sleep(look) => {}
            }
            self.stop_archived(&running).await;
        }
        while !running.jobs.is_empty() {
            running.one_ended().await;
        }
    }

    /// Whether the store answered.
    async fn fill(&self, running: &mut Running, alive: &CancellationToken) -> bool {
        while running.jobs.len() < self.slots && !alive.is_cancelled() {
            match with_failpoints("lease", self.lease()).await {
                Ok(Some(lease)) => running.start(&self.app, lease, alive.child_token()),
                Ok(None) => return true,
                Err(error) => {
                    tracing::warn!("no job could be leased: {error}");
                    return false;
                }
            }
        }
        true
    }

    /// An archive waits for us to let go.
    async fn stop_archived(&self, running: &Running) {
        if running.jobs.is_empty() {
            return;
        }
        match self.app.queue.jobs_to_stop(&self.id).await {
            Ok(ids) => ids.iter().filter_map(|id| running.halts.get(id)).for_each(CancellationToken::cancel),
            Err(error) => tracing::warn!("it is not known which jobs are to stop: {error}"),
        }
    }
}

/// Says that we are alive; when that could not be said in time, we are not. Answers whether the store was the trouble,
/// and not this process, which a job may have stopped for so long.
async fn keep_alive<F>(alive: &CancellationToken, mut beat: impl FnMut() -> F) -> bool
where
    F: Future<Output = Result<(), StoreError>>,
{
    let (mut heard, mut store_failed) = (Instant::now(), false);
    while !alive.is_cancelled() {
        // The lease counts from when the store was asked, not from when it answered, and a
        // store that does not answer at all must not keep us from letting go.
        let asked = Instant::now();
        match timeout_at(heard + LET_GO, beat()).await {
            Ok(Ok(())) => (heard, store_failed) = (asked, false),
            Ok(Err(error)) => {
                store_failed = true;
                tracing::warn!("the heartbeat was not taken: {error}");
            }
            Err(_) => {
                store_failed |= asked.elapsed() >= MIN_ANSWER_TIME;
                tracing::warn!("the heartbeat was not answered");
            }
        }
        if heard.elapsed() >= LET_GO {
            tracing::error!("no heartbeat was taken for {LET_GO:?}: letting go of every job");
            alive.cancel();
        }
        pause(alive, BEAT).await;
    }
    store_failed
}

/// The jobs that run, each with a way to stop it.
#[derive(Default)]
struct Running {
    jobs: JoinSet<JobId>,
    halts: HashMap<JobId, CancellationToken>,
}

impl Running {
    fn start(&mut self, app: &Shared, lease: Lease, halt: CancellationToken) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_in_trouble_is_told_from_a_process_that_stood_still() {
        let failing = || async { Err(StoreError::Database("the disk is full".into())) };
        assert!(keep_alive(&CancellationToken::new(), failing).await);
        assert!(keep_alive(&CancellationToken::new(), std::future::pending::<Result<(), StoreError>>).await);

        // The first heartbeat is taken; then the process stands still, and has no time left to ask.
        let (alive, mut beats) = (CancellationToken::new(), 0);
        let beat = || {
            beats += 1;
            let is_first = beats == 1;
            async move { if is_first { Ok(()) } else { std::future::pending().await } }
        };
        let standing_still = async {
            tokio::task::yield_now().await;
            tokio::time::advance(2 * LET_GO).await;
        };
        let (store_failed, ()) = tokio::join!(keep_alive(&alive, beat), standing_still);
        assert!(!store_failed && alive.is_cancelled());
    }
}
