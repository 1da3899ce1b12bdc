//! A push to a repository on this machine, as two steps of this process: the commit's new objects are written, then
//! the one branch is moved, under git's own lock. No hook takes part, for nobody is there to run one.

use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gix::actor::SignatureRef;
use gix::lock::acquire::Fail;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use gix::{ObjectDetached, ObjectId, Repository};

use super::objects::{New, write};
use super::{branch_ref, find, has_none, is_free, open};
use crate::Oid;
use crate::snapshot::{object_id, open_repository};

/// What a receiver may be told to refuse or to run.
const RULES: &[&str] = &["hook", "receive", "transfer"];

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
    for object in new_objects(&source, new, &whole(&target, expected))? {
        sync(&write(&target, &object)?)?;
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

/// The commit, and the files and folders that its parent does not have.
fn new_objects(source: &Repository, commit: ObjectId, whole: &[ObjectId]) -> Option<Vec<ObjectDetached>> {
    let new = source.find_commit(commit).ok()?;
    let parents: Vec<_> = new.parent_ids().map(gix::Id::detach).collect();
    if parents.is_empty() || !parents.iter().all(|parent| whole.contains(parent)) {
        return None;
    }
    let old = source.find_commit(parents[0]).ok()?.tree_id().ok()?.detach();
    New::since(old, source, commit)
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
