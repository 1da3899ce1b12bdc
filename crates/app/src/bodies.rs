//! Bodies in memory, bounded for all requests together. Room is taken as the bytes come, so that
//! a slow client holds what it has sent and not what it has announced. Clients without a key have a small budget of
//! their own, divided between addresses; the rest is divided between organizations.

mod budget;
mod one_thread;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use budget::{Budget, Reserved};
use one_thread::OneThread;

pub use budget::Owner;

/// One part in this many of all bytes is for clients without a key or a session.
const PUBLIC_PART: usize = 5;
/// What is set aside for the first bytes of a body.
const FIRST: usize = 4 * 1024;
/// A client that needs longer than this for a body is cut off,
const PATIENCE: Duration = Duration::from_secs(30);
/// and so is one that sends nothing for as long as this.
const LULL: Duration = Duration::from_secs(10);

/// Bytes that may be in memory at once.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

pub type Taken = OwnedSemaphorePermit;

#[derive(Clone)]
pub struct Bodies {
    public: Budget,
    members: Budget,
    thread: OneThread,
}

/// Bytes, and the room that they take until they are dropped.
pub struct Held {
    bytes: Vec<u8>,
    reserved: Reserved,
}

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLarge,
    TooSlow,
    CutOff,
    /// The other bodies leave no room for this one.
    NoRoom,
}

impl Room {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// `None` when there is not so much left.
    pub fn take(&self, bytes: usize) -> Option<Taken> {
        self.0.clone().try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }
}

impl Bodies {
    pub fn new(bytes: usize) -> Self {
        let public = bytes / PUBLIC_PART;
        let members = Budget::new(bytes - public);
        Self { public: Budget::new(public), members, thread: OneThread::default() }
    }

    /// Bytes that organizations have left just now.
    pub fn left(&self) -> usize {
        self.members.free()
    }

    /// Bytes that clients without a key or a session have left just now.
    pub fn public_left(&self) -> usize {
        self.public.free()
    }

    fn budget(&self, owner: &Owner) -> &Budget {
        match owner {
            Owner::Organization(_) => &self.members,
            Owner::Address(_) => &self.public,
        }
    }

    pub async fn read(&self, owner: Owner, body: Body, limit: usize) -> Result<Held, Unread> {
        timeout(PATIENCE, self.read_all(owner, body, limit)).await.unwrap_or(Err(Unread::TooSlow))
    }

    async fn read_all(&self, owner: Owner, body: Body, limit: usize) -> Result<Held, Unread> {
        let mut receiving = self.budget(&owner).receive(owner);
        let mut frames = body.into_data_stream();
        loop {
            let next = receiving.cut.run_until_cancelled(timeout(LULL, frames.next())).await;
            match next.ok_or(Unread::NoRoom)?.map_err(|_| Unread::TooSlow)? {
                Some(frame) => receiving.push(&frame.map_err(|_| Unread::CutOff)?, limit).await?,
                None => break,
            }
        }
        let (bytes, reserved) = receiving.finish()?;
        Ok(Held { bytes, reserved })
    }

    pub fn nothing(&self, owner: Owner) -> Held {
        Held { bytes: Vec::new(), reserved: self.budget(&owner).reserve(owner) }
    }

    /// Work that keeps a thread busy: off the threads that serve, one piece at a time.
    pub async fn work<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        self.thread.run(act).await
    }
}

impl Held {
    /// Grows by doubling, as vectors do, and takes room for the whole of it.
    pub fn push(&mut self, more: &[u8], limit: usize) -> Result<(), Unread> {
        let needed = self.bytes.len() + more.len();
        if needed > limit {
            return Err(Unread::TooLarge);
        }
        let has = self.reserved.bytes();
        if needed > has {
            let grown = capacity_for(needed, limit);
            self.reserved.grow(grown - has)?;
            self.bytes.reserve_exact(grown - self.bytes.len());
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }
}

impl Held {
    /// Lets go of the bytes; what was made of them takes their room.
    pub fn into_room(self) -> Reserved {
        self.reserved
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Doubles, as vectors do.
fn capacity_for(needed: usize, limit: usize) -> usize {
    needed.next_power_of_two().max(FIRST).min(limit)
}
