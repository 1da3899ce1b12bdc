//! Presents a snapshot of `forge` as a tree of `pages`.

use std::sync::{Arc, OnceLock};

use forge::{Kind, Snapshot, TreeId};
use machine::Trouble;
use pages::{Entry, FilesError, Tree};

use super::outcome::Stop;

#[derive(Clone)]
pub(super) struct CommitTree {
    snapshot: Arc<Snapshot>,
    /// The first trouble of the machine that a read met. A reader may take an unreadable file for a missing
    /// one.
    trouble: Arc<OnceLock<Trouble>>,
}

impl CommitTree {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot: Arc::new(snapshot), trouble: Arc::default() }
    }

    pub(super) fn id(&self) -> TreeId {
        self.snapshot.tree()
    }

    pub(super) fn has_same_paths_as(&self, tree: TreeId) -> bool {
        self.snapshot.has_same_paths_as(tree)
    }

    /// Fails when a read of this tree, or of a clone of it, met trouble of the machine.
    pub(super) fn check(&self) -> Result<(), Stop> {
        self.trouble.get().map_or(Ok(()), |trouble| Err(Stop::Machine(trouble.clone())))
    }

    fn unreadable(&self, error: forge::Error) -> FilesError {
        if let Some(trouble) = Trouble::find(&error) {
            let _ = self.trouble.set(trouble);
        }
        FilesError::Tree(Box::new(error))
    }
}

impl Tree for CommitTree {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let entries = self.snapshot.entries().map_err(|error| self.unreadable(error))?;
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
        match self.snapshot.read(path, at_most) {
            Ok(bytes) => bytes.ok_or_else(|| FilesError::NotFound(path.to_owned())),
            Err(forge::Error::TooLarge(_)) => Err(FilesError::TooLarge(path.to_owned())),
            Err(error) => Err(self.unreadable(error)),
        }
    }
}
