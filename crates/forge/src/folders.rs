//! Folders that were looked into: a large one is not read anew for each of its names.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryRef};

use crate::Result;
use crate::snapshot::damaged;

/// Bytes of folders that are kept at a time. One that is larger by itself is not; of 100,000 files with names of 200
/// letters each, all are.
const MAX_KEPT: usize = 32 << 20;

/// The kind of what stands somewhere, and its object.
pub(crate) type Place = (EntryKind, ObjectId);

pub(crate) struct Folders {
    most: usize,
    kept: Mutex<Kept>,
}

impl Default for Folders {
    fn default() -> Self {
        Self { most: MAX_KEPT, kept: Mutex::default() }
    }
}

#[derive(Default)]
struct Kept {
    folders: HashMap<ObjectId, Folder>,
    bytes: usize,
}

impl Folders {
    /// What is at `path`, seen from the folder `root`.
    pub(crate) fn place(
        &self,
        repository: &gix::Repository,
        root: ObjectId,
        path: &str,
    ) -> Result<Option<Place>> {
        let mut found = (EntryKind::Tree, root);
        for name in path.split('/') {
            if found.0 != EntryKind::Tree {
                return Ok(None);
            }
            let Some(next) = self.named(repository, found.1, name.as_bytes())? else { return Ok(None) };
            found = next;
        }
        Ok(Some(found))
    }

    fn named(&self, repository: &gix::Repository, folder: ObjectId, name: &[u8]) -> Result<Option<Place>> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = kept().folders.get(&folder) {
            return Ok(names.find(name));
        }
        let tree = repository.find_tree(folder).map_err(damaged)?;
        let read = Folder::read(tree.detach().data, repository.object_hash())?;
        let found = read.find(name);
        if read.data.len() <= self.most {
            kept().add(folder, read, self.most);
        }
        Ok(found)
    }
}

impl Kept {
    fn add(&mut self, id: ObjectId, folder: Folder, most: usize) {
        if self.bytes + folder.data.len() > most {
            *self = Self::default();
        }
        self.bytes += folder.data.len();
        self.folders.insert(id, folder);
    }
}

/// A folder as git has it.
struct Folder {
    data: Vec<u8>,
    hash: gix::hash::Kind,
    /// Where its entries begin, by name: git puts a folder where it would stand with a slash behind its name.
    starts: Vec<usize>,
}

impl Folder {
    fn read(data: Vec<u8>, hash: gix::hash::Kind) -> Result<Self> {
        let mut entries = TreeRefIter::from_bytes(&data, hash);
        let (mut starts, mut start) = (Vec::new(), 0);
        while let Some(entry) = entries.next() {
            entry.map_err(damaged)?;
            starts.push(start);
            start = entries.offset_to_next_entry(&data);
        }
        let mut folder = Self { data, hash, starts: Vec::new() };
        starts.sort_by(|a, b| folder.name(*a).cmp(&folder.name(*b)));
        folder.starts = starts;
        Ok(folder)
    }

    fn find(&self, name: &[u8]) -> Option<Place> {
        let place = self.starts.partition_point(|start| self.name(*start) < Some(name));
        let entry = self.entry(*self.starts.get(place)?).filter(|entry| entry.filename == name)?;
        Some((entry.mode.kind(), entry.oid.to_owned()))
    }

    fn name(&self, start: usize) -> Option<&[u8]> {
        self.entry(start).map(|entry| &**entry.filename)
    }

    fn entry(&self, start: usize) -> Option<EntryRef<'_>> {
        TreeRefIter::from_bytes(&self.data[start..], self.hash).next()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use gix::objs::tree::{Entry, EntryKind};

    use super::*;

    /// A folder of about so many bytes, each file in it with another object.
    fn folder(repository: &gix::Repository, bytes: usize, salt: u32) -> ObjectId {
        let entry = |number: u32| {
            let mut id = [0; 20];
            id[..4].copy_from_slice(&(number ^ salt).to_be_bytes());
            let filename = format!("{number:0200}").into();
            Entry { mode: EntryKind::Blob.into(), filename, oid: ObjectId::Sha1(id) }
        };
        let entries = (0..u32::try_from(bytes / 228).unwrap()).map(entry).collect();
        repository.write_object(gix::objs::Tree { entries }).unwrap().detach()
    }

    #[test]
    fn names_are_found_in_folders_of_every_size() {
        let room = tempfile::tempdir().unwrap();
        let repository = gix::init_bare(room.path()).unwrap();
        let most = 1 << 20;
        let folders = Folders { most, ..Folders::default() };
        // One that is kept, one that takes its place, one that is too large for that.
        let sizes = [(most / 4 * 3, 1), (most / 2, 2), (most + 1000, 3)];
        let all = sizes.map(|(bytes, salt)| (folder(&repository, bytes, salt), salt));
        for (id, salt) in all.into_iter().chain(all) {
            for number in [0, 1, 2_000] {
                let place = folders.place(&repository, id, &format!("{number:0200}")).unwrap();
                let (kind, found) = place.unwrap();
                assert_eq!(
                    (kind, &found.as_bytes()[..4]),
                    (EntryKind::Blob, &(number ^ salt).to_be_bytes()[..])
                );
            }
            assert_eq!(folders.place(&repository, id, "nothing").unwrap(), None);
            assert_eq!(folders.place(&repository, id, &format!("{:0200}/below", 1)).unwrap(), None);
            assert!(folders.kept.lock().unwrap().bytes <= most);
        }
    }
}
