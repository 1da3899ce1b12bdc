//! Where a backup goes: a folder or an archive, which has its name only once it is whole and on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use super::archive;
use super::disk::{self, parent};
use super::manifest::{MANIFEST, Manifest};

const ARCHIVE: &str = ".tar.zst";
/// Names that promise an archive of another kind than the one this program writes.
const OTHER_ARCHIVES: &[&str] = &[".tar", ".gz", ".tgz", ".zst", ".zip", ".xz", ".bz2", ".db"];

pub(super) struct Target {
    path: PathBuf,
    is_archive: bool,
    /// On the file system of the target: in it, if it is there already and may be a mount point, or beside it.
    draft: TempDir,
}

impl Target {
    /// Refuses a target that would be overwritten.
    pub(super) fn prepare(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            bail!(
                "{shown} is not a name for a backup: name a new directory, or a file that ends in {ARCHIVE}"
            )
        };
        let is_archive = name.ends_with(ARCHIVE);
        ensure!(
            is_archive || !OTHER_ARCHIVES.iter().any(|ending| name.ends_with(ending)),
            "a backup is a directory, or a file that ends in {ARCHIVE}: choose another name than {shown}"
        );
        if let Ok(found) = fs::symlink_metadata(path) {
            let is_empty = match found.is_dir() {
                true => !is_archive && is_empty(path)?,
                false => is_archive && found.is_file() && found.len() == 0,
            };
            ensure!(is_empty, "{shown} exists already: choose another name, or remove it first");
        }
        let folder = parent(path);
        ensure!(folder.is_dir(), "there is no directory {}: create it first", folder.display());
        let draft = match path.is_dir() {
            true => disk::draft(path, "partial-")?,
            false => disk::draft(&folder, &format!("{name}.partial-"))?,
        };
        disk::create_dir(&draft.path().join("data"))?;
        Ok(Self { path: path.to_owned(), is_archive, draft })
    }

    /// The folder to collect the backup in.
    pub(super) fn folder(&self) -> PathBuf {
        self.draft.path().join("data")
    }

    /// Gives the backup its name. It is on disk then.
    pub(super) fn finish(self, manifest: &Manifest) -> anyhow::Result<()> {
        let mut whole = self.folder();
        archive::write_manifest(&whole, manifest)?;
        if self.is_archive {
            let file = self.draft.path().join("archive");
            archive::write(&whole, manifest, &file)?;
            whole = file;
        } else {
            disk::sync_all_below(&whole)?;
        }
        let shown = self.path.display();
        let named = match self.path.is_dir() {
            true => move_all(&whole, &self.path),
            false => fs::rename(&whole, &self.path),
        };
        named.with_context(|| format!("{shown} cannot be written"))?;
        disk::sync(&parent(&self.path)).with_context(|| format!("{shown} cannot be synced to disk"))
    }
}

/// File systems make `lost+found`.
fn is_empty(folder: &Path) -> io::Result<bool> {
    let mut names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    names.try_fold(true, |is_empty, name: io::Result<_>| Ok(is_empty && name? == "lost+found"))
}

/// The manifest comes last: without it the folder is no backup.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    let mut names =
        fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| name == MANIFEST);
    for name in names {
        if name == MANIFEST {
            disk::sync(to)?;
        }
        fs::rename(from.join(&name), to.join(&name))?;
    }
    disk::sync(to)
}
