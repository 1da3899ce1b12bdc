//! Receives request bodies within a memory budget for all requests together.
//!
//! Memory is reserved as bytes arrive, so a slow client occupies only what it sent, not what it announced.
//! Clients without an API key or a session have a small separate budget, divided between addresses. The rest
//! is divided between organizations.

mod body_thread;
mod budget;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use body_thread::BodyThread;
use budget::{Budget, Reservation};

pub use budget::Owner;

/// One part in this many of the budget is for clients without an API key or a session.
const PUBLIC_PART: usize = 5;
/// The first reservation for a body.
const MIN_CAPACITY: usize = 4 * 1024;
/// The time for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The time without any bytes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of bytes that may be in memory at the same time.
#[derive(Clone)]
pub struct ByteBudget(Arc<Semaphore>);

pub type BytePermit = OwnedSemaphorePermit;

#[derive(Clone)]
pub struct Bodies {
    public: Budget,
    members: Budget,
    thread: BodyThread,
}

/// Bytes, and their reservation until they are dropped.
pub struct BufferedBody {
    bytes: Vec<u8>,
    reservation: Reservation,
}

/// Why a body wasn't received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    TooLarge,
    TooSlow,
    Disconnected,
    /// Other bodies use the budget.
    OverBudget,
}

impl ByteBudget {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// `None` when fewer bytes are free.
    pub fn try_acquire(&self, bytes: usize) -> Option<BytePermit> {
        self.0.clone().try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }
}

impl Bodies {
    pub fn new(bytes: usize) -> Self {
        let public = bytes / PUBLIC_PART;
        let members = Budget::new(bytes - public);
        Self { public: Budget::new(public), members, thread: BodyThread::default() }
    }

    /// The free bytes of the organizations' budget.
    pub fn free_bytes(&self) -> usize {
        self.members.free()
    }

    /// The free bytes of the budget for clients without an API key or a session.
    pub fn public_free_bytes(&self) -> usize {
        self.public.free()
    }

    fn budget(&self, owner: &Owner) -> &Budget {
        match owner {
            Owner::Organization(_) => &self.members,
            Owner::Address(_) => &self.public,
        }
    }

    pub async fn read(&self, owner: Owner, body: Body, limit: usize) -> Result<BufferedBody, BodyError> {
        timeout(BODY_TIMEOUT, self.read_all(owner, body, limit)).await.unwrap_or(Err(BodyError::TooSlow))
    }

    async fn read_all(&self, owner: Owner, body: Body, limit: usize) -> Result<BufferedBody, BodyError> {
        let mut receiving = self.budget(&owner).receive(owner);
        let mut frames = body.into_data_stream();
        loop {
            let next = receiving.cut.run_until_cancelled(timeout(IDLE_TIMEOUT, frames.next())).await;
            match next.ok_or(BodyError::OverBudget)?.map_err(|_| BodyError::TooSlow)? {
                Some(frame) => receiving.push(&frame.map_err(|_| BodyError::Disconnected)?, limit).await?,
                None => break,
            }
        }
        let (bytes, reservation) = receiving.finish()?;
        Ok(BufferedBody { bytes, reservation })
    }

    pub fn empty_body(&self, owner: Owner) -> BufferedBody {
        BufferedBody { bytes: Vec::new(), reservation: self.budget(&owner).reserve(owner) }
    }

    /// Runs CPU-bound work outside the threads that serve requests, one task at a time.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        self.thread.run(work).await
    }
}

impl BufferedBody {
    /// Appends bytes. Grows by doubling, and reserves the whole capacity.
    pub fn push(&mut self, more: &[u8], limit: usize) -> Result<(), BodyError> {
        let needed = self.bytes.len() + more.len();
        if needed > limit {
            return Err(BodyError::TooLarge);
        }
        let reserved = self.reservation.bytes();
        if needed > reserved {
            let capacity = capacity_for(needed, limit);
            self.reservation.grow(capacity - reserved)?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// Drops the bytes and returns their reservation, for what was parsed from them.
    pub fn into_reservation(self) -> Reservation {
        self.reservation
    }
}

impl Deref for BufferedBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Doubles the capacity as needed, up to `limit`.
fn capacity_for(needed: usize, limit: usize) -> usize {
    needed.next_power_of_two().max(MIN_CAPACITY).min(limit)
}
