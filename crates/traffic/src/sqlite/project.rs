//! Caches active projects in memory: pages, reads since the last compaction, and prefix sums once a report
//! needs them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::block::Read;
use crate::pages::Pages;
use crate::prefix_sums::PrefixSums;

pub(super) use crate::range_parts::{DAY, HOUR};

pub(super) struct Project {
    pub(super) id: i64,
    /// Raw events before this time are deleted.
    pub(super) raw_from: i64,
    pub(super) pages: Pages,
    /// Reads since the last compaction, in order of arrival.
    pub(super) recent: Vec<Read>,
    /// The size of the decoded journal.
    pub(super) journal_bytes: usize,
    pub(super) prefix_sums: Option<PrefixSums>,
    /// Increases when compacted data on disk changes. A report that reads memory and disk retries if it
    /// changed.
    pub(super) disk_version: u64,
}

impl Project {
    /// Adds reads after their commit.
    pub(super) fn add(&mut self, reads: impl Iterator<Item = Read>) {
        for read in reads {
            if let Some(sums) = &mut self.prefix_sums {
                sums.add(read.at.div_euclid(DAY), read.page, read.class, 1);
            }
            self.recent.push(read);
        }
    }

    fn memory_bytes(&self) -> usize {
        let sums = self.prefix_sums.as_ref().map_or(0, PrefixSums::memory_bytes);
        sums + self.pages.memory_bytes() + self.recent.capacity() * size_of::<Read>()
    }
}

/// A project, shared by the keeper and the reports.
pub(super) struct SharedProject {
    project: RwLock<Project>,
    last_used: AtomicU64,
}

impl SharedProject {
    pub(super) fn new(project: Project) -> Arc<Self> {
        Arc::new(Self { project: RwLock::new(project), last_used: AtomicU64::new(0) })
    }

    // Ignoring poisoning is safe: no code panics while it holds a lock in the middle of a change.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Project> {
        self.project.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Project> {
        self.project.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedProject {
    /// An evicted project gets no more updates. Dropping the sums makes reports that hold it reload.
    fn invalidate(&self) {
        self.write().prefix_sums = None;
    }
}

/// The projects in memory.
#[derive(Default)]
pub(super) struct ProjectCache {
    projects: Mutex<HashMap<String, Arc<SharedProject>>>,
    uses: AtomicU64,
}

impl ProjectCache {
    pub(super) fn get(&self, name: &str) -> Option<Arc<SharedProject>> {
        let found = self.lock().get(name).cloned()?;
        found.last_used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(found)
    }

    pub(super) fn insert(&self, name: &str, project: Arc<SharedProject>) {
        project.last_used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.lock().insert(name.to_owned(), project);
    }

    pub(super) fn remove(&self, name: &str) {
        self.lock().remove(name).into_iter().for_each(|shared| shared.invalidate());
    }

    /// Evicts the least recently used projects until the others fit. `keep` stays. Returns the evicted names.
    pub(super) fn evict_to_fit(&self, max_bytes: usize, keep: &str) -> Vec<String> {
        let mut projects = self.lock();
        let mut sizes: Vec<_> = projects
            .iter()
            .map(|(name, shared)| {
                (shared.last_used.load(Ordering::Relaxed), shared.read().memory_bytes(), name.clone())
            })
            .collect();
        sizes.sort_unstable();
        let mut total: usize = sizes.iter().map(|(_, bytes, _)| bytes).sum();
        let mut evicted = Vec::new();
        for (_, bytes, name) in sizes.into_iter().filter(|(.., name)| name != keep) {
            if total <= max_bytes {
                break;
            }
            total -= bytes;
            projects.remove(&name).into_iter().for_each(|shared| shared.invalidate());
            evicted.push(name);
        }
        evicted
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<SharedProject>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
