//! A commit of `forge` as a tree of `pages`: where the two meet.

use std::sync::Arc;

use forge::{Kind, Snapshot, TreeId};
use pages::{Entry, FilesError, Tree};

#[derive(Clone)]
pub(super) struct Committed(Arc<Snapshot>);

impl Committed {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self(Arc::new(snapshot))
    }

    pub(super) fn id(&self) -> TreeId {
        self.0.tree()
    }

    pub(super) fn has_names_of(&self, tree: TreeId) -> bool {
        self.0.has_names_of(tree)
    }
}

impl Tree for Committed {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let entries = self.0.entries().map_err(unreadable)?;
        let entry = |entry: forge::Entry| Entry {
            path: entry.path,
            kind: match entry.kind {
                Kind::File | Kind::Executable => pages::Kind::File,
                Kind::Symlink => pages::Kind::Symlink,
                Kind::Submodule => pages::Kind::Submodule,
            },
        };
        Ok(entries.into_iter().map(entry).collect())
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        match self.0.read(path, at_most) {
            Ok(bytes) => bytes.ok_or_else(|| FilesError::NotFound(path.to_owned())),
            Err(forge::Error::TooLarge(_)) => Err(FilesError::TooLarge(path.to_owned())),
            Err(error) => Err(unreadable(error)),
        }
    }
}

fn unreadable(error: forge::Error) -> FilesError {
    FilesError::Tree(Box::new(error))
}
