//! Bodies in memory, bounded for all requests together. Room is taken as the bytes come, so that
//! a slow client holds what it has sent and not what it has announced.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// What is set aside for the first bytes of a body.
const FIRST: usize = 4 * 1024;
/// Work on whole bodies, such as to decode one, that may go on at once. One: each thread that works on
/// them keeps memory for the next, and with two the whole came too close to its bound.
const TURNS: usize = 1;
/// A client that needs longer than this for a body is cut off,
const PATIENCE: Duration = Duration::from_secs(30);
/// and so is one that sends nothing for as long as this.
const LULL: Duration = Duration::from_secs(10);

/// Bytes that may be in memory at once.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

pub(crate) type Taken = OwnedSemaphorePermit;

#[derive(Clone)]
pub struct Bodies {
    room: Room,
    turns: Arc<Semaphore>,
}

/// Bytes, and the room that they take until they are dropped.
pub(crate) struct Held {
    bytes: Vec<u8>,
    taken: Taken,
    room: Room,
}

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    TooLarge,
    TooSlow,
    CutOff,
    /// The other bodies leave no room for this one.
    NoRoom,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// `None` when there is not so much left.
    pub(crate) fn take(&self, bytes: usize) -> Option<Taken> {
        self.0.clone().try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }
}

impl Bodies {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { room: Room::new(bytes), turns: Arc::new(Semaphore::new(TURNS)) }
    }

    /// Bytes that there is room for just now.
    pub fn left(&self) -> usize {
        self.room.0.available_permits()
    }

    pub(crate) async fn read(&self, body: Body, limit: usize) -> Result<Held, Unread> {
        timeout(PATIENCE, self.read_all(body, limit)).await.unwrap_or(Err(Unread::TooSlow))
    }

    async fn read_all(&self, body: Body, limit: usize) -> Result<Held, Unread> {
        let mut held = self.nothing()?;
        let mut frames = body.into_data_stream();
        while let Some(frame) = timeout(LULL, frames.next()).await.map_err(|_| Unread::TooSlow)? {
            held.push(&frame.map_err(|_| Unread::CutOff)?, limit)?;
        }
        Ok(held)
    }

    pub(crate) fn nothing(&self) -> Result<Held, Unread> {
        let taken = self.room.take(0).ok_or(Unread::NoRoom)?;
        Ok(Held { bytes: Vec::new(), taken, room: self.room.clone() })
    }

    /// Work that keeps a thread busy: off the threads that serve, and a little of it at a time.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let turn = self.turns.clone().acquire_owned().await?;
        let done = tokio::task::spawn_blocking(move || {
            let done = act();
            drop(turn);
            done
        });
        Ok(done.await?)
    }
}

impl Held {
    /// Grows by doubling, as vectors do, and takes room for the whole of it.
    pub(crate) fn push(&mut self, more: &[u8], limit: usize) -> Result<(), Unread> {
        let needed = self.bytes.len() + more.len();
        if needed > limit {
            return Err(Unread::TooLarge);
        }
        let has = self.taken.num_permits();
        if needed > has {
            let grown = needed.next_power_of_two().max(FIRST).min(limit);
            self.taken.merge(self.room.take(grown - has).ok_or(Unread::NoRoom)?);
            self.bytes.reserve_exact(grown - self.bytes.len());
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }
}

impl Held {
    /// Lets go of the bytes; what was made of them takes their room.
    pub(crate) fn into_room(self) -> Taken {
        self.taken
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
