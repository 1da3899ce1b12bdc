//! Limits concurrent work, and divides it fairly between organizations and projects.
//!
//! A free permit goes to the organization that holds the fewest, then to the one that got a permit the longest time
//! ago. The projects of an organization share in the same way. Turns matter where permits are few: with one permit,
//! nobody holds any when it becomes free, and the jobs of one project could be first in line for hours.

mod state;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use state::State;

/// Who a permit is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    pub organization: String,
    pub project: String,
}

pub struct FairSemaphore(Mutex<State>);

impl FairSemaphore {
    /// A semaphore that one project may use up.
    pub fn new(permits: usize) -> Self {
        Self(Mutex::new(State::new(permits, permits)))
    }

    /// A semaphore that reserves a quarter of its permits, rounded down, for other projects than the one with the most.
    pub fn with_reserve(permits: usize) -> Self {
        Self(Mutex::new(State::new(permits, permits - permits / 4)))
    }

    /// Changes the number of permits, of which one project may use all.
    pub fn resize(&self, permits: usize) {
        self.lock().resize(permits);
    }

    pub async fn acquire(self: &Arc<Self>, claimant: &Claimant) -> Permit {
        self.wait(Some(claimant.clone())).await
    }

    /// Acquires a permit whose claimant isn't known yet, such as for a job that is still to be leased. Such permits
    /// alternate with those of known claimants if both are waited for.
    pub async fn acquire_unassigned(self: &Arc<Self>) -> Permit {
        self.wait(None).await
    }

    pub fn in_use(&self) -> usize {
        self.lock().in_use()
    }

    pub fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    async fn wait(self: &Arc<Self>, claimant: Option<Claimant>) -> Permit {
        let (granted, receiver) = oneshot::channel();
        let number = self.lock().enqueue(claimant.clone(), granted);
        let mut permit = Permit { semaphore: self.clone(), claimant, waits_as: Some(number) };
        // The sender is only dropped without a message if the permit itself is dropped.
        let _ = receiver.await;
        permit.waits_as = None;
        permit
    }

    /// The state stays valid after a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns to its semaphore when it's dropped.
pub struct Permit {
    semaphore: Arc<FairSemaphore>,
    claimant: Option<Claimant>,
    /// The number in the queue, until the permit is received. It may have been granted already.
    waits_as: Option<u64>,
}

impl Permit {
    /// Names the claimant of a permit that was acquired without one.
    pub fn assign(&mut self, claimant: &Claimant) {
        if self.claimant.is_none() {
            self.semaphore.lock().assign(claimant);
            self.claimant = Some(claimant.clone());
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.semaphore.lock();
        let still_waits = self.waits_as.is_some_and(|number| state.cancel(number));
        if !still_waits {
            state.release(self.claimant.as_ref());
        }
    }
}
