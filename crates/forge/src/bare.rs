//! Bare repositories of our own making, written file by file: no template, and no setting but ours.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, Result};

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
}

impl Scratch {
    pub(crate) fn over(git_dir: &Path) -> Result<Self> {
        // For nobody else to read: it holds what is merged of a private repository.
        let private = fs::Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new().prefix("docwright-").permissions(private).tempdir()?;
        make(dir.path())?;
        let mut alternates = git_dir.join("objects").into_os_string();
        alternates.push("\n");
        let listed = dir.path().join("objects/info/alternates");
        fs::write(listed, alternates.as_encoded_bytes())?;
        copy_shallow(git_dir, dir.path())?;
        Ok(Self { dir })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
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
