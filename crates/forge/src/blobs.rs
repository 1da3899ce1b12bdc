//! Lists the blobs (git's objects of files) of trees, and finds those that a cache lacks.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use crate::snapshot::{MAX_DEPTH, MAX_ENTRIES, damaged, open_repository, too_large};
use crate::{Oid, Result, snapshot};

/// The blobs of a commit's tree, in its order, each once. Symbolic links are not read, so they don't count.
pub(crate) fn of_commit(dir: &Path, commit: &Oid) -> Result<Vec<ObjectId>> {
    let repository = open_repository(dir)?.to_thread_local();
    let mut changes = Changes::new(&repository);
    changes.compare(None, Some(snapshot::tree_of(&repository, commit)?), 0)?;
    Ok(changes.blobs)
}

/// The blobs that the cache lacks of both trees, at paths where they differ: all that a diff reads.
pub(crate) fn missing_of_changed_paths(dir: &Path, from: &Oid, to: &Oid) -> Result<Vec<ObjectId>> {
    let repository = open_repository(dir)?.to_thread_local();
    let (from, to) = (snapshot::tree_of(&repository, from)?, snapshot::tree_of(&repository, to)?);
    let mut changes = Changes { with_links: true, ..Changes::new(&repository) };
    changes.compare(Some(from), Some(to), 0)?;
    let blobs = changes.blobs;
    Ok(missing(&repository, blobs))
}

/// Those of `ids` that the repository lacks.
pub(crate) fn missing(repository: &gix::Repository, ids: Vec<ObjectId>) -> Vec<ObjectId> {
    let Some(first) = ids.iter().position(|id| !repository.has_object(id)) else { return Vec::new() };
    // That looked for new packfiles. Don't look again for each of thousands of objects.
    let mut repository = repository.clone();
    repository.objects.refresh_never();
    ids.into_iter().skip(first).filter(|id| !repository.has_object(id)).collect()
}

struct Changes<'a> {
    repository: &'a gix::Repository,
    with_links: bool,
    blobs: Vec<ObjectId>,
    seen: HashSet<ObjectId>,
    visited: usize,
}

type Entries = BTreeMap<Vec<u8>, (EntryKind, ObjectId)>;

impl<'a> Changes<'a> {
    fn new(repository: &'a gix::Repository) -> Self {
        Self { repository, with_links: false, blobs: Vec::new(), seen: HashSet::new(), visited: 0 }
    }

    fn compare(&mut self, from: Option<ObjectId>, to: Option<ObjectId>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return too_large(format!("folders are nested more than {MAX_DEPTH} deep"));
        }
        let (from, to) = (self.entries(from)?, self.entries(to)?);
        for (name, old) in &from {
            let new = to.get(name);
            if new != Some(old) {
                self.visit(Some(*old), new.copied(), depth)?;
            }
        }
        for (_, new) in to.iter().filter(|(name, _)| !from.contains_key(*name)) {
            self.visit(None, Some(*new), depth)?;
        }
        Ok(())
    }

    fn visit(
        &mut self,
        old: Option<(EntryKind, ObjectId)>,
        new: Option<(EntryKind, ObjectId)>,
        depth: usize,
    ) -> Result<()> {
        let folder = |side: Option<(EntryKind, ObjectId)>| {
            side.filter(|(kind, _)| *kind == EntryKind::Tree).map(|(_, id)| id)
        };
        for (kind, id) in [old, new].into_iter().flatten() {
            let is_blob = matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable)
                || self.with_links && kind == EntryKind::Link;
            if is_blob && self.seen.insert(id) {
                self.blobs.push(id);
            }
        }
        match (folder(old), folder(new)) {
            (None, None) => Ok(()),
            (old, new) => self.compare(old, new, depth + 1),
        }
    }

    fn entries(&mut self, tree: Option<ObjectId>) -> Result<Entries> {
        let Some(tree) = tree else { return Ok(Entries::new()) };
        let tree = self.repository.find_tree(tree).map_err(damaged)?;
        let mut entries = Entries::new();
        for entry in TreeRefIter::from_bytes(&tree.data, self.repository.object_hash()) {
            let entry = entry.map_err(damaged)?;
            self.visited += 1;
            // A small tree that repeats itself can expand to a huge number of paths.
            if self.visited > MAX_ENTRIES {
                return too_large(format!("it has more than {MAX_ENTRIES} files and folders"));
            }
            entries.insert(entry.filename.to_vec(), (entry.mode.kind(), entry.oid.to_owned()));
        }
        Ok(entries)
    }
}
