//! Counts what fetches over HTTP cost, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that all caches of a server share.
#[derive(Debug, Default)]
pub struct FetchCounts {
    bytes: AtomicU64,
    batches: AtomicU64,
    misses: AtomicU64,
}

impl FetchCounts {
    /// The size of all fetched packfiles.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Requests for files by their ids.
    pub fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// Files that were not in the cache when they were needed.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_batch(&self, bytes: u64) {
        self.add_bytes(bytes);
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_misses(&self, files: usize) {
        self.misses.fetch_add(files as u64, Ordering::Relaxed);
    }
}
