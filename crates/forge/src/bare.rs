//! Creates bare repositories file by file: the repository caches and the scratch repositories.
//!
//! `git init` would copy templates and read the user's configuration, so it is not used.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::DATA_DIRECTORY;
use crate::{Error, Result, stale_locks};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
const HEAD: &str = "ref: refs/heads/none\n";

/// A longer list of shallow commits is refused, because it is copied for every merge.
const MAX_SHALLOW_BYTES: u64 = 16 << 20;

/// Creates an empty bare repository in `dir`.
pub(crate) fn init(dir: &Path) -> std::io::Result<()> {
    for sub in ["refs/heads", "objects/info", "objects/pack"] {
        fs::create_dir_all(dir.join(sub))?;
    }
    fs::write(dir.join("config"), CONFIG)?;
    fs::write(dir.join("HEAD"), HEAD)
}

/// Whether `dir` is a repository that [`init`] created, with an unchanged configuration.
pub(crate) fn is_unmodified(dir: &Path) -> bool {
    let same = |file: &str, text: &str| fs::read(dir.join(file)).is_ok_and(|is| is == text.as_bytes());
    let plain = |dir: &Path| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    // Either file redirects git to the files of another repository.
    let elsewhere = ["commondir", "objects/info/alternates"];
    plain(dir)
        && same("config", CONFIG)
        && same("HEAD", HEAD)
        && plain(&dir.join("refs"))
        && plain(&dir.join("objects"))
        && !elsewhere.iter().any(|file| dir.join(file).exists())
}

/// An empty temporary repository that borrows another repository's objects (git alternates). git can merge
/// and compare those objects without reading the other repository's configuration. Dropping it removes it.
pub(crate) struct Scratch {
    dir: TempDir,
    /// Locked with `flock` while the repository is in use. The kernel unlocks it when the process dies.
    _lock: File,
}

pub(crate) const SCRATCH_PREFIX: &str = "scratch-";
/// The file in a scratch repository that its user locks with `flock`.
const LOCK_FILE: &str = "held";
/// A scratch repository that has no lock file after this time belongs to a killed process.
const MAX_CREATION_TIME: Duration = Duration::from_secs(60);

impl Scratch {
    /// Creates a scratch repository in `folder` over the objects of `git_dir`.
    pub(crate) fn new(git_dir: &Path, folder: &Path) -> Result<Self> {
        Self::create(git_dir, folder).map_err(|error| error.at(DATA_DIRECTORY))
    }

    fn create(git_dir: &Path, folder: &Path) -> Result<Self> {
        // It holds merged files of a private repository, so other users must not read it.
        let private = fs::Permissions::from_mode(0o700);
        fs::create_dir_all(folder)?;
        let dir = tempfile::Builder::new().prefix(SCRATCH_PREFIX).permissions(private).tempdir_in(folder)?;
        let lock = File::create(dir.path().join(LOCK_FILE))?;
        lock.lock()?;
        init(dir.path())?;
        let mut alternates = git_dir.join("objects").into_os_string();
        alternates.push("\n");
        let listed = dir.path().join("objects/info/alternates");
        fs::write(listed, alternates.as_encoded_bytes())?;
        copy_shallow(git_dir, dir.path())?;
        Ok(Self { dir, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes a scratch repository unless a live process uses it.
pub(crate) fn remove_stale_scratch(dir: &Path) -> std::io::Result<()> {
    let is_stale = match File::open(dir.join(LOCK_FILE)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => stale_locks::age(&dir.symlink_metadata()?).is_some_and(|age| age > MAX_CREATION_TIME),
    };
    if is_stale { fs::remove_dir_all(dir) } else { Ok(()) }
}

/// Copies the list of shallow commits. Without it, git reports the missing parents as damage.
fn copy_shallow(from: &Path, to: &Path) -> Result<()> {
    let list: PathBuf = from.join("shallow");
    match fs::metadata(&list) {
        Err(_) => Ok(()),
        Ok(meta) if !meta.is_file() || meta.len() > MAX_SHALLOW_BYTES => Err(Error::Repository(
            "the repository's list of shallow commits is too long: give a full clone".to_owned(),
        )),
        Ok(_) => Ok(fs::copy(list, to.join("shallow")).map(|_| ())?),
    }
}
