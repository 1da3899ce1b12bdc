//! What a commit holds below the docs folder, by name.
//!
//! The names of a large repository are many and seldom change: whoever edits one commit after the other can
//! hand the same ground to all of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use crate::files::{Entry, FilesError, Kind, MAX_FILES, Tree};
use crate::glance::Glance;
use crate::{path, places, route};

pub struct Ground {
    pub(crate) root: String,
    pub(crate) kinds: BTreeMap<String, Kind>,
    paths: OnceLock<Arc<Paths>>,
}

impl Ground {
    /// Only what is under `docs_path` is seen; `None` is the whole repository.
    pub fn new(tree: &dyn Tree, docs_path: Option<&str>) -> Result<Self, FilesError> {
        let root = docs_root(docs_path)?;
        let mut kinds = BTreeMap::new();
        for entry in tree.list()? {
            refuse_linked_root(&root, &entry)?;
            // A name that could not be written is not shown either: nobody could use it.
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

    /// How many names there are.
    pub fn size(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn paths(&self) -> Arc<Paths> {
        let files =
            || self.kinds.iter().filter(|(_, kind)| **kind == Kind::File).map(|(path, _)| path.clone());
        self.paths.get_or_init(|| Arc::new(Paths::new(files().collect()))).clone()
    }
}

/// The regular files as they are at some moment, and the folders that they make.
pub struct Paths {
    pub files: BTreeSet<String>,
    /// Every folder, by its own name and without numbers, and every page that is a program.
    pub(crate) folders: HashSet<String>,
    pub(crate) glance: Glance,
}

impl Paths {
    pub(crate) fn new(files: BTreeSet<String>) -> Self {
        let mut parents: Vec<&str> = files.iter().map(|file| path::parent(file)).collect();
        // Files of one folder mostly follow each other, so that few are left.
        parents.dedup();
        let above = parents.iter().flat_map(|folder| path::ancestors(folder).chain([*folder]));
        let named = above.chain(files.iter().filter_map(|file| places::component(file)));
        let named = named.filter(|folder| !folder.is_empty());
        let folders = named.flat_map(|folder| [folder.to_owned(), route::without_numbers(folder)]).collect();
        Self { files, folders, glance: Glance::default() }
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
    let holds_root = root == entry.path || path::below(root, &entry.path).is_some();
    if holds_root && !root.is_empty() {
        return Err(FilesError::refused(root, "it is not a folder of the repository itself"));
    }
    Ok(())
}
