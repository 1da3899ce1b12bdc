//! Caches parsed git trees (folders), so that looking up many names in a large folder reads it once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryRef};

use crate::Result;
use crate::snapshot::damaged;

/// The cache size in bytes. A larger tree is not cached. A folder of 100,000 files with names of 200
/// characters fits.
const MAX_CACHED_BYTES: usize = 32 << 20;

/// The kind and the object of an entry.
pub(crate) type TreeEntry = (EntryKind, ObjectId);

pub(crate) struct TreeCache {
    max_bytes: usize,
    cached: Mutex<CachedTrees>,
}

impl Default for TreeCache {
    fn default() -> Self {
        Self { max_bytes: MAX_CACHED_BYTES, cached: Mutex::default() }
    }
}

#[derive(Default)]
struct CachedTrees {
    trees: HashMap<ObjectId, ParsedTree>,
    bytes: usize,
}

impl TreeCache {
    /// Finds the entry at `path` below the tree `root`.
    pub(crate) fn find(
        &self,
        repository: &gix::Repository,
        root: ObjectId,
        path: &str,
    ) -> Result<Option<TreeEntry>> {
        let mut found = (EntryKind::Tree, root);
        for name in path.split('/') {
            if found.0 != EntryKind::Tree {
                return Ok(None);
            }
            let Some(next) = self.find_in_tree(repository, found.1, name.as_bytes())? else {
                return Ok(None);
            };
            found = next;
        }
        Ok(Some(found))
    }

    fn find_in_tree(
        &self,
        repository: &gix::Repository,
        tree: ObjectId,
        name: &[u8],
    ) -> Result<Option<TreeEntry>> {
        let cached = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parsed) = cached().trees.get(&tree) {
            return Ok(parsed.find(name));
        }
        let object = repository.find_tree(tree).map_err(damaged)?;
        let read = ParsedTree::read(object.detach().data, repository.object_hash())?;
        let found = read.find(name);
        if read.data.len() <= self.max_bytes {
            cached().add(tree, read, self.max_bytes);
        }
        Ok(found)
    }
}

impl CachedTrees {
    fn add(&mut self, id: ObjectId, tree: ParsedTree, max_bytes: usize) {
        if self.bytes + tree.data.len() > max_bytes {
            *self = Self::default();
        }
        self.bytes += tree.data.len();
        self.trees.insert(id, tree);
    }
}

/// A tree object with an index of its entries.
struct ParsedTree {
    data: Vec<u8>,
    hash: gix::hash::Kind,
    /// The offsets of the entries in `data`, sorted by name. git's own order differs: it sorts a folder as if
    /// its name ended with a slash.
    starts: Vec<usize>,
}

impl ParsedTree {
    fn read(data: Vec<u8>, hash: gix::hash::Kind) -> Result<Self> {
        let mut entries = TreeRefIter::from_bytes(&data, hash);
        let (mut starts, mut start) = (Vec::new(), 0);
        while let Some(entry) = entries.next() {
            entry.map_err(damaged)?;
            starts.push(start);
            start = entries.offset_to_next_entry(&data);
        }
        let mut tree = Self { data, hash, starts: Vec::new() };
        starts.sort_by(|a, b| tree.name(*a).cmp(&tree.name(*b)));
        tree.starts = starts;
        Ok(tree)
    }

    fn find(&self, name: &[u8]) -> Option<TreeEntry> {
        let index = self.starts.partition_point(|start| self.name(*start) < Some(name));
        let entry = self.entry(*self.starts.get(index)?).filter(|entry| entry.filename == name)?;
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

    /// Writes a tree of about `bytes` bytes whose files all have different objects.
    fn write_tree(repository: &gix::Repository, bytes: usize, salt: u32) -> ObjectId {
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
        let temp_dir = tempfile::tempdir().unwrap();
        let repository = gix::init_bare(temp_dir.path()).unwrap();
        let max_bytes = 1 << 20;
        let trees = TreeCache { max_bytes, ..TreeCache::default() };
        // A tree that is cached, a tree that evicts it, and a tree that is too large to cache.
        let sizes = [(max_bytes / 4 * 3, 1), (max_bytes / 2, 2), (max_bytes + 1000, 3)];
        let all = sizes.map(|(bytes, salt)| (write_tree(&repository, bytes, salt), salt));
        for (id, salt) in all.into_iter().chain(all) {
            for number in [0, 1, 2_000] {
                let found = trees.find(&repository, id, &format!("{number:0200}")).unwrap();
                let (kind, found) = found.unwrap();
                assert_eq!(
                    (kind, &found.as_bytes()[..4]),
                    (EntryKind::Blob, &(number ^ salt).to_be_bytes()[..])
                );
            }
            assert_eq!(trees.find(&repository, id, "nothing").unwrap(), None);
            assert_eq!(trees.find(&repository, id, &format!("{:0200}/below", 1)).unwrap(), None);
            assert!(trees.cached.lock().unwrap().bytes <= max_bytes);
        }
    }
}
