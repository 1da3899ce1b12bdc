//! Checks that the files of a data directory are still the ones that the server opened. A server whose files were deleted
//! or replaced writes to unlinked files, and a second server could start in the directory.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The maximum age of an answer of [`DirectoryWatch::is_intact`], which every writing request calls.
const MAX_AGE: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum DirectoryLost {
    #[error("{0} was deleted under this server")]
    Deleted(PathBuf),
    #[error("{0} was replaced under this server")]
    Replaced(PathBuf),
    #[error("{path} cannot be looked at any more: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl From<&Metadata> for FileId {
    fn from(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

#[derive(Debug)]
pub struct DirectoryWatch {
    files: Vec<(PathBuf, FileId)>,
    started: Instant,
    /// In milliseconds since `started`.
    checked_at: AtomicU64,
    intact: AtomicBool,
}

impl DirectoryWatch {
    pub(crate) fn new(
        paths: impl Iterator<Item = PathBuf>,
        (lock, opened): (PathBuf, &File),
    ) -> io::Result<Self> {
        let with_id = |path: PathBuf| fs::metadata(&path).map(|found| (path, FileId::from(&found)));
        let mut files = paths.map(with_id).collect::<io::Result<Vec<_>>>()?;
        files.push((lock, FileId::from(&opened.metadata()?)));
        let (checked_at, intact) = (AtomicU64::new(0), AtomicBool::new(true));
        Ok(Self { files, started: Instant::now(), checked_at, intact })
    }

    /// Checks every file. The error ends when the same files are back, such as after a rename.
    pub fn check(&self) -> Result<(), DirectoryLost> {
        let found = self.files.iter().try_for_each(|(path, id)| compare(path, *id));
        self.intact.store(found.is_ok(), Ordering::Relaxed);
        self.checked_at.store(self.now(), Ordering::Relaxed);
        found
    }

    /// A cached check, cheap enough for every request.
    pub fn is_intact(&self) -> bool {
        let age = self.now().saturating_sub(self.checked_at.load(Ordering::Relaxed));
        match u128::from(age) < MAX_AGE.as_millis() {
            true => self.intact.load(Ordering::Relaxed),
            false => self.check().is_ok(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn compare(path: &Path, id: FileId) -> Result<(), DirectoryLost> {
    match fs::metadata(path) {
        Ok(found) if FileId::from(&found) == id => Ok(()),
        Ok(_) => Err(DirectoryLost::Replaced(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(DirectoryLost::Deleted(path.to_owned())),
        Err(source) => Err(DirectoryLost::Unreadable { path: path.to_owned(), source }),
    }
}
