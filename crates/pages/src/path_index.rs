//! Indexes the paths of a commit below the docs folder.
//!
//! A large repository has many paths, and they seldom change. Jobs that edit one commit after the other can share an
//! index.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::files::{Entry, FilesError, Kind, MAX_FILES, Tree};
use crate::path;
use crate::paths::Paths;

/// The paths of a commit below the docs folder, and the kind of each.
pub struct PathIndex {
    pub(crate) root: String,
    pub(crate) kinds: BTreeMap<String, Kind>,
    paths: OnceLock<Arc<Paths>>,
}

impl PathIndex {
    /// Indexes the paths under `docs_path`. `None` is the whole repository.
    pub fn new(tree: &dyn Tree, docs_path: Option<&str>) -> Result<Self, FilesError> {
        let root = docs_root(docs_path)?;
        let mut kinds = BTreeMap::new();
        for entry in tree.list()? {
            refuse_linked_root(&root, &entry)?;
            // A path that can't be written is left out: no editor can use it.
            if path::below(&entry.path, &root).is_none() || path::check(&entry.path).is_err() {
                continue;
            }
            if kinds.len() == MAX_FILES {
                return Err(FilesError::TooManyFiles);
            }
            kinds.insert(entry.path, entry.kind);
        }
        if kinds.is_empty() && !root.is_empty() {
            return Err(FilesError::refused(&root, "there is no such folder in the repository"));
        }
        Ok(Self { root, kinds, paths: OnceLock::new() })
    }

    /// The number of paths.
    pub fn size(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn paths(&self) -> Arc<Paths> {
        let files =
            || self.kinds.iter().filter(|(_, kind)| **kind == Kind::File).map(|(path, _)| path.clone());
        self.paths.get_or_init(|| Arc::new(Paths::new(files().collect()))).clone()
    }
}

fn docs_root(docs_path: Option<&str>) -> Result<String, FilesError> {
    let root = docs_path.unwrap_or_default().trim_start_matches("./").trim_matches('/');
    if root.is_empty() || root == "." {
        return Ok(String::new());
    }
    path::check(root).map_err(|why| FilesError::refused(root, why))?;
    Ok(root.to_owned())
}

fn refuse_linked_root(root: &str, entry: &Entry) -> Result<(), FilesError> {
    let contains_root = root == entry.path || path::below(root, &entry.path).is_some();
    if contains_root && !root.is_empty() {
        return Err(FilesError::refused(root, "it is not a folder of the repository itself"));
    }
    Ok(())
}
