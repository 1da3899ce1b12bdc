//! Implements the virtual tree: the files of a commit, with changes in memory on top.
//!
//! Nothing is checked out, so there is no link, hook or path of the host to escape through. Every path is validated here
//! before it is used.

use std::sync::Arc;

use crate::diff;
use crate::files::{Edits, Files, FilesError, Kind, MAX_TEXT_BYTES, Tree};
use crate::folded_names::FoldedNames;
use crate::path;
use crate::path_index::PathIndex;
use crate::paths::Paths;

/// The limit for all changes of an overlay. More than this is a runaway editor.
const MAX_CHANGED_BYTES: usize = 64 * 1024 * 1024;
/// A longer patch is cut.
const MAX_DIFF_BYTES: usize = 2 * 1024 * 1024;

/// The files of a commit with changes on top.
pub struct Overlay<T: Tree> {
    tree: T,
    index: Arc<PathIndex>,
    /// Only real differences. A file that is written back with its old content has no entry.
    changes: Edits,
    changed_bytes: usize,
    /// Created when a file is added. Most changes add none, and it copies every path.
    names: Option<FoldedNames>,
    /// Whether edits are refused. It then shows the commit without changes.
    is_frozen: bool,
}

impl<T: Tree> Overlay<T> {
    /// Only paths under `docs_path` can be read or written. `None` is the whole repository. See also [`PathIndex::allow`].
    pub fn new(tree: T, docs_path: Option<&str>) -> Result<Self, FilesError> {
        let index = Arc::new(PathIndex::new(&tree, docs_path)?);
        Ok(Self::with_index(tree, index))
    }

    /// The same with an existing index of the tree.
    pub fn with_index(tree: T, index: Arc<PathIndex>) -> Self {
        Self { tree, index, changes: Edits::default(), changed_bytes: 0, names: None, is_frozen: false }
    }

    /// The changes as one patch, in the order of their paths. A patch of more than 2 MiB is cut at a line end, and its last
    /// line says so.
    pub fn diff(&self) -> Result<String, FilesError> {
        let mut patch = String::new();
        for (path, new) in &self.changes.0 {
            let old = self.base_bytes(path, usize::MAX)?;
            patch.push_str(&diff::diff_bytes(path, old.as_deref(), new.as_deref()));
            if patch.len() > MAX_DIFF_BYTES {
                patch.truncate(patch.floor_char_boundary(MAX_DIFF_BYTES));
                patch.truncate(patch.rfind('\n').map_or(0, |end| end + 1));
                patch.push_str("The diff is longer than 2 MiB and ends here.\n");
                break;
            }
        }
        Ok(patch)
    }

    fn base_bytes(&self, path: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, FilesError> {
        match self.index.kinds.get(path) {
            Some(Kind::File) => self.tree.read(path, max_bytes).map(Some),
            _ => Ok(None),
        }
    }

    fn base_text(&self, path: &str) -> Result<String, FilesError> {
        match self.base_bytes(path, MAX_TEXT_BYTES) {
            Ok(Some(bytes)) => decode_text(path, bytes),
            Ok(None) => Err(FilesError::NotFound(path.to_owned())),
            Err(FilesError::TooLarge(path)) => {
                Err(FilesError::NotText { path, why: "it is larger than 2 MiB" })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether `path` exists now. Links and submodules count, because nothing else can be at their path.
    fn exists(&self, path: &str) -> bool {
        match self.changes.0.get(path) {
            Some(change) => change.is_some(),
            None => self.index.kinds.contains_key(path),
        }
    }

    fn has_files_below(&self, folder: &str) -> bool {
        let prefix = format!("{folder}/");
        let below = |path: &&String| path.starts_with(&prefix);
        let changed = self.changes.0.range(prefix.clone()..).take_while(|(path, _)| below(path));
        let base = self.index.kinds.range(prefix.clone()..).take_while(|(path, _)| below(path));
        changed.map(|(path, _)| path).chain(base.map(|(path, _)| path)).any(|path| self.exists(path))
    }

    /// The checks for every operation on a path.
    fn check_path(&self, path: &str) -> Result<(), FilesError> {
        path::check(path).map_err(|why| FilesError::refused(path, why))?;
        if path::below(path, &self.index.root).is_none() && !self.index.kinds.contains_key(path) {
            return Err(FilesError::refused(
                path,
                format!("it is outside the docs folder {:?}", self.index.root),
            ));
        }
        for part in path::ancestors(path).chain([path]) {
            match self.index.kinds.get(part) {
                Some(Kind::Symlink) => {
                    return Err(FilesError::refused(path, "it is a symbolic link, or is behind one"));
                }
                Some(Kind::Submodule) => {
                    return Err(FilesError::refused(path, "it is a submodule, or is in one"));
                }
                Some(Kind::File) | None => {}
            }
        }
        Ok(())
    }

    /// The further checks for a new file.
    fn check_new(&mut self, path: &str) -> Result<(), FilesError> {
        if let Some(file) = path::ancestors(path).find(|folder| self.exists(folder)) {
            return Err(FilesError::refused(path, format!("{file:?} is a file, not a folder")));
        }
        if self.has_files_below(path) {
            return Err(FilesError::refused(path, "it is a folder"));
        }
        match self.names().find_clash(path) {
            Some(other) => Err(FilesError::refused(path, format!("it differs from {other:?} only by case"))),
            None => Ok(()),
        }
    }

    fn names(&mut self) -> &mut FoldedNames {
        let (base, changes) = (&self.index.kinds, &self.changes.0);
        self.names.get_or_insert_with(|| {
            let unchanged = base.keys().filter(|path| !changes.contains_key(*path));
            let changed = changes.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
            let mut names = FoldedNames::default();
            unchanged.chain(changed).for_each(|path| names.add(path));
            names
        })
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, FilesError> {
        let missing = || FilesError::NotFound(path.to_owned());
        match self.changes.0.get(path) {
            Some(change) => change.clone().ok_or_else(missing),
            None => self.base_bytes(path, MAX_CHANGED_BYTES)?.ok_or_else(missing),
        }
    }

    fn check_not_frozen(&self, path: &str) -> Result<(), FilesError> {
        match self.is_frozen {
            true => Err(FilesError::refused(path, "a commit cannot be changed")),
            false => Ok(()),
        }
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), FilesError> {
        self.check_not_frozen(path)?;
        let exists = self.exists(path);
        if !exists {
            self.check_new(path)?;
        }
        let replaced = self.changes.0.get(path).and_then(Option::as_ref).map_or(0, Vec::len);
        let unchanged = self.is_same_as_base(path, &bytes)?;
        let total = self.changed_bytes - replaced + if unchanged { 0 } else { bytes.len() };
        if total > MAX_CHANGED_BYTES {
            return Err(FilesError::refused(path, "the changes are larger than 64 MiB in total"));
        }
        self.changed_bytes = total;
        if !exists {
            self.names().add(path);
        }
        if unchanged {
            self.changes.0.remove(path);
        } else {
            self.changes.0.insert(path.to_owned(), Some(bytes));
        }
        Ok(())
    }

    fn is_same_as_base(&self, path: &str, bytes: &[u8]) -> Result<bool, FilesError> {
        match self.base_bytes(path, bytes.len()) {
            Err(FilesError::TooLarge(_)) => Ok(false),
            base => Ok(base?.as_deref() == Some(bytes)),
        }
    }
}

impl<T: Tree> Files for Overlay<T> {
    fn root(&self) -> &str {
        &self.index.root
    }

    fn redirects_outside(&self) -> &[String] {
        &self.index.outside
    }

    fn paths(&self) -> Arc<Paths> {
        let keeps_path = |(path, change): (&String, &Option<Vec<u8>>)| {
            change.is_some() && self.index.kinds.get(path) == Some(&Kind::File)
        };
        let before = self.index.paths();
        if self.changes.0.iter().all(keeps_path) {
            return before;
        }
        let unchanged = before.files.iter().filter(|path| !self.changes.0.contains_key(*path));
        let changed = self.changes.0.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
        Arc::new(Paths::new(unchanged.chain(changed).cloned().collect()))
    }

    fn read(&self, path: &str) -> Result<String, FilesError> {
        self.check_path(path)?;
        match self.changes.0.get(path) {
            Some(_) => decode_text(path, self.bytes(path)?),
            None => self.base_text(path),
        }
    }

    fn write(&mut self, path: &str, text: String) -> Result<(), FilesError> {
        self.check_path(path)?;
        if text.len() > MAX_TEXT_BYTES {
            return Err(FilesError::refused(path, "its new text is larger than 2 MiB"));
        }
        self.put(path, text.into_bytes())
    }

    fn base(&self) -> &dyn Tree {
        &self.tree
    }

    fn prefetch(&self, paths: &[&str]) -> Result<(), FilesError> {
        let is_unchanged = |path: &&&str| !self.changes.0.contains_key(**path);
        self.tree.prefetch(&paths.iter().filter(is_unchanged).copied().collect::<Vec<_>>())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FilesError> {
        self.check_path(from)?;
        self.check_path(to)?;
        if self.exists(to) {
            return Err(FilesError::refused(to, "a file with this path already exists"));
        }
        let bytes = self.bytes(from).map_err(|error| match error {
            FilesError::TooLarge(_) => FilesError::refused(from, "it is too large to move"),
            other => other,
        })?;
        // Deleted first: the new path may differ only by case, or be below a folder with the old name.
        self.delete(from)?;
        self.put(to, bytes.clone()).or_else(|refusal| self.put(from, bytes).and(Err(refusal)))
    }

    fn delete(&mut self, path: &str) -> Result<(), FilesError> {
        self.check_path(path)?;
        self.check_not_frozen(path)?;
        if !self.exists(path) {
            return Err(FilesError::NotFound(path.to_owned()));
        }
        if let Some(names) = &mut self.names {
            names.remove(path);
        }
        let before = match self.index.kinds.contains_key(path) {
            true => self.changes.0.insert(path.to_owned(), None),
            false => self.changes.0.remove(path),
        };
        self.changed_bytes -= before.flatten().map_or(0, |bytes| bytes.len());
        Ok(())
    }

    fn before(&self) -> Box<dyn Files + '_> {
        let commit = Overlay::with_index(&self.tree as &dyn Tree, self.index.clone());
        Box::new(Overlay { is_frozen: true, ..commit })
    }

    fn changed(&self) -> Vec<String> {
        self.changes.0.keys().cloned().collect()
    }

    fn edits(&self) -> Edits {
        self.changes.clone()
    }
}

fn decode_text(path: &str, bytes: Vec<u8>) -> Result<String, FilesError> {
    let refuse = |why| FilesError::NotText { path: path.to_owned(), why };
    if bytes.contains(&0) {
        return Err(refuse("it is a binary file"));
    }
    String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))
}
