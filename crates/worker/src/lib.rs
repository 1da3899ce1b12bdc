//! Leases jobs from the store and runs them to their end. The worker and the API communicate only through the
//! store.

mod backoff;
mod context;
mod edit;
mod find_pull;
mod give_up;
mod guard;
mod job_permit;
mod outcome;
mod path_index_cache;
mod pins;
mod recheck;
mod record;
mod run;
mod run_loop;
mod shared;
mod site_scan;
mod sweep;
mod tree;
mod vocabulary_cache;

use std::collections::HashMap;
use std::time::Duration;

use failpoints::with_failpoints;
use store::{JobId, LEASE, Lease, StoreError, WorkerId};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use app::App;
use app::directory;
use app::fair_semaphore::Permit;
use job_permit::JobPermit;
use shared::Shared;

/// How often to poll for jobs without a notification, such as jobs whose lease expired.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// While the store doesn't answer, the interval doubles each time, up to this.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(15);
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(LEASE.as_secs() as u64 / 3);
/// A worker without a successful heartbeat for this long stops all its jobs, before another worker can lease
/// them.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(LEASE.as_secs() as u64 * 2 / 3);

/// If the store had less time than this to answer, the store isn't the cause of a late heartbeat.
const MIN_RESPONSE_TIME: Duration = Duration::from_secs(1);

/// A worker process: one heartbeat for all jobs that it has leased, and up to `local_work` of them that do local work at
/// the same time. The others wait for a model.
pub struct Worker {
    app: Shared,
    id: WorkerId,
}

impl Worker {
    /// `local_work` is at least 1.
    pub fn new(app: App, local_work: usize) -> Self {
        app.local_work.resize(local_work.max(1));
        Self { app: Shared::new(app), id: WorkerId::random() }
    }

    fn with_new_id(&self) -> Self {
        Self { app: self.app.clone(), id: WorkerId::random() }
    }

    /// Runs jobs until `stop`, then returns its jobs to the queue.
    pub async fn work(&self, stop: CancellationToken) {
        pins::remove_stale_pins(&self.app).await;
        let mut former_id = None;
        while !stop.is_cancelled() {
            directory::wait_until_intact(&self.app, &stop).await;
            let alive = stop.child_token();
            // A new id each time, because leases of the old id that weren't released must expire. If the
            // store was the cause, the worker releases them under its new id, and no death is counted.
            let worker = self.with_new_id();
            let working = async {
                let is_released = worker.release_former(former_id.as_ref(), &alive).await;
                if is_released {
                    worker.run_jobs(&alive).await;
                }
                is_released
            };
            let (store_failed, is_released, (), (), ()) = tokio::join!(
                worker.send_heartbeats(&alive),
                working,
                sweep::sweep_until_stopped(&self.app, &alive),
                site_scan::scan_until_stopped(&self.app, &alive),
                directory::cancel_when_lost(&self.app, &alive),
            );
            if is_released {
                former_id = store_failed.then_some(worker.id);
            }
        }
    }

    /// Releases the leases of the former id. Returns false if `alive` ended first.
    async fn release_former(&self, former: Option<&WorkerId>, alive: &CancellationToken) -> bool {
        let Some(former) = former else { return true };
        while !alive.is_cancelled() {
            match self.app.queue.release_all(former).await {
                Ok(()) => return true,
                Err(error) => {
                    tracing::warn!("cannot return the jobs of this worker to the queue yet: {error}")
                }
            }
            pause(alive, POLL_INTERVAL).await;
        }
        false
    }

    /// Runs jobs, one after the other, until the queue is empty. For tests.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.app.queue.heartbeat(&self.id).await?;
        while let Some(lease) = self.lease().await? {
            let permit = self.app.local_work.acquire_unassigned().await;
            let permit = JobPermit::new(self.app.local_work.clone(), self.app.access.clone(), permit);
            run_loop::run_to_end(&self.app, lease, permit, &CancellationToken::new()).await;
        }
        sweep::run_due_sweeps(&self.app).await;
        Ok(())
    }

    /// Runs the scans of sites that are due. For tests.
    pub async fn scan_sites(&self) {
        site_scan::run_due_scans(&self.app).await;
    }

    async fn lease(&self) -> Result<Option<Lease>, StoreError> {
        self.app.queue.lease_within(&self.id, self.app.lease_limits).await
    }

    async fn send_heartbeats(&self, alive: &CancellationToken) -> bool {
        keep_alive(alive, || with_failpoints("beat", self.app.queue.heartbeat(&self.id))).await
    }

    async fn run_jobs(&self, alive: &CancellationToken) {
        let (mut running, mut interval) = (RunningJobs::default(), POLL_INTERVAL);
        let (mut may_have_work, mut next_poll) = (true, Instant::now() + interval);
        while !alive.is_cancelled() {
            let may_lease = may_have_work && running.jobs.len() < self.app.max_jobs_in_flight;
            tokio::select! {
                () = alive.cancelled() => {}
                // Before the lease: otherwise a job would wait here that another process could start now.
                permit = self.app.local_work.acquire_unassigned(), if may_lease => {
                    let leased = self.lease_job(permit, &mut running, alive).await;
                    may_have_work = matches!(leased, Ok(true));
                    interval = if leased.is_ok() { POLL_INTERVAL } else { (interval * 2).min(MAX_POLL_INTERVAL) };
                    if leased.is_err() {
                        next_poll = Instant::now() + interval;
                    }
                }
                () = running.wait_for_one() => may_have_work = true,
                () = self.app.queue.wait_for_work() => {
                    may_have_work = true;
                    self.stop_archived(&running).await;
                }
                () = sleep_until(next_poll) => {
                    (may_have_work, next_poll) = (true, Instant::now() + interval);
                    self.stop_archived(&running).await;
                }
            }
            self.app.metrics.set_jobs_in_flight(running.jobs.len());
        }
        while !running.jobs.is_empty() {
            running.wait_for_one().await;
            self.app.metrics.set_jobs_in_flight(running.jobs.len());
        }
    }

    /// Leases and starts one job. Returns whether there was one, or an error if the store doesn't answer.
    async fn lease_job(
        &self,
        permit: Permit,
        running: &mut RunningJobs,
        alive: &CancellationToken,
    ) -> Result<bool, StoreError> {
        let lease = with_failpoints("lease", self.lease()).await;
        let lease = lease.inspect_err(|error| tracing::warn!("cannot lease a job: {error}"))?;
        let Some(lease) = lease else { return Ok(false) };
        let permit = JobPermit::new(self.app.local_work.clone(), self.app.access.clone(), permit);
        running.start(&self.app, lease, permit, alive.child_token());
        Ok(true)
    }

    /// Stops jobs that are to be archived: the archive waits for their worker.
    async fn stop_archived(&self, running: &RunningJobs) {
        if running.jobs.is_empty() {
            return;
        }
        match self.app.queue.jobs_to_stop(&self.id).await {
            Ok(ids) => ids.iter().filter_map(|id| running.stops.get(id)).for_each(CancellationToken::cancel),
            Err(error) => tracing::warn!("cannot read which jobs to stop: {error}"),
        }
    }
}

/// Sends heartbeats, and ends `alive` when none succeeded in time. Returns whether the store was the cause.
/// The other possible cause is this process: a job may have blocked it for so long.
async fn keep_alive<F>(alive: &CancellationToken, mut beat: impl FnMut() -> F) -> bool
where
    F: Future<Output = Result<(), StoreError>>,
{
    let (mut last_success, mut store_failed) = (Instant::now(), false);
    while !alive.is_cancelled() {
        // The lease counts from the request, not from the response. The timeout also applies while the store
        // doesn't answer at all.
        let sent_at = Instant::now();
        match timeout_at(last_success + HEARTBEAT_TIMEOUT, beat()).await {
            Ok(Ok(())) => (last_success, store_failed) = (sent_at, false),
            Ok(Err(error)) => {
                store_failed = true;
                tracing::warn!("the store refused the heartbeat: {error}");
            }
            Err(_) => {
                store_failed |= sent_at.elapsed() >= MIN_RESPONSE_TIME;
                tracing::warn!("the store did not answer the heartbeat");
            }
        }
        if last_success.elapsed() >= HEARTBEAT_TIMEOUT {
            tracing::error!("no heartbeat succeeded for {HEARTBEAT_TIMEOUT:?}: stopping every job");
            alive.cancel();
        }
        pause(alive, HEARTBEAT_INTERVAL).await;
    }
    store_failed
}

/// The jobs that run now, each with a token that stops it.
#[derive(Default)]
struct RunningJobs {
    jobs: JoinSet<JobId>,
    stops: HashMap<JobId, CancellationToken>,
}

impl RunningJobs {
    fn start(&mut self, app: &Shared, lease: Lease, permit: JobPermit, stop: CancellationToken) {
        let id = lease.job.id.clone();
        self.stops.insert(id.clone(), stop.clone());
        let app = app.clone();
        self.jobs.spawn(async move {
            run_loop::run_to_end(&app, lease, permit, &stop).await;
            id
        });
    }

    /// Waits until a job ends. Never returns while no job runs.
    async fn wait_for_one(&mut self) {
        match self.jobs.join_next().await {
            Some(Ok(id)) => drop(self.stops.remove(&id)),
            Some(Err(error)) => tracing::error!("the task of a job failed: {error}"),
            None => std::future::pending().await,
        }
    }
}

/// Sleeps for `length`, or until `alive` ends.
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
    async fn a_failing_store_is_distinguished_from_a_blocked_process() {
        let failing = || async { Err(StoreError::Database("the disk is full".into())) };
        assert!(keep_alive(&CancellationToken::new(), failing).await);
        assert!(keep_alive(&CancellationToken::new(), std::future::pending::<Result<(), StoreError>>).await);

        // The first heartbeat succeeds. Then the process is blocked until the timeout is over.
        let (alive, mut beats) = (CancellationToken::new(), 0);
        let beat = || {
            beats += 1;
            let is_first = beats == 1;
            async move { if is_first { Ok(()) } else { std::future::pending().await } }
        };
        let block_process = async {
            tokio::task::yield_now().await;
            tokio::time::advance(2 * HEARTBEAT_TIMEOUT).await;
        };
        let (store_failed, ()) = tokio::join!(keep_alive(&alive, beat), block_process);
        assert!(!store_failed && alive.is_cancelled());
    }
}
