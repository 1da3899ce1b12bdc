//! Holds the permit of a job: for local work, for a call to its model, or to run alone.
//!
//! A job that waits for its model has no permit for local work, so other jobs can use the processor, the disk and the
//! hosts meanwhile. It takes one again before it continues.
//!
//! A [suspect](Lease::is_suspect) runs alone in its process: other jobs share access, and the suspect has it exclusively.
//! A job waits for a permit without access, and for access with a permit. A suspect needs no other permit. So no two
//! jobs can wait for each other.
//!
//! A suspect that waits long for its model shares access, too, until the call ends. It gives its shared access back before
//! it waits for exclusive access again: a job that waits behind that request holds no access that the suspect needs.

#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use app::fair_semaphore::{Claimant, FairSemaphore, Permit};
use futures_util::poll;
use store::{Activity, Lease, Note, Project, StoreError};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::timeout;

use crate::shared::Shared;

/// How long other jobs wait for a suspect that must be alone.
const MAX_WAIT_FOR_OTHERS: Duration = Duration::from_secs(10);

pub(crate) struct JobPermit {
    local_work: Arc<FairSemaphore>,
    access: Arc<RwLock<()>>,
    /// Empty until the job's project is known.
    claimant: OnceLock<Claimant>,
    current: Mutex<CurrentPermit>,
}

/// The permits return to their semaphore when they're dropped.
enum CurrentPermit {
    None,
    /// A job was leased with this permit, and hasn't started.
    Leased(Permit),
    LocalWork(Permit, #[expect(dead_code)] OwnedRwLockReadGuard<()>),
    Call(#[expect(dead_code)] Permit, #[expect(dead_code)] OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
    /// A suspect waits for its model, or could not be alone, and other jobs run. Other suspects don't.
    Shared(#[expect(dead_code)] OwnedRwLockReadGuard<()>),
}

impl JobPermit {
    /// For a job that is leased with a permit for local work. All jobs of a process share `access`.
    pub(crate) fn new(local_work: Arc<FairSemaphore>, access: Arc<RwLock<()>>, permit: Permit) -> Self {
        let current = Mutex::new(CurrentPermit::Leased(permit));
        Self { local_work, access, claimant: OnceLock::new(), current }
    }

    /// Counts the permits of this job for its project from now on.
    pub(crate) fn assign(&self, project: &Project) {
        let claimant = self.claimant.get_or_init(|| Claimant {
            organization: project.organization.0.clone(),
            project: project.id.0.clone(),
        });
        if let CurrentPermit::Leased(permit) | CurrentPermit::LocalWork(permit, _) = &mut *self.lock() {
            permit.assign(claimant);
        }
    }

    pub(crate) fn release(&self) {
        drop(self.take());
    }

    /// Waits until the leased job may start: alone if it's a suspect. From then on, a death of its worker counts.
    pub(crate) async fn begin(&self, app: &Shared, lease: &Lease) -> Result<(), StoreError> {
        if !lease.is_suspect() {
            self.end_alone();
            self.begin_local_work().await;
            return Ok(());
        }
        self.begin_alone().await;
        app.queue.note(lease, vec![Note::Activity(self.activity_at_work())]).await.map(drop)
    }

    /// Lets other jobs run again if the job has got past the step for which it had to be alone. Then it has no permit.
    pub(crate) async fn share_after_progress(&self, app: &Shared, lease: &Lease) -> Result<(), StoreError> {
        if (self.is_alone() || self.shares()) && !app.queue.is_suspect(lease).await? {
            self.end_alone();
        }
        Ok(())
    }

    /// Lets other jobs run while a suspect waits for its model.
    pub(crate) fn share_call(&self) {
        let mut current = self.lock();
        *current = match std::mem::replace(&mut *current, CurrentPermit::None) {
            CurrentPermit::Alone(access) => CurrentPermit::Shared(access.downgrade()),
            other => other,
        };
    }

    /// Waits for a permit for local work, unless the job has one. A suspect that shared its call is alone again.
    pub(crate) async fn begin_local_work(&self) {
        if self.shares() {
            return self.begin_alone().await;
        }
        if matches!(*self.lock(), CurrentPermit::LocalWork(..) | CurrentPermit::Alone(_)) {
            return;
        }
        let permit = match self.take() {
            CurrentPermit::Leased(permit) => permit,
            other => {
                drop(other);
                self.acquire(&self.local_work).await
            }
        };
        let access = self.access.clone().read_owned().await;
        *self.lock() = CurrentPermit::LocalWork(permit, access);
    }

    /// Gives the permit for local work back, and waits for one of `calls`. If it isn't free, `on_wait` is called before.
    /// Returns whether it was called.
    pub(crate) async fn begin_call(&self, calls: &Arc<FairSemaphore>, on_wait: impl FnOnce()) -> bool {
        if self.is_alone() || self.shares() {
            return false;
        }
        self.release();
        let mut acquired = pin!(async {
            let permit = self.acquire(calls).await;
            (permit, self.access.clone().read_owned().await)
        });
        let ((permit, access), has_waited) = match poll!(acquired.as_mut()) {
            Poll::Ready(acquired) => (acquired, false),
            Poll::Pending => {
                on_wait();
                (acquired.await, true)
            }
        };
        *self.lock() = CurrentPermit::Call(permit, access);
        has_waited
    }

    /// Makes a suspect alone. Other jobs wait meanwhile, so a neighbor that does not get out of the way in time, such as
    /// one with a stalled model, stays: the suspect then shares.
    async fn begin_alone(&self) {
        if self.is_alone() {
            return;
        }
        self.release();
        let alone = timeout(MAX_WAIT_FOR_OTHERS, self.access.clone().write_owned()).await;
        let permit = match alone {
            Ok(access) => CurrentPermit::Alone(access),
            Err(_) => CurrentPermit::Shared(self.access.clone().read_owned().await),
        };
        *self.lock() = permit;
    }

    /// What a job with this permit does when it calls its model.
    pub(crate) fn activity_in_call(&self) -> Activity {
        if self.shares() { Activity::Sharing } else { Activity::Calling }
    }

    /// What a job with this permit does when it works.
    pub(crate) fn activity_at_work(&self) -> Activity {
        if self.shares() { Activity::Sharing } else { Activity::Working }
    }

    fn end_alone(&self) {
        if self.is_alone() || self.shares() {
            self.release();
        }
    }

    pub(crate) fn is_alone(&self) -> bool {
        matches!(*self.lock(), CurrentPermit::Alone(_))
    }

    pub(crate) fn shares(&self) -> bool {
        matches!(*self.lock(), CurrentPermit::Shared(_))
    }

    async fn acquire(&self, semaphore: &Arc<FairSemaphore>) -> Permit {
        match self.claimant.get() {
            Some(claimant) => semaphore.acquire(claimant).await,
            None => semaphore.acquire_unassigned().await,
        }
    }

    fn take(&self) -> CurrentPermit {
        std::mem::replace(&mut *self.lock(), CurrentPermit::None)
    }

    fn lock(&self) -> MutexGuard<'_, CurrentPermit> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
