//! Reads the files of a commit from the object database. Nothing is checked out to disk.

use std::fmt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryMode};
use machine::Trouble;

use crate::tree_cache::TreeCache;
use crate::{Error, Oid, Result};

const MAX_ENTRIES: usize = 200_000;
const MAX_DEPTH: usize = 200;
const MAX_FILE_BYTES: usize = 16 << 20;
/// The most memory that gix allocates for one object. Legitimate trees and commits are far smaller.
const ALLOC_LIMIT: &str = "gitoxide.objects.allocLimit=67108864";
/// The marker file of a cache with an unreadable object.
const DAMAGE_MARKER: &str = "docwright-suspect";

/// The files of a commit. Threads can share it.
pub struct Snapshot {
    repository: gix::ThreadSafeRepository,
    dir: PathBuf,
    tree: ObjectId,
    trees: TreeCache,
}

/// Identifies the files of a commit: equal ids mean equal files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeId(ObjectId);

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Executable,
    /// Listed, but never followed or read.
    Symlink,
    /// Listed, but never fetched.
    Submodule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    pub kind: Kind,
}

impl Snapshot {
    pub(crate) fn open(dir: &Path, commit: &Oid) -> Result<Self> {
        let repository = open_repository(dir)?;
        let tree = tree_of(&repository.to_thread_local(), commit)?;
        Ok(Self { repository, dir: dir.to_owned(), tree, trees: TreeCache::default() })
    }

    /// Everything in the commit except folders, in git's order. Names that are not UTF-8 are skipped with
    /// everything below them. A tree that is too large is an error.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let repository = self.repository.to_thread_local();
        let mut walk = TreeWalk { repository: &repository, entries: Vec::new(), visited: 0 };
        self.mark_damage(walk.visit_tree(self.tree, "", 0))?;
        Ok(walk.entries)
    }

    /// Identifies the files, for comparison with another commit.
    pub fn tree(&self) -> TreeId {
        TreeId(self.tree)
    }

    /// Whether another tree has the same paths with the same kinds; contents may differ. `false` also when a
    /// tree cannot be read. Reads only folders that differ.
    pub fn has_same_paths_as(&self, tree: TreeId) -> bool {
        have_same_paths(&self.repository.to_thread_local(), self.tree, tree.0, &mut 0).unwrap_or(false)
    }

    /// The content of a file. `None` when `path` does not exist or is a folder, a link or a submodule. A file
    /// of more than `max_bytes` or 16 MiB is not loaded and fails with [`Error::TooLarge`].
    pub fn read(&self, path: &str, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let repository = self.repository.to_thread_local();
        match self.mark_damage(self.trees.find(&repository, self.tree, path))? {
            Some((EntryKind::Blob | EntryKind::BlobExecutable, id)) => {
                self.mark_damage(read_blob(&repository, id, path, max_bytes)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn mark_damage<T>(&self, read: Result<T>) -> Result<T> {
        mark_damage(&self.dir, read)
    }
}

/// Marks the cache as damaged if `read` failed because of that. The next fetch recreates it.
pub(crate) fn mark_damage<T>(dir: &Path, read: Result<T>) -> Result<T> {
    let read = read.map_err(|error| prefer_machine_trouble(dir, error));
    if let Err(Error::Damaged(cause)) = &read {
        tracing::warn!("the repository cache at {} is damaged: {cause}", dir.display());
        if let Err(cause) = std::fs::write(dir.join(DAMAGE_MARKER), "") {
            tracing::warn!("could not mark the damage: {cause}");
        }
    }
    read
}

/// Whether the repository at `dir` has `commit` and its root tree.
pub(crate) fn has_commit(dir: &Path, commit: &Oid) -> Result<bool> {
    match Snapshot::open(dir, commit).map_err(|error| prefer_machine_trouble(dir, error)) {
        Err(Error::Machine(trouble)) => Err(Error::Machine(trouble)),
        opened => Ok(opened.is_ok()),
    }
}

/// Replaces apparent damage with the machine trouble that explains it: gix treats a packfile that it cannot
/// open as missing.
pub(crate) fn prefer_machine_trouble(dir: &Path, error: Error) -> Error {
    match error {
        Error::Damaged(_) | Error::Git(_) => read_trouble(dir).map_or(error, Error::Machine),
        other => other,
    }
}

/// The machine trouble that prevents reading the repository at `dir`.
pub fn read_trouble(dir: &Path) -> Option<Trouble> {
    let trees = [dir.to_owned(), dir.join("objects/pack"), dir.join("objects/info"), dir.join("refs/heads")];
    trees.iter().find_map(|folder| machine::read_trouble(folder))
}

pub(crate) fn is_marked_damaged(dir: &Path) -> bool {
    dir.join(DAMAGE_MARKER).exists()
}

/// Opens a repository with only its own configuration, and runs no program.
pub(crate) fn open_repository(dir: &Path) -> Result<gix::ThreadSafeRepository> {
    gix::open::Options::isolated()
        .open_path_as_is(true)
        .config_overrides([ALLOC_LIMIT, "core.useReplaceRefs=false"])
        .open(dir)
        .map_err(damaged)
}

pub(crate) fn object_id(oid: &Oid) -> Result<ObjectId> {
    ObjectId::from_hex(oid.as_str().as_bytes()).map_err(damaged)
}

pub(crate) fn damaged(cause: impl std::error::Error + 'static) -> Error {
    trouble_in(&cause)
        .map_or_else(|| Error::Damaged(crate::name::printable(&cause.to_string())), Error::Machine)
}

/// A gix error is a tree of causes, and `source()` follows only one branch.
pub(crate) fn trouble_in(cause: &(dyn std::error::Error + 'static)) -> Option<Trouble> {
    match cause.downcast_ref::<gix::Error>() {
        Some(tree) => tree.iter_errors().find_map(Trouble::find),
        None => Trouble::find(cause),
    }
}

/// The root tree of a commit. Reads it once to check that it exists.
pub(crate) fn tree_of(repository: &gix::Repository, commit: &Oid) -> Result<ObjectId> {
    let found = repository.find_commit(object_id(commit)?).map_err(damaged)?;
    let tree = found.tree_id().map_err(damaged)?.detach();
    repository.find_tree(tree).map_err(damaged)?;
    Ok(tree)
}

fn have_same_paths(
    repository: &gix::Repository,
    a: ObjectId,
    b: ObjectId,
    visited: &mut usize,
) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    let hash = repository.object_hash();
    let (a, b) = (repository.find_tree(a).map_err(damaged)?, repository.find_tree(b).map_err(damaged)?);
    let (mut a, mut b) = (TreeRefIter::from_bytes(&a.data, hash), TreeRefIter::from_bytes(&b.data, hash));
    loop {
        let (a, b) = match (a.next().transpose().map_err(damaged)?, b.next().transpose().map_err(damaged)?) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return Ok(a.is_none() && b.is_none()),
        };
        *visited += 1;
        // A small tree that repeats itself can expand to a huge number of paths.
        let same = a.filename == b.filename && a.mode == b.mode && *visited <= MAX_ENTRIES;
        let is_folder = a.mode.kind() == EntryKind::Tree;
        if !same || is_folder && !have_same_paths(repository, a.oid.to_owned(), b.oid.to_owned(), visited)? {
            return Ok(false);
        }
    }
}

fn read_blob(repository: &gix::Repository, id: ObjectId, path: &str, max_bytes: usize) -> Result<Vec<u8>> {
    let limit = MAX_FILE_BYTES.min(max_bytes);
    // Check the size first, so that a huge file is not loaded.
    if repository.find_header(id).map_err(damaged)?.size() > limit as u64 {
        let path = crate::name::printable(path);
        return Err(Error::TooLarge(format!("`{path}` is larger than the limit of {limit} bytes")));
    }
    Ok(repository.find_blob(id).map_err(damaged)?.take_data())
}

struct TreeWalk<'a> {
    repository: &'a gix::Repository,
    entries: Vec<Entry>,
    /// Includes folders: a tree that repeats itself may contain no file at all.
    visited: usize,
}

impl TreeWalk<'_> {
    fn visit_tree(&mut self, id: ObjectId, prefix: &str, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return too_large(format!("folders are nested more than {MAX_DEPTH} deep"));
        }
        let tree = self.repository.find_tree(id).map_err(damaged)?;
        for entry in TreeRefIter::from_bytes(&tree.data, self.repository.object_hash()) {
            let entry = entry.map_err(damaged)?;
            self.visited += 1;
            if self.visited > MAX_ENTRIES {
                return too_large(format!("it has more than {MAX_ENTRIES} files and folders"));
            }
            let Ok(name) = std::str::from_utf8(entry.filename) else { continue };
            let path = format!("{prefix}{name}");
            self.visit_entry(entry.mode, entry.oid.to_owned(), path, depth)?;
        }
        Ok(())
    }

    fn visit_entry(&mut self, mode: EntryMode, id: ObjectId, path: String, depth: usize) -> Result<()> {
        let kind = match mode.kind() {
            EntryKind::Tree => return self.visit_tree(id, &format!("{path}/"), depth + 1),
            EntryKind::Blob => Kind::File,
            EntryKind::BlobExecutable => Kind::Executable,
            EntryKind::Link => Kind::Symlink,
            EntryKind::Commit => Kind::Submodule,
        };
        self.entries.push(Entry { path, kind });
        Ok(())
    }
}

fn too_large<T>(why: String) -> Result<T> {
    Err(Error::TooLarge(format!("the repository is too large: {why}")))
}
