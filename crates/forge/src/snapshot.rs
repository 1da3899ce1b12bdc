//! Reads the files of a commit from the object database. Nothing is checked out to disk.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryMode};
use machine::Trouble;

use crate::file_source::{FetchObserver, FileSource};
use crate::tree_cache::TreeCache;
use crate::{Error, Oid, Result, blobs};

pub(crate) const MAX_ENTRIES: usize = 200_000;
pub(crate) const MAX_DEPTH: usize = 200;
const MAX_FILE_BYTES: usize = 16 << 20;
/// The most memory that gix allocates for one object. Legitimate trees and commits are far smaller.
const ALLOC_LIMIT: &str = "gitoxide.objects.allocLimit=67108864";
/// The marker file of a cache with an unreadable object.
const DAMAGE_MARKER: &str = "docwright-suspect";

/// The files of a commit. Threads can share it.
pub struct Snapshot {
    /// Replaced after fetches: gix keeps track of a limited number of new packfiles.
    repository: RwLock<gix::ThreadSafeRepository>,
    dir: PathBuf,
    tree: ObjectId,
    trees: TreeCache,
    /// Where to fetch files that the cache lacks. `None` if it has all of them.
    source: Option<FileSource>,
}

/// Whether a file can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The cache has it.
    Here,
    /// The commit has it, and the first read fetches it.
    ToFetch,
    /// The commit has no file at this path.
    NotThere,
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
        Ok(Self {
            repository: RwLock::new(repository),
            dir: dir.to_owned(),
            tree,
            trees: TreeCache::default(),
            source: None,
        })
    }

    pub(crate) fn with_source(self, source: Option<FileSource>) -> Self {
        Self { source, ..self }
    }

    /// Reports the progress of fetches to `observer`, and lets it cancel them. Only the first observer counts.
    pub fn observe_fetches(&self, observer: Arc<dyn FetchObserver>) {
        if let Some(source) = &self.source {
            source.observe(observer);
        }
    }

    fn local(&self) -> gix::Repository {
        self.repository.read().unwrap_or_else(PoisonError::into_inner).to_thread_local()
    }

    fn reopen(&self) -> Result<gix::Repository> {
        let new = open_repository(&self.dir)?;
        *self.repository.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(self.local())
    }

    /// Everything in the commit except folders, in git's order. Names that are not UTF-8 are skipped with
    /// everything below them. A tree that is too large is an error.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let repository = self.local();
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
        have_same_paths(&self.local(), self.tree, tree.0, &mut 0).unwrap_or(false)
    }

    /// The content of a file, which is fetched if the cache lacks it. `None` when `path` does not exist or is a
    /// folder, a link or a submodule. A file of more than `max_bytes` or 16 MiB is not loaded and fails with
    /// [`Error::TooLarge`].
    pub fn read(&self, path: &str, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let mut repository = self.local();
        let Some(id) = self.blob(&repository, path)? else { return Ok(None) };
        if let Some(source) = &self.source
            && !repository.has_object(id)
        {
            self.fetch(source, vec![id])?;
            if source.is_too_large(&id) {
                return Err(file_too_large(path, MAX_FILE_BYTES.min(max_bytes)));
            }
            repository = self.local();
        }
        self.mark_damage(read_blob(&repository, id, path, max_bytes)).map(Some)
    }

    /// Whether a file can be read, and whether that fetches it.
    pub fn presence(&self, path: &str) -> Result<Presence> {
        let repository = self.local();
        Ok(match self.blob(&repository, path)? {
            None => Presence::NotThere,
            Some(id) if self.source.is_some() && !repository.has_object(id) => Presence::ToFetch,
            Some(_) => Presence::Here,
        })
    }

    /// Fetches the files of these paths that the cache lacks, in as few requests as possible. Other paths are
    /// ignored. Blocks, so it needs a runtime with several threads.
    pub fn fetch_files<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Result<()> {
        match &self.source {
            Some(source) => self.fetch(source, self.blobs(paths)?),
            None => Ok(()),
        }
    }

    fn fetch(&self, source: &FileSource, ids: Vec<ObjectId>) -> Result<()> {
        // Another reader may have fetched them.
        let missing = blobs::missing(&self.reopen()?, ids);
        if missing.is_empty() {
            return Ok(());
        }
        // An unreadable packfile looks like a missing one.
        if let Some(trouble) = read_trouble(&self.dir) {
            return Err(Error::Machine(trouble));
        }
        let fetched = source.fetch_blocking(missing);
        self.reopen()?;
        fetched
    }

    /// The blobs of the files at these paths, each once.
    pub(crate) fn blobs<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Result<Vec<ObjectId>> {
        let repository = self.local();
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for path in paths {
            found.extend(self.blob(&repository, path)?.filter(|id| seen.insert(*id)));
        }
        Ok(found)
    }

    fn blob(&self, repository: &gix::Repository, path: &str) -> Result<Option<ObjectId>> {
        let found = self.mark_damage(self.trees.find(repository, self.tree, path))?;
        let is_file = |kind: &EntryKind| matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable);
        Ok(found.filter(|(kind, _)| is_file(kind)).map(|(_, id)| id))
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
        return Err(file_too_large(path, limit));
    }
    Ok(repository.find_blob(id).map_err(damaged)?.take_data())
}

fn file_too_large(path: &str, limit: usize) -> Error {
    let path = crate::name::printable(path);
    Error::TooLarge(format!("`{path}` is larger than the limit of {limit} bytes"))
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

pub(crate) fn too_large<T>(why: String) -> Result<T> {
    Err(Error::TooLarge(format!("the repository is too large: {why}")))
}
