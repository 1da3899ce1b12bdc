//! Records which lock files a write to a repository takes, before it takes them.
//!
//! A process that is killed leaves its lock files behind, and they look like those of any other git program: without a
//! record nobody could tell whose they are, and the branch could never be written again. There is one record a
//! repository, in a folder of the data directory. Its writer holds it by `flock`, and so do the git programs that the
//! writer starts. A process that gets the `flock` knows that the last writer is dead or done, and may remove what it
//! left.

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
use crate::stale::{self, Leftovers};
use crate::{Error, FileRemote, Oid, Result, bare, durable};

/// How long a write waits for another one of ours.
const MAX_WAIT: Duration = Duration::from_secs(30);
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// No record is longer: it holds two paths and two names.
const MAX_RECORD_BYTES: u64 = 64 << 10;
/// git's own prefix for objects that are not in place yet; `git gc` removes what is left of them.
pub(crate) const QUARANTINE_PREFIX: &str = "tmp_objdir-docwright-";

/// The right to write to one repository, until it is dropped.
pub(crate) struct RepositoryWrite {
    git_dir: PathBuf,
    quarantine: PathBuf,
    /// `None` where nothing is recorded: in tests that write to a bare [`FileRemote`].
    record: Option<(PathBuf, File)>,
    /// A git program was started and did not come to its end, as far as is known: it may leave its locks.
    is_git_at_work: AtomicBool,
}

impl RepositoryWrite {
    /// Waits for other writes of ours to the repository, removes what a killed one left, and records what this one
    /// is about to lock. The record is durable only after a sync of [`Self::record_path`].
    pub(crate) fn begin(remote: &FileRemote, branch: &str, commit: &Oid) -> Result<Self> {
        let git_dir = remote.path().to_owned();
        let name = format!("{QUARANTINE_PREFIX}{:016x}", random());
        let quarantine = git_dir.join("objects").join(name);
        let record = match remote.journal() {
            Some(folder) => {
                let (path, mut file) = open(folder, &git_dir)?;
                recover(&mut file)?;
                let next = Leftovers::new(&git_dir, branch, commit, &quarantine);
                write_record(&mut file, &next)?;
                Some((path, file))
            }
            None => None,
        };
        Ok(Self { git_dir, quarantine, record, is_git_at_work: AtomicBool::new(false) })
    }

    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Where objects wait until they are durable.
    pub(crate) fn quarantine(&self) -> &Path {
        &self.quarantine
    }

    /// What must be synced before anything is locked.
    pub(crate) fn record_path(&self) -> Option<PathBuf> {
        self.record.as_ref().map(|(path, _)| path.clone())
    }

    pub(crate) fn sync_record(&self) -> io::Result<()> {
        self.record.as_ref().map_or(Ok(()), |(_, file)| file.sync_all())
    }

    /// Given to a git program as its standard input, which it does not read: it then holds the `flock` for as long as
    /// it lives, also when this process is killed.
    pub(crate) fn stdin(&self) -> io::Result<Stdio> {
        self.is_git_at_work.store(true, Ordering::Relaxed);
        match &self.record {
            Some((_, file)) => Ok(file.try_clone()?.into()),
            None => Ok(Stdio::null()),
        }
    }

    /// The git program came to its end. One that was killed has no exit code, and may have left its locks.
    pub(crate) fn git_ended(&self, output: &Output) {
        self.is_git_at_work.store(output.code.is_none(), Ordering::Relaxed);
    }
}

impl Drop for RepositoryWrite {
    fn drop(&mut self) {
        if self.is_git_at_work.load(Ordering::Relaxed) {
            return recover_behind(self.record.take());
        }
        // Empty after a push that came to its end.
        let removed = fs::remove_dir_all(&self.quarantine);
        if removed.is_err_and(|cause| cause.kind() != io::ErrorKind::NotFound) {
            tracing::warn!("the folder {} could not be removed", self.quarantine.display());
        }
        // Not synced: a record that comes back after a power cut names nothing that is still there.
        if let Some((path, file)) = &self.record
            && let Err(cause) = file.set_len(0)
        {
            tracing::warn!("the write record {} could not be cleared: {cause}", path.display());
        }
    }
}

/// Removes what a git program left that was killed: by a time limit, by who asked and gave up, or by the machine. The
/// record stays until that is done, so that the next write or start does it otherwise.
fn recover_behind(record: Option<(PathBuf, File)>) {
    let Some((path, file)) = record else { return };
    // Held by the program alone from now on.
    drop(file);
    let recover = move || {
        let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
        wait_for(&file)?;
        Ok(recover(&mut file)?)
    };
    std::thread::spawn(move || {
        let recovered: Result<()> = recover();
        if let Err(error) = recovered {
            tracing::warn!("what a git program left that was killed is removed by the next write: {error}");
        }
    });
}

/// Removes what killed processes left in the repositories that they were writing to, and their scratch repositories. A
/// record that is held is left alone: its writer is alive, and the next write looks again.
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

/// The record is cleared once what it names is gone for good: a power cut must not bring back a lock without it.
fn recover(file: &mut File) -> io::Result<()> {
    if let Some(left) = read_record(file)? {
        stale::remove(&left)?;
    }
    file.set_len(0)
}

fn open(folder: &Path, git_dir: &Path) -> Result<(PathBuf, File)> {
    let mut hasher = DefaultHasher::new();
    git_dir.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    let is_new = !path.exists();
    fs::create_dir_all(folder)?;
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
    wait_for(&file)?;
    if is_new {
        durable::sync_all([folder.to_owned(), folder.parent().unwrap_or(folder).to_owned()])?;
    }
    Ok((path, file))
}

fn wait_for(file: &File) -> Result<()> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(cause)) => return Err(cause.into()),
            Err(TryLockError::WouldBlock) if began.elapsed() < MAX_WAIT => sleep(RETRY_INTERVAL),
            Err(TryLockError::WouldBlock) => {
                let sentence = "another write to the repository takes long".to_owned();
                return Err(Error::Later { sentence, after: None });
            }
        }
    }
}

fn random() -> u64 {
    use std::hash::BuildHasher as _;
    std::hash::RandomState::new().hash_one(())
}

/// Four lines and an end: a record that was cut off has none, and was written by a process that had locked nothing yet.
fn write_record(file: &mut File, left: &Leftovers) -> io::Result<()> {
    let mut text = Vec::new();
    for line in [left.git_dir.as_os_str().as_bytes(), left.quarantine.as_os_str().as_bytes()] {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{}\n{}\nend\n", left.branch, left.commit).as_bytes());
    file.rewind()?;
    file.write_all(&text)
}

fn read_record(file: &mut File) -> io::Result<Option<Leftovers>> {
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
    let since = file.metadata()?.modified()?;
    Ok(Some(Leftovers { since, ..Leftovers::new(&path(git_dir), branch, &commit, &path(quarantine)) }))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A git program that is killed while this process lives on leaves its locks as one does that dies with it.
    #[test]
    fn locks_of_a_killed_git_are_removed_before_the_next_write() {
        let room = tempfile::tempdir().unwrap();
        let git_dir = room.path().join("docs.git");
        fs::create_dir_all(git_dir.join("refs/heads")).unwrap();
        fs::create_dir_all(git_dir.join("objects/pack")).unwrap();
        let remote = FileRemote::new(&git_dir).unwrap().journaled(&room.path().join("writes"));
        let commit = Oid::parse(&"1".repeat(40)).unwrap();
        let locks = ["refs/heads/main.lock", "HEAD.lock"].map(|name| git_dir.join(name));

        let write = RepositoryWrite::begin(&remote, "main", &commit).unwrap();
        let mut git = Command::new("sleep").arg("600").stdin(write.stdin().unwrap()).spawn().unwrap();
        locks.iter().for_each(|lock| fs::write(lock, "").unwrap());
        drop(write);
        assert!(locks.iter().all(|lock| lock.exists()), "it is alive, and may be at work");
        git.kill().unwrap();
        git.wait().unwrap();
        let next = RepositoryWrite::begin(&remote, "main", &commit).unwrap();
        assert!(locks.iter().all(|lock| !lock.exists()));
        drop(next);
    }
}
