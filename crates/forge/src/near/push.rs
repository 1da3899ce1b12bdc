//! A push to a repository on this machine, as two steps of this process: the commit's new objects are written, then
//! the one branch is moved, under git's own lock. No hook takes part, for nobody is there to run one.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gix::actor::SignatureRef;
use gix::lock::acquire::Fail;
use gix::objs::{Kind, TreeRefIter, Write as _};
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use gix::{ObjectId, Repository};

use super::{branch_ref, find, has_none, is_free, open};
use crate::Oid;
use crate::snapshot::{object_id, open_repository};

/// What a receiver may be told to refuse or to run.
const RULES: &[&str] = &["hook", "receive", "transfer"];
/// What is more goes by git, which packs it: each object here is a file, and waits for the disk.
const MAX_OBJECTS: usize = 64;
const MAX_BYTES: u64 = 8 << 20;

/// Writes `commit` of the repository at `dir` to the one at `git_dir` and moves `branch` there, if that is at
/// `expected` (`None`: not there), or is at `commit` already. With `None`, nothing was moved.
pub(crate) fn push(
    dir: &Path,
    git_dir: &Path,
    commit: &Oid,
    branch: &str,
    expected: Option<&Oid>,
) -> Option<()> {
    is_free(git_dir, branch)?;
    let target = open(git_dir).filter(is_without_rules)?;
    let (name, new) = (branch_ref(branch)?, object_id(commit).ok()?);
    let expected = match expected {
        Some(old) => Some(object_id(old).ok()?),
        None => None,
    };
    let there = find(&target, &name)?.map(|found| found.inner.target);
    if there == Some(Target::Object(new)) {
        return Some(());
    }
    if there != expected.map(Target::Object) || !has_room(&target, branch)? {
        return None;
    }
    let source = open_repository(dir).ok()?.to_thread_local();
    for (kind, data) in new_objects(&source, new, &whole(&target, expected))? {
        write(&target, kind, &data)?;
    }
    move_branch(&target, name, new, expected)
}

/// Whether everybody's files are as this process makes them, and nothing is refused.
fn is_without_rules(target: &Repository) -> bool {
    has_none(target, RULES) && target.config_snapshot().string("core.sharedRepository").is_none()
}

/// A branch `a` leaves no room for a branch `a/b`, nor the other way round.
fn has_room(target: &Repository, branch: &str) -> Option<bool> {
    for (at, _) in branch.match_indices('/') {
        if find(target, &branch_ref(&branch[..at])?)?.is_some() {
            return Some(false);
        }
    }
    let below = format!("refs/heads/{branch}/");
    let none = target.references().ok()?.prefixed(below.as_str()).ok()?.next().is_none();
    Some(none)
}

/// Commits that the target has with all that they are made of, since branches are at them.
fn whole(target: &Repository, expected: Option<ObjectId>) -> Vec<ObjectId> {
    let head = target.head_id().ok().map(gix::Id::detach);
    head.into_iter().chain(expected).collect()
}

/// The commit, and the files and folders that its parent does not have, in an order in which none names a later one.
fn new_objects(source: &Repository, commit: ObjectId, whole: &[ObjectId]) -> Option<Vec<(Kind, Vec<u8>)>> {
    let new = source.find_commit(commit).ok()?;
    let parents: Vec<_> = new.parent_ids().map(gix::Id::detach).collect();
    if parents.is_empty() || !parents.iter().all(|parent| whole.contains(parent)) {
        return None;
    }
    let old = source.find_commit(parents[0]).ok()?.tree_id().ok()?.detach();
    let mut found = Found { source, objects: Vec::new(), bytes: 0 };
    found.folder(new.tree_id().ok()?.detach(), Some(old))?;
    found.take(commit)?;
    Some(found.objects)
}

struct Found<'r> {
    source: &'r Repository,
    objects: Vec<(Kind, Vec<u8>)>,
    bytes: u64,
}

impl Found<'_> {
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
        let object = self.source.find_object(id).ok()?.detach();
        self.objects.push((object.kind, object.data));
        Some(())
    }
}

/// Also what the target has already: that may be old and about to be cleared away.
fn write(target: &Repository, kind: Kind, data: &[u8]) -> Option<()> {
    let id = target.objects.write_buf(kind, data).ok()?.to_string();
    sync(&target.objects.store_ref().path().join(&id[..2]).join(&id[2..]))
}

/// As git does it: the value that was expected is looked for under the lock, and the new one is on the disk before it
/// is in its place.
fn move_branch(target: &Repository, name: FullName, new: ObjectId, expected: Option<ObjectId>) -> Option<()> {
    let expected = match expected {
        Some(old) => PreviousValue::MustExistAndMatch(Target::Object(old)),
        None => PreviousValue::MustNotExist,
    };
    let log = LogChange { mode: RefLog::AndReference, force_create_reflog: false, message: "push".into() };
    let lock = target.refs.git_dir().join(format!("{}.lock", name.as_bstr()));
    let change = Change::Update { log, expected, new: Target::Object(new) };
    let edit = RefEdit { change, name, deref: false };
    let moving = target.refs.transaction().prepare([edit], Fail::Immediately, Fail::Immediately).ok()?;
    sync(&lock)?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = format!("{seconds} +0000");
    let us = SignatureRef { name: "Docwright".into(), email: "docwright@localhost".into(), time: &time };
    moving.commit(Some(us)).ok().map(|_| ())
}

fn sync(file: &Path) -> Option<()> {
    File::open(file).and_then(|file| file.sync_all()).ok()
}
