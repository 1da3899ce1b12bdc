//! Pushes to a local repository in two steps: writes the commit's new objects, then makes the ref update
//! under git's own lock file. Both are durable when the push returns. No hook runs.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gix::actor::SignatureRef;
use gix::lock::acquire::Fail;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use gix::{ObjectDetached, ObjectId, Repository};

use super::objects::{NewObjects, write_durably};
use super::{branch_ref, find_ref, is_not_checked_out, lacks_sections, open};
use crate::file_transport::{Push, sync_branch};
use crate::fsync;
use crate::journal::RepositoryWrite;
use crate::snapshot::{object_id, open_repository};

/// Configuration sections that can make a push fail or run a hook.
const RECEIVE_SECTIONS: &[&str] = &["hook", "receive", "transfer"];

/// Writes the commit from the repository at `dir` and moves the branch, if the branch is at the expected
/// commit or at the new one. `None` when the branch was not moved.
pub(crate) fn push(dir: &Path, write: &RepositoryWrite, push: &Push) -> Option<()> {
    let git_dir = write.git_dir();
    is_not_checked_out(git_dir, &push.branch)?;
    let target = open(git_dir).filter(has_default_receive_config)?;
    let (name, new) = (branch_ref(&push.branch)?, object_id(&push.commit).ok()?);
    let expected = match &push.expected {
        Some(old) => Some(object_id(old).ok()?),
        None => None,
    };
    let current = find_ref(&target, &name)?.found().map(|reference| reference.inner.target);
    if current == Some(Target::Object(new)) {
        return sync_branch(git_dir, &push.branch).ok();
    }
    if current != expected.map(Target::Object) || !has_no_ref_conflict(&target, &push.branch)? {
        return None;
    }
    let source = open_repository(dir).ok()?.to_thread_local();
    let merged = push.merged.as_ref().map(object_id).transpose().ok()?;
    let objects = new_objects(&source, new, &complete_commits(&target, expected, merged))?;
    let directories = write_durably(write, &objects)?;
    move_branch(&target, name, new, expected, directories)
}

/// Whether no setting refuses a push or asks for special file permissions.
fn has_default_receive_config(target: &Repository) -> bool {
    lacks_sections(target, RECEIVE_SECTIONS)
        && target.config_snapshot().string("core.sharedRepository").is_none()
}

/// Refs are files, so the branches `a` and `a/b` cannot both exist.
fn has_no_ref_conflict(target: &Repository, branch: &str) -> Option<bool> {
    for (at, _) in branch.match_indices('/') {
        if find_ref(target, &branch_ref(&branch[..at])?)?.found().is_some() {
            return Some(false);
        }
    }
    let below = format!("refs/heads/{branch}/");
    let none = target.references().ok()?.prefixed(below.as_str()).ok()?.next().is_none();
    Some(none)
}

/// Commits that the target has with all their objects, because refs point at them.
fn complete_commits(
    target: &Repository,
    expected: Option<ObjectId>,
    merged: Option<ObjectId>,
) -> Vec<ObjectId> {
    let head = target.head_id().ok().map(gix::Id::detach);
    head.into_iter().chain(expected).chain(merged).collect()
}

/// The commit with the files and folders that its first parent lacks.
fn new_objects(
    source: &Repository,
    commit: ObjectId,
    complete_commits: &[ObjectId],
) -> Option<Vec<ObjectDetached>> {
    let new = source.find_commit(commit).ok()?;
    let parents: Vec<_> = new.parent_ids().map(gix::Id::detach).collect();
    if parents.is_empty() || !parents.iter().all(|parent| complete_commits.contains(parent)) {
        return None;
    }
    let old = source.find_commit(parents[0]).ok()?.tree_id().ok()?.detach();
    NewObjects::collect(old, source, commit)
}

/// Updates the ref like git: checks the expected value under the lock, and syncs the new value and the
/// `directories` of its objects before renaming it into place.
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
    fsync::sync_all(directories.into_iter().chain([lock])).ok()?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = format!("{seconds} +0000");
    let committer =
        SignatureRef { name: "Docwright".into(), email: "docwright@localhost".into(), time: &time };
    moving.commit(Some(committer)).ok()?;
    fsync::sync_all(parents).ok()
}

/// The directories that change when the ref at `path` is created: its directory and, if that is new, its
/// ancestors up to the first existing one.
fn parents_of(path: &Path, git_dir: &Path) -> Vec<PathBuf> {
    let mut parents = Vec::new();
    for directory in fsync::directories(path, git_dir) {
        let is_there = directory.is_dir();
        parents.push(directory);
        if is_there {
            break;
        }
    }
    parents
}
