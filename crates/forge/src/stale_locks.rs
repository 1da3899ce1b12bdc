//! Finds and removes leftovers of a killed process or a power cut in a repository: lock files, empty refs and
//! quarantined objects.
//!
//! Leftovers that may belong to another program are reported but never removed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::journal::QUARANTINE_PREFIX;
use crate::{Error, Oid, fsync};

/// A live program writes to its lock file, or removes it, within this time.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// The lock files that git takes in addition to the branch's own.
const SHARED_LOCKS: &[&str] = &["packed-refs.lock", "HEAD.lock", "shallow.lock"];

/// A write to a repository, as the journal records it.
pub(crate) struct WriteRecord {
    pub(crate) git_dir: PathBuf,
    pub(crate) quarantine: PathBuf,
    pub(crate) branch: String,
    pub(crate) commit: Oid,
    pub(crate) started_at: SystemTime,
}

impl WriteRecord {
    pub(crate) fn new(git_dir: &Path, branch: &str, commit: &Oid, quarantine: &Path) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            quarantine: quarantine.to_owned(),
            branch: branch.to_owned(),
            commit: commit.clone(),
            started_at: SystemTime::now(),
        }
    }
}

/// Removes the leftovers of a write. Call it only when the writer is known to be dead.
pub(crate) fn remove_leftovers(record: &WriteRecord) -> io::Result<()> {
    let lock = reference_lock(&record.git_dir, &record.branch);
    if is_own_lock(&lock, &record.commit)? {
        remove_file(&lock)?;
    }
    for lock in SHARED_LOCKS.iter().map(|name| record.git_dir.join(name)) {
        if is_quiet(&lock)? {
            remove_file(&lock)?;
        }
    }
    for keep in files_below(&record.git_dir.join("objects/pack"))? {
        if is_own_keep(&keep, record.started_at)? {
            remove_file(&keep)?;
        }
    }
    remove_empty_branch(&record.git_dir, &record.branch)?;
    let name = record.quarantine.file_name().map(|name| name.as_encoded_bytes());
    if name.is_some_and(|name| name.starts_with(QUARANTINE_PREFIX.as_bytes())) {
        ignore_not_found(fs::remove_dir_all(&record.quarantine))?;
    }
    Ok(())
}

/// A branch's lock file belongs to the write if it contains the write's commit or its first characters. An
/// empty one may belong to another program that just created it.
fn is_own_lock(lock: &Path, commit: &Oid) -> io::Result<bool> {
    let text = match fs::read(lock) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        text => text?,
    };
    match text.is_empty() {
        true => is_quiet(lock),
        false => Ok(format!("{commit}\n").as_bytes().starts_with(&text)),
    }
}

/// While git receives a packfile, a `.keep` file protects it from repacking until a ref names it. A stale
/// `.keep` file protects it forever.
fn is_own_keep(path: &Path, started_at: SystemTime) -> io::Result<bool> {
    let is_keep = path.extension() == Some("keep".as_ref());
    let is_new = || path.metadata().and_then(|meta| meta.modified()).is_ok_and(|time| time >= started_at);
    let is_received =
        || fs::read(path).is_ok_and(|text| text.is_empty() || text.starts_with(b"receive-pack "));
    Ok(is_keep && is_new() && is_received() && is_quiet(path)?)
}

/// Whether the file exists and nobody changes it.
fn is_quiet(path: &Path) -> io::Result<bool> {
    let state = |meta: &Metadata| (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
    let Ok(before) = fs::symlink_metadata(path) else { return Ok(false) };
    if age(&before).is_none_or(|age| age < QUIET_PERIOD) {
        sleep(QUIET_PERIOD);
    }
    Ok(fs::symlink_metadata(path).is_ok_and(|after| state(&after) == state(&before)))
}

/// `None` when the modification time is in the future, for example after the clock was set back.
pub(crate) fn age(meta: &Metadata) -> Option<Duration> {
    SystemTime::now().duration_since(meta.modified().ok()?).ok()
}

/// Removes a file durably (with an fsync of its directory).
fn remove_file(path: &Path) -> io::Result<()> {
    tracing::warn!("removed {}, a leftover of an interrupted write by docwright", path.display());
    ignore_not_found(fs::remove_file(path))?;
    path.parent().map_or(Ok(()), fsync::sync)
}

fn ignore_not_found(done: io::Result<()>) -> io::Result<()> {
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

/// Removes an empty ref of an agent's branch. A power cut leaves such refs, and git refuses every push while
/// one exists. An empty ref holds no data.
pub(crate) fn remove_empty_branch(git_dir: &Path, branch: &str) -> io::Result<()> {
    let reference = git_dir.join("refs/heads").join(branch);
    match branch.starts_with(crate::OWN_BRANCHES) && is_empty_file(&reference) {
        true => remove_file(&reference),
        false => Ok(()),
    }
}

/// Removes all empty refs of the agent's branches.
pub(crate) fn remove_empty_branches(git_dir: &Path) -> io::Result<()> {
    let heads = git_dir.join("refs/heads");
    for path in files_below(&heads.join(crate::OWN_BRANCHES))? {
        if is_empty_file(&path) && path.extension() != Some("lock".as_ref()) {
            remove_file(&path)?;
        }
    }
    Ok(())
}

/// All files below a folder; none when the folder does not exist.
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

/// The error for a lock file that blocks writes to `branch`, if one exists.
pub(crate) fn blocking_lock(git_dir: &Path, branch: &str) -> Option<Error> {
    let shared = SHARED_LOCKS.iter().map(|name| git_dir.join(name));
    let mut locks = [reference_lock(git_dir, branch)].into_iter().chain(shared);
    locks.find_map(|lock| {
        let meta = lock.symlink_metadata().ok()?;
        Some(Error::Locked { age: age(&meta).unwrap_or_default(), lock })
    })
}
