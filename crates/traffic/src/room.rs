//! How much may wait to be written. What does not fit is refused at once, so that a slow disk
//! costs senders an answer and not the server its memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const KIB: usize = 1024;

/// How much there may be of page views, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Batches in flight at one time. A browser's view is one, so many small ones must fit;
    pub batches: usize,
    /// large ones are held by their bytes.
    pub bytes: usize,
    /// Pages of a project that can get a name of their own on one day.
    pub new_pages: u32,
    /// For how many days raw events are kept.
    pub raw_days: u32,
    /// Bytes of what is in memory of all projects together.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            batches: 1024,
            bytes: 64 * KIB * KIB,
            new_pages: 100_000,
            raw_days: 396,
            memory: 256 * KIB * KIB,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Room {
    batches: Arc<Semaphore>,
    kibs: Arc<Semaphore>,
    all_kibs: u32,
}

/// A batch's place in the room, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _batch: OwnedSemaphorePermit,
    _kibs: OwnedSemaphorePermit,
}

impl Room {
    pub(crate) fn new(limits: Limits) -> Self {
        let all_kibs = u32::try_from(limits.bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        let permits = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { batches: permits(limits.batches), kibs: permits(all_kibs as usize), all_kibs }
    }

    /// A batch larger than the whole room has it to itself: else it could never enter.
    pub(crate) fn enter(&self, bytes: usize) -> Option<Place> {
        let kibs = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX).min(self.all_kibs);
        let batch = self.batches.clone().try_acquire_owned().ok()?;
        let kibs = self.kibs.clone().try_acquire_many_owned(kibs).ok()?;
        Some(Place { _batch: batch, _kibs: kibs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_bytes_are_bounded() {
        let room = Room::new(Limits { batches: 2, bytes: 10 * KIB, ..Limits::default() });
        let first = room.enter(6 * KIB).unwrap();
        assert!(room.enter(5 * KIB).is_none());
        let second = room.enter(1).unwrap();
        assert!(room.enter(1).is_none());
        drop((first, second));
        let whole = room.enter(100 * KIB).unwrap();
        assert!(room.enter(1).is_none());
        drop(whole);
        assert!(room.enter(10 * KIB).is_some());
    }
}
