//! Holds the permit of a job: for local work, or for a call to its model.
//!
//! A job that waits for its model has no permit for local work, so other jobs can use the processor, the disk and the
//! hosts meanwhile. It takes one again before it continues.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use app::fair_semaphore::{Claimant, FairSemaphore, Permit};
use store::Project;

pub(crate) struct JobPermit {
    local_work: Arc<FairSemaphore>,
    /// Empty until the job's project is known.
    claimant: OnceLock<Claimant>,
    current: Mutex<CurrentPermit>,
}

/// The permits return to their semaphore when they're dropped.
enum CurrentPermit {
    None,
    LocalWork(Permit),
    Call(#[expect(dead_code)] Permit),
}

impl JobPermit {
    /// A job that starts with a permit for local work.
    pub(crate) fn new(local_work: Arc<FairSemaphore>, permit: Permit) -> Self {
        Self { local_work, claimant: OnceLock::new(), current: Mutex::new(CurrentPermit::LocalWork(permit)) }
    }

    /// Counts the permits of this job for its project from now on.
    pub(crate) fn assign(&self, project: &Project) {
        let claimant = self.claimant.get_or_init(|| Claimant {
            organization: project.organization.0.clone(),
            project: project.id.0.clone(),
        });
        if let CurrentPermit::LocalWork(permit) = &mut *self.lock() {
            permit.assign(claimant);
        }
    }

    pub(crate) fn release(&self) {
        *self.lock() = CurrentPermit::None;
    }

    /// Waits for a permit for local work, unless the job has one.
    pub(crate) async fn begin_local_work(&self) {
        if matches!(*self.lock(), CurrentPermit::LocalWork(_)) {
            return;
        }
        self.release();
        let permit = self.acquire(&self.local_work).await;
        *self.lock() = CurrentPermit::LocalWork(permit);
    }

    /// Gives the permit for local work back, and waits for one of `calls`.
    pub(crate) async fn begin_call(&self, calls: &Arc<FairSemaphore>) {
        self.release();
        let permit = self.acquire(calls).await;
        *self.lock() = CurrentPermit::Call(permit);
    }

    async fn acquire(&self, semaphore: &Arc<FairSemaphore>) -> Permit {
        match self.claimant.get() {
            Some(claimant) => semaphore.acquire(claimant).await,
            None => semaphore.acquire_unassigned().await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, CurrentPermit> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
