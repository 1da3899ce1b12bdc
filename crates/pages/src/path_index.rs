//! Indexes the paths of a commit below the docs folder.
//!
//! A large repository has many paths, and they seldom change. Jobs that edit one commit after the other can share an
//! index.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::files::{Entry, FilesError, Kind, MAX_FILES, Tree};
use crate::kind::FileKind;
use crate::path;
use crate::paths::Paths;

/// Folders beside the docs whose files generators copy to the root of the site.
const COPIED_FOLDERS: [&str; 2] = ["public", "static"];

/// The paths of a commit below the docs folder, and the kind of each.
pub struct PathIndex {
    pub(crate) root: String,
    /// With the files outside the docs folder that are allowed.
    pub(crate) kinds: BTreeMap<String, Kind>,
    /// Files outside the docs folder that can have the redirects of the site, and that aren't allowed.
    pub(crate) outside: Vec<String>,
    paths: OnceLock<Arc<Paths>>,
}

impl PathIndex {
    /// Indexes the paths under `docs_path`. `None` is the whole repository.
    pub fn new(tree: &dyn Tree, docs_path: Option<&str>) -> Result<Self, FilesError> {
        let root = docs_root(docs_path)?;
        let (mut kinds, mut outside) = (BTreeMap::new(), Vec::new());
        for entry in tree.list()? {
            refuse_linked_root(&root, &entry)?;
            // A path that can't be written is left out: no editor can use it.
            if path::check(&entry.path).is_err() {
                continue;
            }
            if path::below(&entry.path, &root).is_none() {
                outside.extend(has_redirects_of(&entry, &root).then_some(entry.path));
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
        Ok(Self { root, kinds, outside, paths: OnceLock::new() })
    }

    /// The same index with the files of redirects outside the docs folder that `is_allowed` permits.
    pub fn allow(self: Arc<Self>, is_allowed: impl Fn(&str) -> bool) -> Arc<Self> {
        let (allowed, outside): (Vec<String>, Vec<String>) =
            self.outside.iter().cloned().partition(|path| is_allowed(path));
        if allowed.is_empty() {
            return self;
        }
        let mut kinds = self.kinds.clone();
        kinds.extend(allowed.into_iter().map(|path| (path, Kind::File)));
        Arc::new(Self { root: self.root.clone(), kinds, outside, paths: OnceLock::new() })
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

/// Whether a file outside the docs folder can have the redirects of the site: it's in a folder that contains the docs
/// folder, or in one whose files are copied to the site.
fn has_redirects_of(entry: &Entry, root: &str) -> bool {
    let contains_root = |folder: &str| folder.is_empty() || path::below(root, folder).is_some();
    let folder = path::parent(&entry.path);
    let is_near = contains_root(folder)
        || COPIED_FOLDERS.contains(&path::name(folder)) && contains_root(path::parent(folder));
    let kind = FileKind::of(&entry.path);
    entry.kind == Kind::File
        && is_near
        && matches!(
            kind,
            FileKind::Mintlify
                | FileKind::MkDocs
                | FileKind::Vercel
                | FileKind::Netlify
                | FileKind::RedirectsFile
        )
}

fn refuse_linked_root(root: &str, entry: &Entry) -> Result<(), FilesError> {
    let contains_root = root == entry.path || path::below(root, &entry.path).is_some();
    if contains_root && !root.is_empty() {
        return Err(FilesError::refused(root, "it is not a folder of the repository itself"));
    }
    Ok(())
}
