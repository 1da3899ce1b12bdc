//! What one commit has and another has not, and how that is written.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use gix::objs::tree::EntryKind;
use gix::objs::{TreeRefIter, Write as _};
use gix::odb::loose;
use gix::{ObjectDetached, ObjectId, Repository};

use crate::durable;
use crate::journal::RepositoryWrite;

/// What is more goes by git, which packs it: each object here is a file.
const MAX_OBJECTS: usize = 64;
const MAX_BYTES: u64 = 8 << 20;
const MAX_DEPTH: usize = 100;

pub(super) struct New<'r> {
    source: &'r Repository,
    objects: Vec<ObjectDetached>,
    bytes: u64,
}

impl<'r> New<'r> {
    /// The commit, and the files and folders that the folder `old` does not have, in an order in which none names a
    /// later one.
    pub(super) fn since(
        old: ObjectId,
        source: &'r Repository,
        commit: ObjectId,
    ) -> Option<Vec<ObjectDetached>> {
        let mut new = Self { source, objects: Vec::new(), bytes: 0 };
        new.folder(source.find_commit(commit).ok()?.tree_id().ok()?.detach(), Some(old), 0)?;
        new.take(commit)?;
        Some(new.objects)
    }

    /// What is in the folder `new` and not, at the same place, in `old`. Both are in git's order; where one is not,
    /// more is held for new than is. A submodule's commit is in another repository.
    fn folder(&mut self, new: ObjectId, old: Option<ObjectId>, depth: usize) -> Option<()> {
        if Some(new) == old {
            return Some(());
        }
        if depth == MAX_DEPTH {
            return None;
        }
        let (source, hash) = (self.source, self.source.object_hash());
        let had = old.map(|old| source.find_tree(old)).transpose().ok()?;
        let had = had.as_ref().map_or(&[][..], |tree| &tree.data);
        let mut had = TreeRefIter::from_bytes(had, hash).map_while(Result::ok).peekable();
        for entry in TreeRefIter::from_bytes(&source.find_tree(new).ok()?.data, hash) {
            let entry = entry.ok()?;
            while had.next_if(|old| *old < entry).is_some() {}
            let old =
                had.next_if(|old| old.filename == entry.filename && old.mode.kind() == entry.mode.kind());
            let (id, old) = (entry.oid.to_owned(), old.map(|old| old.oid.to_owned()));
            match entry.mode.kind() {
                _ if old == Some(id) => {}
                EntryKind::Tree => self.folder(id, old, depth + 1)?,
                EntryKind::Commit => {}
                _ => self.take(id)?,
            }
        }
        self.take(new)
    }

    fn take(&mut self, id: ObjectId) -> Option<()> {
        self.bytes += self.source.find_header(id).ok()?.size();
        if self.objects.len() == MAX_OBJECTS || self.bytes > MAX_BYTES {
            return None;
        }
        self.objects.push(self.source.find_object(id).ok()?.detach());
        Some(())
    }
}

/// Writes an object to a cache. `None` when its content does not have the id that it was called by.
pub(super) fn write(cache: &Repository, object: &ObjectDetached) -> Option<()> {
    let id = cache.objects.write_buf(object.kind, &object.data).ok()?;
    (id == object.id).then_some(())
}

/// Writes objects to a repository, and answers the directories that must be synced before a ref may name them. Each
/// object gets its name only after its content is synced: an empty file by that name would be taken for the object.
/// One that is there already is replaced, since it may be old and about to be pruned.
///
/// The record of the write is synced with them.
pub(super) fn write_durably(write: &RepositoryWrite, objects: &[ObjectDetached]) -> Option<Vec<PathBuf>> {
    fs::create_dir(write.quarantine()).ok()?;
    let hash = objects.first()?.id.kind();
    let (quarantine, store) =
        (loose::Store::at(write.quarantine(), hash), loose::Store::at(write.git_dir().join("objects"), hash));
    let mut paths = Vec::new();
    for object in objects {
        let id = quarantine.write_buf(object.kind, &object.data).ok()?;
        paths.push((id == object.id).then(|| (quarantine.object_path(&id), store.object_path(&id)))?);
    }
    durable::sync_all(paths.iter().map(|(from, _)| from.clone()).chain(write.record_path())).ok()?;
    let mut directories = Vec::new();
    for (from, to) in paths {
        let directory = to.parent()?.to_owned();
        match fs::create_dir(&directory) {
            Ok(()) => directories.push(store.path().to_owned()),
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return None,
        }
        fs::rename(from, to).ok()?;
        directories.push(directory);
    }
    Some(directories)
}
