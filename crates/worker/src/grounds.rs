//! The names in the repositories that jobs worked on last. A job mostly finds them as the one before it did, and does
//! not go through tens of thousands of them again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use forge::TreeId;
use pages::{FilesError, Ground};
use store::ProjectId;

use super::tree::Committed;

/// Names of all projects together that are kept, some hundred bytes each.
const MAX_NAMES: usize = 200_000;

#[derive(Default)]
pub(crate) struct Grounds(Mutex<VecDeque<Kept>>);

#[derive(Clone)]
struct Kept {
    project: ProjectId,
    docs_path: Option<String>,
    tree: TreeId,
    ground: Arc<Ground>,
}

impl Grounds {
    pub(super) fn of(
        &self,
        project: &ProjectId,
        docs_path: Option<&str>,
        tree: &Committed,
    ) -> Result<Arc<Ground>, FilesError> {
        let known = self.find(project, docs_path).filter(|kept| tree.has_names_of(kept.tree));
        let ground = match known {
            Some(kept) => kept.ground,
            None => Arc::new(Ground::new(tree, docs_path)?),
        };
        let (project, docs_path) = (project.clone(), docs_path.map(str::to_owned));
        self.keep(Kept { project, docs_path, tree: tree.id(), ground: ground.clone() });
        Ok(ground)
    }

    fn find(&self, project: &ProjectId, docs_path: Option<&str>) -> Option<Kept> {
        let is_it = |kept: &&Kept| kept.project == *project && kept.docs_path.as_deref() == docs_path;
        self.locked().iter().find(is_it).cloned()
    }

    /// The newest are first, and one of each project is enough.
    fn keep(&self, new: Kept) {
        let mut all = self.locked();
        all.retain(|kept| kept.project != new.project);
        all.push_front(new);
        let mut names = 0;
        all.retain(|kept| {
            names += kept.ground.size();
            names <= MAX_NAMES
        });
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
