//! A push to a repository on this machine, as two steps of this process: the commit's new objects are written, then
//! the one branch is moved, under git's own lock. Both are durable when it returns. No hook takes part, for nobody is
//! there to run one.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gix::actor::SignatureRef;
use gix::lock::acquire::Fail;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use gix::{ObjectDetached, ObjectId, Repository};

use super::objects::{New, write_durably};
use super::{branch_ref, find, has_none, is_free, open};
use crate::durable;
use crate::journal::RepositoryWrite;
use crate::snapshot::{object_id, open_repository};
use crate::target::{Push, sync_branch};

/// What a receiver may be told to refuse or to run.
const RULES: &[&str] = &["hook", "receive", "transfer"];

/// Writes the commit of the repository at `dir` and moves the branch, if that is where it is expected, or is at the
/// commit already. With `None`, nothing was moved.
pub(crate) fn push(dir: &Path, write: &RepositoryWrite, push: &Push) -> Option<()> {
    let git_dir = write.git_dir();
    is_free(git_dir, &push.branch)?;
    let target = open(git_dir).filter(is_without_rules)?;
    let (name, new) = (branch_ref(&push.branch)?, object_id(&push.commit).ok()?);
    let expected = match &push.expected {
        Some(old) => Some(object_id(old).ok()?),
        None => None,
    };
    let there = find(&target, &name)?.map(|found| found.inner.target);
    if there == Some(Target::Object(new)) {
        return sync_branch(git_dir, &push.branch).ok();
    }
    if there != expected.map(Target::Object) || !has_room(&target, &push.branch)? {
        return None;
    }
    let source = open_repository(dir).ok()?.to_thread_local();
    let merged = push.merged.as_ref().map(object_id).transpose().ok()?;
    let objects = new_objects(&source, new, &whole(&target, expected, merged))?;
    let directories = write_durably(write, &objects)?;
    move_branch(&target, name, new, expected, directories)
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
fn whole(target: &Repository, expected: Option<ObjectId>, merged: Option<ObjectId>) -> Vec<ObjectId> {
    let head = target.head_id().ok().map(gix::Id::detach);
    head.into_iter().chain(expected).chain(merged).collect()
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

/// As git does it: the value that was expected is looked for under the lock, and the new one is on the disk, with the
/// `directories` of its objects, before it is in its place.
fn move_branch(
    target: &Repository,
    name: FullName,
    new: ObjectId,
    expected: Option<ObjectId>,
    directories: Vec<PathBuf>,
) -> Option<()> {
    let expected = match expected {
        Some(old) => PreviousValue::MustExistAndMatch(Target::Object(old)),
        None => PreviousValue::MustNotExist,
    };
    let log = LogChange { mode: RefLog::AndReference, force_create_reflog: false, message: "push".into() };
    let path = target.refs.git_dir().join(name.as_bstr().to_string());
    let parents = parents_of(&path, target.refs.git_dir());
    let lock = target.refs.git_dir().join(format!("{}.lock", name.as_bstr()));
    let change = Change::Update { log, expected, new: Target::Object(new) };
    let edit = RefEdit { change, name, deref: false };
    let moving = target.refs.transaction().prepare([edit], Fail::Immediately, Fail::Immediately).ok()?;
    durable::sync_all(directories.into_iter().chain([lock])).ok()?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = format!("{seconds} +0000");
    let us = SignatureRef { name: "Docwright".into(), email: "docwright@localhost".into(), time: &time };
    moving.commit(Some(us)).ok()?;
    durable::sync_all(parents).ok()
}

/// The directories that change when the ref at `path` is made: its own and, where that is not there yet, those above it
/// up to the first that is.
fn parents_of(path: &Path, git_dir: &Path) -> Vec<PathBuf> {
    let mut parents = Vec::new();
    for directory in durable::directories(path, git_dir) {
        let is_there = directory.is_dir();
        parents.push(directory);
        if is_there {
            break;
        }
    }
    parents
}
