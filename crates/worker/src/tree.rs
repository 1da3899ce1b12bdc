//! Presents a snapshot of `forge` as a tree of `pages`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forge::{FetchObserver, Kind, Snapshot, TreeId};
use machine::Trouble;
use pages::{Entry, FilesError, Tree};

use super::outcome::Stop;

#[derive(Clone)]
pub(super) struct CommitTree {
    snapshot: Arc<Snapshot>,
    /// The first read that failed for a reason that passes. A reader may take an unreadable file for a missing
    /// one.
    failure: Arc<OnceLock<Failure>>,
}

/// Why a file could not be read, although the commit has it.
#[derive(Clone)]
enum Failure {
    Machine(Trouble),
    /// The host or the cache: the run is repeated later.
    Later {
        sentence: String,
        retry_after: Option<Duration>,
    },
    /// The host refuses the token, for example.
    Final(String),
}

impl CommitTree {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot: Arc::new(snapshot), failure: Arc::default() }
    }

    pub(super) fn id(&self) -> TreeId {
        self.snapshot.tree()
    }

    pub(super) fn has_same_paths_as(&self, tree: TreeId) -> bool {
        self.snapshot.has_same_paths_as(tree)
    }

    /// Reports what reads of this tree fetch to `observer`.
    pub(super) fn observe_fetches(&self, observer: impl FetchObserver + 'static) {
        self.snapshot.observe_fetches(Arc::new(observer));
    }

    /// Fails when a read of this tree, or of a clone of it, failed although the file exists.
    pub(super) fn check(&self) -> Result<(), Stop> {
        Err(match self.failure.get().cloned() {
            None => return Ok(()),
            Some(Failure::Machine(trouble)) => Stop::Machine(trouble),
            Some(Failure::Later { sentence, retry_after }) => Stop::Postpone { sentence, retry_after },
            Some(Failure::Final(sentence)) => Stop::Failed(sentence),
        })
    }

    fn unreadable(&self, error: forge::Error) -> FilesError {
        if let Some(failure) = failure(&error) {
            let _ = self.failure.set(failure);
        }
        FilesError::Tree(Box::new(error))
    }
}

fn failure(error: &forge::Error) -> Option<Failure> {
    if let Some(trouble) = Trouble::find(error) {
        return Some(Failure::Machine(trouble));
    }
    match error {
        forge::Error::Temporary { sentence, retry_after } => {
            Some(Failure::Later { sentence: sentence.clone(), retry_after: *retry_after })
        }
        forge::Error::Damaged(_) => Some(Failure::Later { sentence: error.to_string(), retry_after: None }),
        forge::Error::Denied(_) | forge::Error::TokenRefused(_) => Some(Failure::Final(error.to_string())),
        _ => None,
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

    fn prefetch(&self, paths: &[&str]) -> Result<(), FilesError> {
        self.snapshot.fetch_files(paths.iter().copied()).map_err(|error| self.unreadable(error))
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        match self.snapshot.read(path, at_most) {
            Ok(bytes) => bytes.ok_or_else(|| FilesError::NotFound(path.to_owned())),
            Err(forge::Error::TooLarge(_)) => Err(FilesError::TooLarge(path.to_owned())),
            Err(error) => Err(self.unreadable(error)),
        }
    }
}
