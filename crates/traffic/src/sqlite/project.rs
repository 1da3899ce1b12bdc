//! What is in memory of a project while it is asked about or sends views: its pages, the reads
//! that are not sorted yet, and, once somebody has asked, the sums of its days.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::block::Read;
use crate::index::Index;
use crate::pages::Pages;

pub(super) const HOUR: i64 = 60 * 60 * 1000;
pub(super) const DAY: i64 = 24 * HOUR;

pub(super) struct Project {
    pub(super) id: i64,
    /// From here on raw events are kept.
    pub(super) raw_from: i64,
    pub(super) pages: Pages,
    /// Reads since the last fold, as they came.
    pub(super) recent: Vec<Read>,
    /// What the journal holds, in bytes, when it is read.
    pub(super) waiting: usize,
    pub(super) index: Option<Index>,
    /// How often what is on disk was sorted anew: who looks at both looks whether it changed.
    pub(super) folds: u64,
}

impl Project {
    /// Takes up reads that are on disk now.
    pub(super) fn add(&mut self, reads: impl Iterator<Item = Read>) {
        for read in reads {
            if let Some(index) = &mut self.index {
                index.add(read.at.div_euclid(DAY), read.page, read.class, 1);
            }
            self.recent.push(read);
        }
    }

    fn bytes(&self) -> usize {
        let index = self.index.as_ref().map_or(0, Index::bytes);
        index + self.pages.bytes() + self.recent.capacity() * size_of::<Read>()
    }
}

/// A project, shared by the one who writes and those who ask.
pub(super) struct Shared {
    project: RwLock<Project>,
    used: AtomicU64,
}

impl Shared {
    pub(super) fn new(project: Project) -> Arc<Self> {
        Arc::new(Self { project: RwLock::new(project), used: AtomicU64::new(0) })
    }

    // No code panics while it holds one of these locks half-way through a change.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Project> {
        self.project.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Project> {
        self.project.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Nobody tells it of new views from now on, so that whoever still holds it must ask again.
    fn let_go(&self) {
        self.write().index = None;
    }
}

/// The projects that are in memory.
#[derive(Default)]
pub(super) struct InMemory {
    projects: Mutex<HashMap<String, Arc<Shared>>>,
    uses: AtomicU64,
}

impl InMemory {
    pub(super) fn get(&self, name: &str) -> Option<Arc<Shared>> {
        let found = self.lock().get(name).cloned()?;
        found.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(found)
    }

    pub(super) fn insert(&self, name: &str, project: Arc<Shared>) {
        project.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.lock().insert(name.to_owned(), project);
    }

    pub(super) fn remove(&self, name: &str) {
        self.lock().remove(name).into_iter().for_each(|shared| shared.let_go());
    }

    /// Lets go of those that were not asked for longest, until the others fit; `but` stays.
    pub(super) fn fit(&self, most: usize, but: &str) -> Vec<String> {
        let mut projects = self.lock();
        let mut sizes: Vec<_> = projects
            .iter()
            .map(|(name, shared)| (shared.used.load(Ordering::Relaxed), shared.read().bytes(), name.clone()))
            .collect();
        sizes.sort_unstable();
        let mut all: usize = sizes.iter().map(|(_, bytes, _)| bytes).sum();
        let mut gone = Vec::new();
        for (_, bytes, name) in sizes.into_iter().filter(|(.., name)| name != but) {
            if all <= most {
                break;
            }
            all -= bytes;
            projects.remove(&name).into_iter().for_each(|shared| shared.let_go());
            gone.push(name);
        }
        gone
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Shared>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
