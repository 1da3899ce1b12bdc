//! The virtual tree: a commit's files below, an overlay of changes in memory above.
//!
//! Nothing is checked out, so there is no link, hook or path of the host to escape by. Every path
//! that comes in is judged here before anything else is done with it.

use std::sync::Arc;

use crate::diff;
use crate::files::{Edits, Files, FilesError, Kind, MAX_TEXT_BYTES, Tree};
use crate::ground::{Ground, Paths};
use crate::names::Names;
use crate::path;

/// All changes of one overlay together; more is no edit of docs but a runaway.
const MAX_CHANGED_BYTES: usize = 64 * 1024 * 1024;
/// As much of a patch as anybody reads.
const MAX_DIFF_BYTES: usize = 2 * 1024 * 1024;

/// A commit's files with changes above them.
pub struct Overlay<T: Tree> {
    tree: T,
    ground: Arc<Ground>,
    /// True differences only: a file written back as it was is taken out again.
    changes: Edits,
    changed_bytes: usize,
    /// Made when a file is added: most changes add none, and it is every path once more.
    names: Option<Names>,
    /// Whether edits are refused: then it shows the commit without any.
    is_frozen: bool,
}

impl<T: Tree> Overlay<T> {
    /// Only paths under `docs_path` are seen or can be written; `None` is the whole repository.
    pub fn new(tree: T, docs_path: Option<&str>) -> Result<Self, FilesError> {
        let ground = Arc::new(Ground::new(&tree, docs_path)?);
        Ok(Self::over(tree, ground))
    }

    /// The same, where the names in the tree are known to be these.
    pub fn over(tree: T, ground: Arc<Ground>) -> Self {
        Self { tree, ground, changes: Edits::default(), changed_bytes: 0, names: None, is_frozen: false }
    }

    /// The changes as one patch, in the order of their paths. A longer one than 2 MiB
    /// is cut at a line, and its last line says so.
    pub fn diff(&self) -> Result<String, FilesError> {
        let mut patch = String::new();
        for (path, new) in &self.changes.0 {
            let old = self.base_bytes(path, usize::MAX)?;
            patch.push_str(&diff::of_bytes(path, old.as_deref(), new.as_deref()));
            if patch.len() > MAX_DIFF_BYTES {
                patch.truncate(patch.floor_char_boundary(MAX_DIFF_BYTES));
                patch.truncate(patch.rfind('\n').map_or(0, |end| end + 1));
                patch.push_str("The diff is longer than 2 MiB and ends here.\n");
                break;
            }
        }
        Ok(patch)
    }

    fn base_bytes(&self, path: &str, at_most: usize) -> Result<Option<Vec<u8>>, FilesError> {
        match self.ground.kinds.get(path) {
            Some(Kind::File) => self.tree.read(path, at_most).map(Some),
            _ => Ok(None),
        }
    }

    fn base_text(&self, path: &str) -> Result<String, FilesError> {
        match self.base_bytes(path, MAX_TEXT_BYTES) {
            Ok(Some(bytes)) => text_of(path, bytes),
            Ok(None) => Err(FilesError::NotFound(path.to_owned())),
            Err(FilesError::TooLarge(path)) => {
                Err(FilesError::NotText { path, why: "it is larger than 2 MiB" })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a file stands at `path` now; links and submodules count, since nothing else can.
    fn exists(&self, path: &str) -> bool {
        match self.changes.0.get(path) {
            Some(change) => change.is_some(),
            None => self.ground.kinds.contains_key(path),
        }
    }

    fn has_files_below(&self, folder: &str) -> bool {
        let prefix = format!("{folder}/");
        let below = |path: &&String| path.starts_with(&prefix);
        let changed = self.changes.0.range(prefix.clone()..).take_while(|(path, _)| below(path));
        let base = self.ground.kinds.range(prefix.clone()..).take_while(|(path, _)| below(path));
        changed.map(|(path, _)| path).chain(base.map(|(path, _)| path)).any(|path| self.exists(path))
    }

    /// The checks that every path passes, whatever is done with it.
    fn check(&self, path: &str) -> Result<(), FilesError> {
        path::check(path).map_err(|why| FilesError::refused(path, why))?;
        if path::below(path, &self.ground.root).is_none() {
            return Err(FilesError::refused(
                path,
                format!("it is outside of the docs folder {:?}", self.ground.root),
            ));
        }
        for place in path::ancestors(path).chain([path]) {
            match self.ground.kinds.get(place) {
                Some(Kind::Symlink) => {
                    return Err(FilesError::refused(path, "it is or goes through a symbolic link"));
                }
                Some(Kind::Submodule) => {
                    return Err(FilesError::refused(path, "it is or lies in a submodule"));
                }
                Some(Kind::File) | None => {}
            }
        }
        Ok(())
    }

    fn check_new(&mut self, path: &str) -> Result<(), FilesError> {
        if let Some(file) = path::ancestors(path).find(|folder| self.exists(folder)) {
            return Err(FilesError::refused(path, format!("{file:?} is a file, not a folder")));
        }
        if self.has_files_below(path) {
            return Err(FilesError::refused(path, "it is a folder"));
        }
        match self.names().clash(path) {
            Some(other) => Err(FilesError::refused(path, format!("it differs from {other:?} by case alone"))),
            None => Ok(()),
        }
    }

    fn names(&mut self) -> &mut Names {
        let (base, changes) = (&self.ground.kinds, &self.changes.0);
        self.names.get_or_insert_with(|| {
            let kept = base.keys().filter(|path| !changes.contains_key(*path));
            let changed = changes.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
            let mut names = Names::default();
            kept.chain(changed).for_each(|path| names.add(path));
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

    fn check_unfrozen(&self, path: &str) -> Result<(), FilesError> {
        match self.is_frozen {
            true => Err(FilesError::refused(path, "a commit cannot be changed")),
            false => Ok(()),
        }
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), FilesError> {
        self.check_unfrozen(path)?;
        let exists = self.exists(path);
        if !exists {
            self.check_new(path)?;
        }
        let replaced = self.changes.0.get(path).and_then(Option::as_ref).map_or(0, Vec::len);
        let unchanged = self.same_as_base(path, &bytes)?;
        let total = self.changed_bytes - replaced + if unchanged { 0 } else { bytes.len() };
        if total > MAX_CHANGED_BYTES {
            return Err(FilesError::refused(path, "the changes are larger than 64 MiB in all"));
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

    fn same_as_base(&self, path: &str, bytes: &[u8]) -> Result<bool, FilesError> {
        match self.base_bytes(path, bytes.len()) {
            Err(FilesError::TooLarge(_)) => Ok(false),
            base => Ok(base?.as_deref() == Some(bytes)),
        }
    }
}

impl<T: Tree> Files for Overlay<T> {
    fn root(&self) -> &str {
        &self.ground.root
    }

    fn paths(&self) -> Arc<Paths> {
        let is_as_it_was = |(path, change): (&String, &Option<Vec<u8>>)| {
            change.is_some() && self.ground.kinds.get(path) == Some(&Kind::File)
        };
        let before = self.ground.paths();
        if self.changes.0.iter().all(is_as_it_was) {
            return before;
        }
        let kept = before.files.iter().filter(|path| !self.changes.0.contains_key(*path));
        let changed = self.changes.0.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
        Arc::new(Paths::new(kept.chain(changed).cloned().collect()))
    }

    fn read(&self, path: &str) -> Result<String, FilesError> {
        self.check(path)?;
        match self.changes.0.get(path) {
            Some(_) => text_of(path, self.bytes(path)?),
            None => self.base_text(path),
        }
    }

    fn write(&mut self, path: &str, text: String) -> Result<(), FilesError> {
        self.check(path)?;
        if text.len() > MAX_TEXT_BYTES {
            return Err(FilesError::refused(path, "its new text is larger than 2 MiB"));
        }
        self.put(path, text.into_bytes())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), FilesError> {
        self.check(from)?;
        self.check(to)?;
        if self.exists(to) {
            return Err(FilesError::refused(to, "there is a file already"));
        }
        let bytes = self.bytes(from).map_err(|error| match error {
            FilesError::TooLarge(_) => FilesError::refused(from, "it is too large to be moved"),
            other => other,
        })?;
        // Taken away first: a move may change nothing but case, or turn a file into a folder of that name.
        self.delete(from)?;
        self.put(to, bytes.clone()).or_else(|refusal| self.put(from, bytes).and(Err(refusal)))
    }

    fn delete(&mut self, path: &str) -> Result<(), FilesError> {
        self.check(path)?;
        self.check_unfrozen(path)?;
        if !self.exists(path) {
            return Err(FilesError::NotFound(path.to_owned()));
        }
        if let Some(names) = &mut self.names {
            names.remove(path);
        }
        let before = match self.ground.kinds.contains_key(path) {
            true => self.changes.0.insert(path.to_owned(), None),
            false => self.changes.0.remove(path),
        };
        self.changed_bytes -= before.flatten().map_or(0, |bytes| bytes.len());
        Ok(())
    }

    fn before(&self) -> Box<dyn Files + '_> {
        let commit = Overlay::over(&self.tree as &dyn Tree, self.ground.clone());
        Box::new(Overlay { is_frozen: true, ..commit })
    }

    fn changed(&self) -> Vec<String> {
        self.changes.0.keys().cloned().collect()
    }

    fn edits(&self) -> Edits {
        self.changes.clone()
    }
}

fn text_of(path: &str, bytes: Vec<u8>) -> Result<String, FilesError> {
    let refuse = |why| FilesError::NotText { path: path.to_owned(), why };
    if bytes.contains(&0) {
        return Err(refuse("it is a binary file"));
    }
    String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))
}
