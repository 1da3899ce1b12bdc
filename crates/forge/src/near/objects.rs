//! What one commit has and another has not, and how that is written.

use std::collections::HashMap;
use std::path::PathBuf;

use gix::objs::{TreeRefIter, Write as _};
use gix::{ObjectDetached, ObjectId, Repository};

/// What is more goes by git, which packs it: each object here is a file.
const MAX_OBJECTS: usize = 64;
const MAX_BYTES: u64 = 8 << 20;

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
        new.folder(source.find_commit(commit).ok()?.tree_id().ok()?.detach(), Some(old))?;
        new.take(commit)?;
        Some(new.objects)
    }

    /// What is in the folder `new` and not, at the same place, in `old`.
    fn folder(&mut self, new: ObjectId, old: Option<ObjectId>) -> Option<()> {
        if Some(new) == old {
            return Some(());
        }
        let had = old.map_or_else(|| Some(HashMap::new()), |old| self.entries(old))?;
        for (name, (is_folder, id)) in self.entries(new)? {
            match had.get(&name) {
                Some((_, old)) if *old == id => {}
                Some((true, old)) if is_folder => self.folder(id, Some(*old))?,
                _ if is_folder => self.folder(id, None)?,
                _ => self.take(id)?,
            }
        }
        self.take(new)
    }

    /// By name: whether it is a folder, and its object. A submodule's commit is in another repository.
    fn entries(&self, folder: ObjectId) -> Option<HashMap<Vec<u8>, (bool, ObjectId)>> {
        let tree = self.source.find_tree(folder).ok()?;
        let mut entries = HashMap::new();
        for entry in TreeRefIter::from_bytes(&tree.data, self.source.object_hash()) {
            let entry = entry.ok()?;
            if !entry.mode.is_commit() {
                entries.insert(entry.filename.to_vec(), (entry.mode.is_tree(), entry.oid.to_owned()));
            }
        }
        Some(entries)
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

/// The file that was written, also of what is there already: that may be old and about to be cleared away. `None` when
/// it is not what it was called by.
pub(super) fn write(target: &Repository, object: &ObjectDetached) -> Option<PathBuf> {
    let id = target.objects.write_buf(object.kind, &object.data).ok()?;
    let name = (id == object.id).then(|| id.to_string())?;
    Some(target.objects.store_ref().path().join(&name[..2]).join(&name[2..]))
}
