//! Bare repositories of our own making, written file by file: no template, and no setting but ours.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::DATA_DIRECTORY;
use crate::{Error, Result, stale};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
const HEAD: &str = "ref: refs/heads/none\n";

/// More boundaries than that are no clone anybody made for its docs.
const MAX_SHALLOW_BYTES: u64 = 16 << 20;

/// Makes an empty one in `dir`.
pub(crate) fn make(dir: &Path) -> std::io::Result<()> {
    for sub in ["refs/heads", "objects/info", "objects/pack"] {
        fs::create_dir_all(dir.join(sub))?;
    }
    fs::write(dir.join("config"), CONFIG)?;
    fs::write(dir.join("HEAD"), HEAD)
}

/// Whether `dir` is one that [`make`] made, with nothing added to its configuration since.
pub(crate) fn is_ours(dir: &Path) -> bool {
    let same = |file: &str, text: &str| fs::read(dir.join(file)).is_ok_and(|is| is == text.as_bytes());
    let plain = |dir: &Path| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    // Either would make it read from, or write to, somewhere else.
    let elsewhere = ["commondir", "objects/info/alternates"];
    plain(dir)
        && same("config", CONFIG)
        && same("HEAD", HEAD)
        && plain(&dir.join("refs"))
        && plain(&dir.join("objects"))
        && !elsewhere.iter().any(|file| dir.join(file).exists())
}

/// An empty repository that sees another one's objects and nothing else of it, so that git can
/// merge and compare them without that one's configuration. Gone when dropped.
pub(crate) struct Scratch {
    dir: TempDir,
    /// Locked for as long as the repository is in use: what a killed process left is not.
    _held: File,
}

/// How the names of scratch repositories begin.
pub(crate) const SCRATCH_PREFIX: &str = "scratch-";
/// The file in a scratch repository that its user holds by `flock`.
const HELD: &str = "held";
/// A scratch repository without that file is being made, or its maker was killed.
const MAX_MAKING: Duration = Duration::from_secs(60);

impl Scratch {
    /// Makes one in `folder`.
    pub(crate) fn over(git_dir: &Path, folder: &Path) -> Result<Self> {
        Self::make(git_dir, folder).map_err(|error| error.at(DATA_DIRECTORY))
    }

    fn make(git_dir: &Path, folder: &Path) -> Result<Self> {
        // For nobody else to read: it holds what is merged of a private repository.
        let private = fs::Permissions::from_mode(0o700);
        fs::create_dir_all(folder)?;
        let dir = tempfile::Builder::new().prefix(SCRATCH_PREFIX).permissions(private).tempdir_in(folder)?;
        let held = File::create(dir.path().join(HELD))?;
        held.lock()?;
        make(dir.path())?;
        let mut alternates = git_dir.join("objects").into_os_string();
        alternates.push("\n");
        let listed = dir.path().join("objects/info/alternates");
        fs::write(listed, alternates.as_encoded_bytes())?;
        copy_shallow(git_dir, dir.path())?;
        Ok(Self { dir, _held: held })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes a scratch repository that a killed process left.
pub(crate) fn remove_stale_scratch(dir: &Path) -> std::io::Result<()> {
    let is_stale = match File::open(dir.join(HELD)) {
        Ok(held) => held.try_lock().is_ok(),
        Err(_) => stale::age(&dir.symlink_metadata()?).is_some_and(|age| age > MAX_MAKING),
    };
    if is_stale { fs::remove_dir_all(dir) } else { Ok(()) }
}

/// A shallow repository lacks the parents of some commits; without its list of these, git would
/// take that for damage.
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
