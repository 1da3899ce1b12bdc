//! Finds and removes what a killed process or a power cut left in a repository: lock files, empty refs, and objects
//! that were never put in place. What another program may have left is named, never removed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::journal::QUARANTINE_PREFIX;
use crate::{Error, Oid, durable};

/// A program that is alive writes to the lock that it took, or is done with it, within this time.
const SETTLED: Duration = Duration::from_secs(1);
/// What git locks beside the branch: to look for it among the packed refs, and when `HEAD` names it.
const SHARED_LOCKS: &[&str] = &["packed-refs.lock", "HEAD.lock", "shallow.lock"];

/// What one write may have left.
pub(crate) struct Leftovers {
    pub(crate) git_dir: PathBuf,
    pub(crate) quarantine: PathBuf,
    pub(crate) branch: String,
    pub(crate) commit: Oid,
    /// When the write began.
    pub(crate) since: SystemTime,
}

impl Leftovers {
    pub(crate) fn new(git_dir: &Path, branch: &str, commit: &Oid, quarantine: &Path) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            quarantine: quarantine.to_owned(),
            branch: branch.to_owned(),
            commit: commit.clone(),
            since: SystemTime::now(),
        }
    }
}

/// Removes what the write that `left` describes has left. Call it only when that write is known to be dead.
pub(crate) fn remove(left: &Leftovers) -> io::Result<()> {
    let lock = reference_lock(&left.git_dir, &left.branch);
    if is_own_lock(&lock, &left.commit)? {
        remove_file(&lock)?;
    }
    for lock in SHARED_LOCKS.iter().map(|name| left.git_dir.join(name)) {
        if is_settled(&lock)? {
            remove_file(&lock)?;
        }
    }
    for keep in files_below(&left.git_dir.join("objects/pack"))? {
        if is_own_keep(&keep, left.since)? {
            remove_file(&keep)?;
        }
    }
    remove_empty_branch(&left.git_dir, &left.branch)?;
    let name = left.quarantine.file_name().map(|name| name.as_encoded_bytes());
    if name.is_some_and(|name| name.starts_with(QUARANTINE_PREFIX.as_bytes())) {
        missing_is_fine(fs::remove_dir_all(&left.quarantine))?;
    }
    Ok(())
}

/// The lock of a branch is the write's own if it holds the write's commit, or a part of it. An empty one may be another
/// program's that has just begun.
fn is_own_lock(lock: &Path, commit: &Oid) -> io::Result<bool> {
    let text = match fs::read(lock) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        text => text?,
    };
    match text.is_empty() {
        true => is_settled(lock),
        false => Ok(format!("{commit}\n").as_bytes().starts_with(&text)),
    }
}

/// git keeps a pack that it receives from being repacked until a ref names it, by a file that says so. One that stays
/// keeps it for ever.
fn is_own_keep(path: &Path, since: SystemTime) -> io::Result<bool> {
    let is_keep = path.extension() == Some("keep".as_ref());
    let is_new = || path.metadata().and_then(|meta| meta.modified()).is_ok_and(|time| time >= since);
    let is_received =
        || fs::read(path).is_ok_and(|text| text.is_empty() || text.starts_with(b"receive-pack "));
    Ok(is_keep && is_new() && is_received() && is_settled(path)?)
}

/// Whether the file is there and nobody changes it.
fn is_settled(path: &Path) -> io::Result<bool> {
    let state = |meta: &Metadata| (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
    let Ok(before) = fs::symlink_metadata(path) else { return Ok(false) };
    if age(&before).is_none_or(|age| age < SETTLED) {
        sleep(SETTLED);
    }
    Ok(fs::symlink_metadata(path).is_ok_and(|after| state(&after) == state(&before)))
}

/// `None` when its time is in the future, as after a clock that was set back.
pub(crate) fn age(meta: &Metadata) -> Option<Duration> {
    SystemTime::now().duration_since(meta.modified().ok()?).ok()
}

/// For good, also if the power is cut right after.
fn remove_file(path: &Path) -> io::Result<()> {
    tracing::warn!("removed {}, which a stopped write of docwright had left", path.display());
    missing_is_fine(fs::remove_file(path))?;
    path.parent().map_or(Ok(()), durable::sync)
}

fn missing_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn reference_lock(git_dir: &Path, branch: &str) -> PathBuf {
    git_dir.join(format!("refs/heads/{branch}.lock"))
}

pub(crate) fn is_empty_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0)
}

/// Removes an empty ref of the agent's own namespace: a power cut left it, and while it is there git takes no push at
/// all. Nothing is lost with it, for it says nothing.
pub(crate) fn remove_empty_branch(git_dir: &Path, branch: &str) -> io::Result<()> {
    let reference = git_dir.join("refs/heads").join(branch);
    match branch.starts_with(crate::OWN_BRANCHES) && is_empty_file(&reference) {
        true => remove_file(&reference),
        false => Ok(()),
    }
}

/// All empty refs of the agent's own namespace in a repository.
pub(crate) fn remove_empty_branches(git_dir: &Path) -> io::Result<()> {
    let heads = git_dir.join("refs/heads");
    for path in files_below(&heads.join(crate::OWN_BRANCHES))? {
        if is_empty_file(&path) && path.extension() != Some("lock".as_ref()) {
            remove_file(&path)?;
        }
    }
    Ok(())
}

/// All files below a folder; none when it is not there.
pub(crate) fn files_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => files.extend(files_below(&entry.path())?),
            false => files.push(entry.path()),
        }
    }
    Ok(files)
}

/// The lock that keeps `branch` from being written, if there is one.
pub(crate) fn blocking_lock(git_dir: &Path, branch: &str) -> Option<Error> {
    let shared = SHARED_LOCKS.iter().map(|name| git_dir.join(name));
    let mut locks = [reference_lock(git_dir, branch)].into_iter().chain(shared);
    locks.find_map(|lock| {
        let meta = lock.symlink_metadata().ok()?;
        Some(Error::Locked { age: age(&meta).unwrap_or_default(), lock })
    })
}
