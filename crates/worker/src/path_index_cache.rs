//! Caches the path index of each project's last tree.
//!
//! Most commits contain the same paths as the previous one, so a job doesn't have to index tens of thousands
//! of paths again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use forge::TreeId;
use pages::{FilesError, PathIndex};
use store::ProjectId;

use super::tree::CommitTree;

/// The number of paths in the cache, of all projects together. Each takes some hundred bytes.
const MAX_PATHS: usize = 200_000;

#[derive(Default)]
pub(crate) struct PathIndexCache(Mutex<VecDeque<CachedIndex>>);

#[derive(Clone)]
struct CachedIndex {
    project: ProjectId,
    docs_path: Option<String>,
    tree: TreeId,
    index: Arc<PathIndex>,
}

impl PathIndexCache {
    /// The index of the tree. Builds it if the cached one has other paths.
    pub(super) fn get_or_build(
        &self,
        project: &ProjectId,
        docs_path: Option<&str>,
        tree: &CommitTree,
    ) -> Result<Arc<PathIndex>, FilesError> {
        let cached = self.find(project, docs_path).filter(|cached| tree.has_same_paths_as(cached.tree));
        let index = match cached {
            Some(cached) => cached.index,
            None => Arc::new(PathIndex::new(tree, docs_path)?),
        };
        let (project, docs_path) = (project.clone(), docs_path.map(str::to_owned));
        self.insert(CachedIndex { project, docs_path, tree: tree.id(), index: index.clone() });
        Ok(index)
    }

    fn find(&self, project: &ProjectId, docs_path: Option<&str>) -> Option<CachedIndex> {
        let matches =
            |cached: &&CachedIndex| cached.project == *project && cached.docs_path.as_deref() == docs_path;
        self.lock().iter().find(matches).cloned()
    }

    /// Keeps one index per project, the newest first.
    fn insert(&self, new: CachedIndex) {
        let mut all = self.lock();
        all.retain(|cached| cached.project != new.project);
        all.push_front(new);
        let mut paths = 0;
        all.retain(|cached| {
            paths += cached.index.size();
            paths <= MAX_PATHS
        });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedIndex>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
