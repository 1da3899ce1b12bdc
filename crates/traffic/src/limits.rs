//! Backpressure: bounds the batches that wait to be written.
//!
//! A batch over the limit is refused immediately, so a slow disk makes senders retry and does not exhaust the
//! server's memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const KIB: usize = 1024;

/// Limits on the size and age of page views.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Batches in flight. Each browser view is a batch, so many small ones must fit.
    pub batches: usize,
    /// Bytes of all batches in flight. This limits large batches.
    pub bytes: usize,
    /// New pages per project and day. Further pages count as other pages.
    pub new_pages: u32,
    /// For how many days raw events are kept.
    pub raw_days: u32,
    /// Bytes of memory for all projects together.
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
pub(crate) struct IngestLimiter {
    batches: Arc<Semaphore>,
    kibs: Arc<Semaphore>,
    all_kibs: u32,
}

/// Holds a batch's share of the limits until it is dropped.
#[derive(Debug)]
pub(crate) struct IngestPermit {
    _batch: OwnedSemaphorePermit,
    _kibs: OwnedSemaphorePermit,
}

impl IngestLimiter {
    pub(crate) fn new(limits: Limits) -> Self {
        let all_kibs = u32::try_from(limits.bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self { batches: permits(limits.batches), kibs: permits(all_kibs as usize), all_kibs }
    }

    /// A batch over the byte limit is admitted alone; otherwise it could never be admitted.
    pub(crate) fn try_acquire(&self, bytes: usize) -> Option<IngestPermit> {
        let kibs = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX).min(self.all_kibs);
        let batch = self.batches.clone().try_acquire_owned().ok()?;
        let kibs = self.kibs.clone().try_acquire_many_owned(kibs).ok()?;
        Some(IngestPermit { _batch: batch, _kibs: kibs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_bytes_are_bounded() {
        let limiter = IngestLimiter::new(Limits { batches: 2, bytes: 10 * KIB, ..Limits::default() });
        let first = limiter.try_acquire(6 * KIB).unwrap();
        assert!(limiter.try_acquire(5 * KIB).is_none());
        let second = limiter.try_acquire(1).unwrap();
        assert!(limiter.try_acquire(1).is_none());
        drop((first, second));
        let whole = limiter.try_acquire(100 * KIB).unwrap();
        assert!(limiter.try_acquire(1).is_none());
        drop(whole);
        assert!(limiter.try_acquire(10 * KIB).is_some());
    }
}
