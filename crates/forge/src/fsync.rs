//! Calls fsync on files and directories, so that writes survive a power cut.
//!
//! File content is durable after an fsync of the file; a rename is durable after an fsync of the directory.
//! git does not sync directories, so callers sync them after git's writes and after their own.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Parallel syncs. The file system groups syncs that arrive together into one commit.
const PARALLEL_SYNCS: usize = 16;

/// Syncs files and directories in parallel. Duplicates are skipped.
pub(crate) fn sync_all(paths: impl IntoIterator<Item = PathBuf>) -> io::Result<()> {
    let mut paths: Vec<PathBuf> = paths.into_iter().collect();
    paths.sort();
    paths.dedup();
    let share = paths.len().div_ceil(PARALLEL_SYNCS).max(1);
    std::thread::scope(|threads| {
        let mut shares = paths.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares.map(|share| threads.spawn(|| sync_each(share))).collect();
        let synced = sync_each(first);
        let failed = |_| Err(io::Error::other("an fsync thread panicked"));
        others.into_iter().map(|other| other.join().unwrap_or_else(failed)).fold(synced, Result::and)
    })
}

fn sync_each(paths: &[PathBuf]) -> io::Result<()> {
    paths.iter().try_for_each(|path| sync(path))
}

pub(crate) fn sync(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    match file.sync_all() {
        // Some network file systems cannot sync a directory. Their server orders the writes.
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput && path.is_dir() => Ok(()),
        done => done,
    }
}

/// The ancestor directories of `path`, up to and including `top`.
pub(crate) fn directories(path: &Path, top: &Path) -> impl Iterator<Item = PathBuf> {
    let below: Vec<_> =
        path.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).map(Path::to_owned).collect();
    below.into_iter()
}

/// Syncs a new directory with everything in it, and its entry in the parent.
pub fn sync_tree(top: &Path) -> io::Result<()> {
    let mut found = vec![top.to_owned()];
    collect(top, &mut found)?;
    sync_all(found)?;
    top.parent().map_or(Ok(()), sync)
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), found)?;
        }
        if kind.is_dir() || kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_end_at_the_top() {
        let listed = |path: &str, top: &str| -> Vec<String> {
            directories(Path::new(path), Path::new(top)).map(|dir| dir.display().to_string()).collect()
        };
        assert_eq!(listed("/r/refs/heads/a/b", "/r/refs/heads"), ["/r/refs/heads/a", "/r/refs/heads"]);
        assert_eq!(listed("/r/packed-refs", "/r"), ["/r"]);
    }

    #[test]
    fn a_missing_file_fails_the_whole_sync() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..40).map(|n| dir.path().join(n.to_string())).collect();
        for path in &paths {
            fs::write(path, "x").unwrap();
        }
        sync_all(paths.iter().cloned().chain([dir.path().to_owned()])).unwrap();
        sync_tree(dir.path()).unwrap();
        fs::remove_file(&paths[39]).unwrap();
        assert!(sync_all(paths).is_err());
    }
}
