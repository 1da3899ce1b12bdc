//! Makes files and directories survive a power cut.
//!
//! A rename is durable once the directory is synced, and what a file says once the file is. git syncs no
//! directories, so this is done after it as well as after our own writes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Syncs that run at once. The file system commits those that arrive together in one go.
const PARALLEL_SYNCS: usize = 16;

/// Syncs files and directories, several at a time. Duplicates cost nothing.
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
        let failed = |_| Err(io::Error::other("a sync to disk broke off"));
        others.into_iter().map(|other| other.join().unwrap_or_else(failed)).fold(synced, Result::and)
    })
}

fn sync_each(paths: &[PathBuf]) -> io::Result<()> {
    paths.iter().try_for_each(|path| sync(path))
}

pub(crate) fn sync(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    match file.sync_all() {
        // Some network file systems cannot sync a directory; their server keeps its own order.
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput && path.is_dir() => Ok(()),
        done => done,
    }
}

/// The directory of `path` and all above it, up to and including `top`.
pub(crate) fn directories(path: &Path, top: &Path) -> impl Iterator<Item = PathBuf> {
    let below: Vec<_> =
        path.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).map(Path::to_owned).collect();
    below.into_iter()
}

/// Syncs a directory that was just made, with all that is in it, and its name in its parent.
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
    fn a_file_that_is_gone_fails_the_whole_sync() {
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
