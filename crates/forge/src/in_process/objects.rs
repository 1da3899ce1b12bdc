//! Collects the objects that one commit has and another lacks, and writes them.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use gix::objs::tree::EntryKind;
use gix::objs::{TreeRefIter, Write as _, compute_hash, encode};
use gix::odb::loose;
use gix::zlib::Compression;
use gix::zlib::stream::deflate;
use gix::{ObjectDetached, ObjectId, Repository};

use crate::fsync;
use crate::journal::RepositoryWrite;

/// Larger changes are left to git, which writes one packfile. Here, each object is a file.
const MAX_OBJECTS: usize = 64;
const MAX_BYTES: u64 = 8 << 20;
const MAX_DEPTH: usize = 100;

pub(super) struct NewObjects<'r> {
    source: &'r Repository,
    objects: Vec<ObjectDetached>,
    count: usize,
    bytes: u64,
}

impl<'r> NewObjects<'r> {
    /// Returns the commit with the files and folders that the tree `old` lacks. Every object comes after the
    /// objects that it refers to.
    pub(super) fn collect(
        old: ObjectId,
        source: &'r Repository,
        commit: ObjectId,
    ) -> Option<Vec<ObjectDetached>> {
        let mut new = Self { source, objects: Vec::new(), count: 0, bytes: 0 };
        new.add_tree(source.find_commit(commit).ok()?.tree_id().ok()?.detach(), Some(old), 0)?;
        new.add(commit)?;
        Some(new.objects)
    }

    /// Adds the objects of the tree `new` that `old` lacks at the same path. If a tree is not in git's order,
    /// too many objects are added, which is harmless. Submodule commits are skipped: they are in another
    /// repository.
    fn add_tree(&mut self, new: ObjectId, old: Option<ObjectId>, depth: usize) -> Option<()> {
        if Some(new) == old {
            return Some(());
        }
        if depth == MAX_DEPTH {
            return None;
        }
        let (source, hash) = (self.source, self.source.object_hash());
        let old_entries = old.map(|old| source.find_tree(old)).transpose().ok()?;
        let old_entries = old_entries.as_ref().map_or(&[][..], |tree| &tree.data);
        let mut old_entries = TreeRefIter::from_bytes(old_entries, hash).map_while(Result::ok).peekable();
        for entry in TreeRefIter::from_bytes(&source.find_tree(new).ok()?.data, hash) {
            let entry = entry.ok()?;
            while old_entries.next_if(|old| *old < entry).is_some() {}
            let old = old_entries
                .next_if(|old| old.filename == entry.filename && old.mode.kind() == entry.mode.kind());
            let (id, old) = (entry.oid.to_owned(), old.map(|old| old.oid.to_owned()));
            match entry.mode.kind() {
                _ if old == Some(id) => {}
                EntryKind::Tree => self.add_tree(id, old, depth + 1)?,
                EntryKind::Commit => {}
                _ => self.add(id)?,
            }
        }
        self.add(new)
    }

    /// Files with equal content are one object. It counts as often as it occurs: a small tree can occur very often.
    fn add(&mut self, id: ObjectId) -> Option<()> {
        self.count += 1;
        self.bytes += self.source.find_header(id).ok()?.size();
        if self.count > MAX_OBJECTS || self.bytes > MAX_BYTES {
            return None;
        }
        if self.objects.iter().all(|object| object.id != id) {
            self.objects.push(self.source.find_object(id).ok()?.detach());
        }
        Some(())
    }
}

/// Writes an object to a cache. `None` when the content does not match the object's id.
pub(super) fn write_object(cache: &Repository, object: &ObjectDetached) -> Option<()> {
    let id = cache.objects.write_buf(object.kind, &object.data).ok()?;
    (id == object.id).then_some(())
}

/// Writes objects to a repository, and returns the directories to fsync before a ref may name the objects.
/// Each object is renamed into place only after its content is synced: git would take an empty file for the
/// object. Existing objects are replaced, because git may be about to prune an old one.
///
/// The journal record of the write is synced, too.
pub(super) fn write_durably(write: &RepositoryWrite, objects: &[ObjectDetached]) -> Option<Vec<PathBuf>> {
    fs::create_dir(write.quarantine()).ok()?;
    let store = loose::Store::at(write.git_dir().join("objects"), objects.first()?.id.kind());
    let mut paths = Vec::new();
    for object in objects {
        let path = write.quarantine().join(object.id.to_string());
        write_loose(&path, object).ok()?;
        paths.push((path, store.object_path(&object.id)));
    }
    fsync::sync_all(paths.iter().map(|(from, _)| from.clone()).chain(write.record_path())).ok()?;
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

/// Writes an object as git stores it. gix would also make a folder for it, which takes longer than all the rest.
fn write_loose(path: &Path, object: &ObjectDetached) -> io::Result<()> {
    let ObjectDetached { id, kind, data } = object;
    if compute_hash(id.kind(), *kind, data).map_err(io::Error::other)? != *id {
        return Err(ErrorKind::InvalidData.into());
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?;
    let mut file = deflate::Write::new(file, Compression::BEST_SPEED);
    file.write_all(&encode::loose_header(*kind, data.len() as u64))?;
    file.write_all(data)?;
    file.flush()
}
