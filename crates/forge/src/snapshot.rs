//! The files of one commit, read from the object database; nothing is ever on disk as a file.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryMode};
use machine::Trouble;

use crate::folders::Folders;
use crate::{Error, Oid, Result};

const MAX_ENTRIES: usize = 200_000;
const MAX_DEPTH: usize = 200;
const MAX_FILE: usize = 16 << 20;
/// What gix may allocate for one object. Above any tree or commit that is meant seriously.
const ALLOC_LIMIT: &str = "gitoxide.objects.allocLimit=67108864";
/// Left in a repository in which something could not be read.
const SUSPECT: &str = "docwright-suspect";

/// The files of a commit. Can be read from many threads at once.
pub struct Snapshot {
    repository: gix::ThreadSafeRepository,
    dir: PathBuf,
    tree: ObjectId,
    folders: Folders,
}

/// The files of a commit as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeId(ObjectId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Executable,
    /// Named, never followed or read.
    Symlink,
    /// Named, never fetched.
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
        Ok(Self { repository, dir: dir.to_owned(), tree, folders: Folders::default() })
    }

    /// Everything in the commit that is not a folder, ordered as git orders it. A name that is not
    /// UTF-8 is left out with all that is below it. A tree that is too large is an error, not a part.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let repository = self.repository.to_thread_local();
        let mut walk = Walk { repository: &repository, entries: Vec::new(), seen: 0 };
        self.noticing(walk.folder(self.tree, "", 0))?;
        Ok(walk.entries)
    }

    /// What tells whether another commit has the same files.
    pub fn tree(&self) -> TreeId {
        TreeId(self.tree)
    }

    /// Whether there is the same under the same names as in another tree, whatever it says; false also when that
    /// cannot be told. Only folders in which something differs are read.
    pub fn has_names_of(&self, tree: TreeId) -> bool {
        same_names(&self.repository.to_thread_local(), self.tree, tree.0, &mut 0).unwrap_or(false)
    }

    /// The content of a file. `None` when there is none at `path`, or something else is: a folder,
    /// a link, a submodule. A file of more than `at_most` bytes, or of more than 16 MiB, is
    /// [`Error::TooLarge`], and is not loaded.
    pub fn read(&self, path: &str, at_most: usize) -> Result<Option<Vec<u8>>> {
        let repository = self.repository.to_thread_local();
        match self.noticing(self.folders.place(&repository, self.tree, path))? {
            Some((EntryKind::Blob | EntryKind::BlobExecutable, id)) => {
                self.noticing(blob(&repository, id, path, at_most)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn noticing<T>(&self, read: Result<T>) -> Result<T> {
        noticing(&self.dir, read)
    }
}

/// Remembers damage for the next fetch, which puts it right.
pub(crate) fn noticing<T>(dir: &Path, read: Result<T>) -> Result<T> {
    let read = read.map_err(|error| unless_trouble(dir, error));
    if let Err(Error::Damaged(cause)) = &read {
        tracing::warn!("the repository cache at {} is damaged: {cause}", dir.display());
        if let Err(cause) = std::fs::write(dir.join(SUSPECT), "") {
            tracing::warn!("the damage could not be marked: {cause}");
        }
    }
    read
}

/// Whether `commit` is in the repository at `dir` with its root folder.
pub(crate) fn has(dir: &Path, commit: &Oid) -> Result<bool> {
    match Snapshot::open(dir, commit).map_err(|error| unless_trouble(dir, error)) {
        Err(Error::Machine(trouble)) => Err(Error::Machine(trouble)),
        opened => Ok(opened.is_ok()),
    }
}

/// What looks like damage may be a file that cannot be opened just now: gix takes a pack that it cannot open for one
/// that is not there.
pub(crate) fn unless_trouble(dir: &Path, error: Error) -> Error {
    match error {
        Error::Damaged(_) | Error::Git(_) => read_trouble(dir).map_or(error, Error::Machine),
        other => other,
    }
}

/// Trouble of the machine with reading the repository at `dir`.
pub fn read_trouble(dir: &Path) -> Option<Trouble> {
    let folders =
        [dir.to_owned(), dir.join("objects/pack"), dir.join("objects/info"), dir.join("refs/heads")];
    folders.iter().find_map(|folder| machine::read_trouble(folder))
}

pub(crate) fn is_suspect(dir: &Path) -> bool {
    dir.join(SUSPECT).exists()
}

/// Reads no configuration but the repository's own, and runs nothing.
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

/// Of gix, an error is a tree of causes, of which `source()` shows one branch.
pub(crate) fn trouble_in(cause: &(dyn std::error::Error + 'static)) -> Option<Trouble> {
    match cause.downcast_ref::<gix::Error>() {
        Some(tree) => tree.iter_errors().find_map(Trouble::find),
        None => Trouble::find(cause),
    }
}

/// The root folder of a commit, which is read once to see that it is there.
pub(crate) fn tree_of(repository: &gix::Repository, commit: &Oid) -> Result<ObjectId> {
    let found = repository.find_commit(object_id(commit)?).map_err(damaged)?;
    let tree = found.tree_id().map_err(damaged)?.detach();
    repository.find_tree(tree).map_err(damaged)?;
    Ok(tree)
}

fn same_names(repository: &gix::Repository, a: ObjectId, b: ObjectId, seen: &mut usize) -> Result<bool> {
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
        *seen += 1;
        // Trees that repeat themselves could be compared for ever.
        let same = a.filename == b.filename && a.mode == b.mode && *seen <= MAX_ENTRIES;
        let is_folder = a.mode.kind() == EntryKind::Tree;
        if !same || is_folder && !same_names(repository, a.oid.to_owned(), b.oid.to_owned(), seen)? {
            return Ok(false);
        }
    }
}

fn blob(repository: &gix::Repository, id: ObjectId, path: &str, at_most: usize) -> Result<Vec<u8>> {
    let limit = MAX_FILE.min(at_most);
    // Asked before the content is, so that a huge file costs nothing.
    if repository.find_header(id).map_err(damaged)?.size() > limit as u64 {
        let path = crate::name::printable(path);
        return Err(Error::TooLarge(format!("`{path}` is larger than {limit} bytes and is not read")));
    }
    Ok(repository.find_blob(id).map_err(damaged)?.take_data())
}

struct Walk<'a> {
    repository: &'a gix::Repository,
    entries: Vec<Entry>,
    /// Folders count too: a tree that repeats itself need not hold a single file.
    seen: usize,
}

impl Walk<'_> {
    fn folder(&mut self, id: ObjectId, prefix: &str, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return too_large(format!("folders are nested more than {MAX_DEPTH} deep"));
        }
        let tree = self.repository.find_tree(id).map_err(damaged)?;
        for entry in TreeRefIter::from_bytes(&tree.data, self.repository.object_hash()) {
            let entry = entry.map_err(damaged)?;
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                return too_large(format!("it has more than {MAX_ENTRIES} files and folders"));
            }
            let Ok(name) = std::str::from_utf8(entry.filename) else { continue };
            let path = format!("{prefix}{name}");
            self.entry(entry.mode, entry.oid.to_owned(), path, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, mode: EntryMode, id: ObjectId, path: String, depth: usize) -> Result<()> {
        let kind = match mode.kind() {
            EntryKind::Tree => return self.folder(id, &format!("{path}/"), depth + 1),
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
