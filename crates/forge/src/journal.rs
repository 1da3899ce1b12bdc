//! Keeps a write-ahead journal of writes to repositories: it records which lock files a write takes before it
//! takes them.
//!
//! A killed process leaves its lock files behind. They look like the lock files of any other git program, so
//! without a record nobody could remove them safely, and the branch would stay locked forever. Each
//! repository has one record in a folder of the data directory. The writer holds an `flock` on it, and so do
//! the git programs that it starts. A process that gets the `flock` knows that the previous writer is dead or
//! done, and may remove its lock files.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::git::Output;
use crate::stale_locks::{self, WriteRecord};
use crate::{Error, FileRemote, Oid, Result, bare, fsync};

/// How long a write waits for another Docwright process to finish its write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// A record holds two paths and two names.
const MAX_RECORD_BYTES: u64 = 64 << 10;
/// Starts with git's prefix for quarantined objects, so that `git gc` removes leftovers.
pub(crate) const QUARANTINE_PREFIX: &str = "tmp_objdir-docwright-";

/// An exclusive lock for writes to one repository. Dropping it releases the lock.
pub(crate) struct RepositoryWrite {
    git_dir: PathBuf,
    quarantine: PathBuf,
    /// `None` for a [`FileRemote`] without a journal, as in tests.
    record: Option<(PathBuf, File)>,
    /// Whether a git program was started and has not exited, as far as is known. It may leave lock files.
    may_git_be_running: AtomicBool,
}

impl RepositoryWrite {
    /// Waits for other writes to the repository, removes the lock files of a killed write, and records the
    /// locks of this write. The record is durable only after an fsync of [`Self::record_path`].
    pub(crate) fn begin(remote: &FileRemote, branch: &str, commit: &Oid) -> Result<Self> {
        let git_dir = remote.path().to_owned();
        let name = format!("{QUARANTINE_PREFIX}{:016x}", random_u64());
        let quarantine = git_dir.join("objects").join(name);
        let record = match remote.journal() {
            Some(folder) => {
                let (path, mut file) = open_record(folder, &git_dir)?;
                recover(&mut file)?;
                let next = WriteRecord::new(&git_dir, branch, commit, &quarantine);
                write_record(&mut file, &next)?;
                Some((path, file))
            }
            None => None,
        };
        Ok(Self { git_dir, quarantine, record, may_git_be_running: AtomicBool::new(false) })
    }

    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The folder that holds new objects until they are durable.
    pub(crate) fn quarantine(&self) -> &Path {
        &self.quarantine
    }

    /// The file to fsync before taking a lock.
    pub(crate) fn record_path(&self) -> Option<PathBuf> {
        self.record.as_ref().map(|(path, _)| path.clone())
    }

    pub(crate) fn sync_record(&self) -> io::Result<()> {
        self.record.as_ref().map_or(Ok(()), |(_, file)| file.sync_all())
    }

    /// The record as standard input for a git program. git does not read it, but holds the `flock` until it
    /// exits, even if this process is killed.
    pub(crate) fn stdin(&self) -> io::Result<Stdio> {
        self.may_git_be_running.store(true, Ordering::Relaxed);
        match &self.record {
            Some((_, file)) => Ok(file.try_clone()?.into()),
            None => Ok(Stdio::null()),
        }
    }

    /// Notes that git exited. A killed git has no exit code and may have left lock files.
    pub(crate) fn git_ended(&self, output: &Output) {
        self.may_git_be_running.store(output.code.is_none(), Ordering::Relaxed);
    }
}

impl Drop for RepositoryWrite {
    fn drop(&mut self) {
        if self.may_git_be_running.load(Ordering::Relaxed) {
            return recover_in_background(self.record.take());
        }
        // The quarantine is empty after a complete push.
        let removed = fs::remove_dir_all(&self.quarantine);
        if removed.is_err_and(|cause| cause.kind() != io::ErrorKind::NotFound) {
            tracing::warn!("could not remove the quarantine folder {}", self.quarantine.display());
        }
        // No fsync: if a power cut restores the record, the files that it names no longer exist.
        if let Some((path, file)) = &self.record
            && let Err(cause) = file.set_len(0)
        {
            tracing::warn!("could not clear the write record {}: {cause}", path.display());
        }
    }
}

/// Removes the lock files of a killed git program. The record stays until that is done, so that the next
/// write or start can do it instead.
fn recover_in_background(record: Option<(PathBuf, File)>) {
    let Some((path, file)) = record else { return };
    // From now on, only the git program holds the `flock`.
    drop(file);
    let recover = move || {
        let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
        lock_with_timeout(&file)?;
        Ok(recover(&mut file)?)
    };
    std::thread::spawn(move || {
        let recovered: Result<()> = recover();
        if let Err(error) = recovered {
            tracing::warn!(
                "could not remove the lock files of a killed git; the next write removes them: {error}"
            );
        }
    });
}

/// Removes the lock files and scratch repositories of killed processes. Skips locked records: their writers
/// are alive.
pub fn recover_writes(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => bare::remove_stale_scratch(&path)?,
            false => recover_write(&path)?,
        }
    }
    Ok(())
}

fn recover_write(record: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(record)?;
    match file.try_lock() {
        Ok(()) => recover(&mut file),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(cause)) => Err(cause),
    }
}

/// Removes leftovers first and clears the record last, because a power cut must not restore a lock without
/// its record.
fn recover(file: &mut File) -> io::Result<()> {
    if let Some(record) = read_record(file)? {
        stale_locks::remove_leftovers(&record)?;
    }
    file.set_len(0)
}

fn open_record(folder: &Path, git_dir: &Path) -> Result<(PathBuf, File)> {
    let mut hasher = DefaultHasher::new();
    git_dir.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    let is_new = !path.exists();
    fs::create_dir_all(folder)?;
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
    lock_with_timeout(&file)?;
    if is_new {
        fsync::sync_all([folder.to_owned(), folder.parent().unwrap_or(folder).to_owned()])?;
    }
    Ok((path, file))
}

fn lock_with_timeout(file: &File) -> Result<()> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(cause)) => return Err(cause.into()),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => sleep(LOCK_RETRY_INTERVAL),
            Err(TryLockError::WouldBlock) => {
                let sentence = "another write to the repository takes too long: try again later".to_owned();
                return Err(Error::Temporary { sentence, retry_after: None });
            }
        }
    }
}

fn random_u64() -> u64 {
    use std::hash::BuildHasher as _;
    std::hash::RandomState::new().hash_one(())
}

/// Writes four lines and an end marker. A record without the marker was interrupted before its writer locked
/// anything.
fn write_record(file: &mut File, record: &WriteRecord) -> io::Result<()> {
    let mut text = Vec::new();
    for line in [record.git_dir.as_os_str().as_bytes(), record.quarantine.as_os_str().as_bytes()] {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{}\n{}\nend\n", record.branch, record.commit).as_bytes());
    file.rewind()?;
    file.write_all(&text)
}

fn read_record(file: &mut File) -> io::Result<Option<WriteRecord>> {
    let mut text = Vec::new();
    file.rewind()?;
    (&*file).take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let [git_dir, quarantine, branch, commit, b"end", ..] = lines[..] else { return Ok(None) };
    let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
    let (Ok(branch), Ok(commit)) = (std::str::from_utf8(branch), std::str::from_utf8(commit)) else {
        return Ok(None);
    };
    let Ok(commit) = Oid::parse(commit) else { return Ok(None) };
    let started_at = file.metadata()?.modified()?;
    Ok(Some(WriteRecord {
        started_at,
        ..WriteRecord::new(&path(git_dir), branch, &commit, &path(quarantine))
    }))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// This process survives; only the git program that it started is killed.
    #[test]
    fn locks_of_a_killed_git_are_removed_before_the_next_write() {
        let temp_dir = tempfile::tempdir().unwrap();
        let git_dir = temp_dir.path().join("docs.git");
        fs::create_dir_all(git_dir.join("refs/heads")).unwrap();
        fs::create_dir_all(git_dir.join("objects/pack")).unwrap();
        let remote = FileRemote::new(&git_dir).unwrap().with_journal(&temp_dir.path().join("writes"));
        let commit = Oid::parse(&"1".repeat(40)).unwrap();
        let locks = ["refs/heads/main.lock", "HEAD.lock"].map(|name| git_dir.join(name));

        let write = RepositoryWrite::begin(&remote, "main", &commit).unwrap();
        let mut git = Command::new("sleep").arg("600").stdin(write.stdin().unwrap()).spawn().unwrap();
        locks.iter().for_each(|lock| fs::write(lock, "").unwrap());
        drop(write);
        assert!(locks.iter().all(|lock| lock.exists()), "git is alive and may be writing");
        git.kill().unwrap();
        git.wait().unwrap();
        let next = RepositoryWrite::begin(&remote, "main", &commit).unwrap();
        assert!(locks.iter().all(|lock| !lock.exists()));
        drop(next);
    }
}
