//! Writes a backup to a folder or an archive, which gets its name only when it is complete and on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use super::archive;
use super::disk::{self, parent};
use super::manifest::{MANIFEST, Manifest};

const ARCHIVE: &str = ".tar.zst";
/// Endings that people would expect to be another kind of file, which this program does not write.
const REFUSED_ENDINGS: &[&str] = &[".tar", ".gz", ".tgz", ".zst", ".zip", ".xz", ".bz2", ".db"];

pub(super) struct Target {
    path: PathBuf,
    is_archive: bool,
    /// Collects the backup, on the same file system as the target. A target that exists may be a mount point, so the
    /// draft is inside the target. The draft of a new target is beside the target.
    draft: TempDir,
}

impl Target {
    /// Refuses a target that would be overwritten.
    pub(super) fn prepare(path: &Path) -> anyhow::Result<Self> {
        let display = path.display();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            bail!(
                "{display} cannot be the name of a backup: name a new directory, or a file that ends in {ARCHIVE}"
            )
        };
        let is_archive = name.ends_with(ARCHIVE);
        ensure!(
            is_archive || !REFUSED_ENDINGS.iter().any(|ending| name.ends_with(ending)),
            "a backup is a directory, or a file that ends in {ARCHIVE}: choose another name than {display}"
        );
        if let Ok(metadata) = fs::symlink_metadata(path) {
            let is_empty = match metadata.is_dir() {
                true => !is_archive && is_empty(path)?,
                false => is_archive && metadata.is_file() && metadata.len() == 0,
            };
            ensure!(is_empty, "{display} already exists: choose another name, or remove it first");
        }
        let folder = parent(path);
        ensure!(folder.is_dir(), "there is no directory {}: create it first", folder.display());
        let draft = match path.is_dir() {
            true => disk::create_draft(path, "partial-")?,
            false => disk::create_draft(&folder, &format!("{name}.partial-"))?,
        };
        disk::create_dir(&draft.path().join("data"))?;
        Ok(Self { path: path.to_owned(), is_archive, draft })
    }

    /// The folder to collect the backup in.
    pub(super) fn folder(&self) -> PathBuf {
        self.draft.path().join("data")
    }

    /// Syncs the backup to disk, and gives it its name.
    pub(super) fn finish(self, manifest: &Manifest) -> anyhow::Result<()> {
        let mut complete = self.folder();
        archive::write_manifest(&complete, manifest)?;
        if self.is_archive {
            let file = self.draft.path().join("archive");
            archive::write(&complete, manifest, &file)?;
            complete = file;
        } else {
            disk::sync_all_below(&complete)?;
        }
        let display = self.path.display();
        let renamed = match self.path.is_dir() {
            true => move_all(&complete, &self.path),
            false => fs::rename(&complete, &self.path),
        };
        renamed.with_context(|| format!("{display} cannot be written"))?;
        disk::sync(&parent(&self.path)).with_context(|| format!("{display} cannot be synced to disk"))
    }
}

/// `lost+found` does not count: file systems create it.
fn is_empty(folder: &Path) -> io::Result<bool> {
    let mut names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    names.try_fold(true, |is_empty, name: io::Result<_>| Ok(is_empty && name? == "lost+found"))
}

/// The manifest comes last: without it, the folder is not a backup.
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
