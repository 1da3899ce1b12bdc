//! Creates files and folders that only their owner can read, and syncs them to disk.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// Creates a temporary folder, which is removed when the command fails.
pub(super) fn create_draft(folder: &Path, prefix: &str) -> anyhow::Result<TempDir> {
    let private = fs::Permissions::from_mode(0o700);
    let draft = tempfile::Builder::new().prefix(prefix).permissions(private).tempdir_in(folder);
    draft.with_context(|| format!("{} cannot be written to", folder.display()))
}

pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Syncs a folder and everything in it.
pub(super) fn sync_all_below(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_all_below(&entry.path())?,
            false => sync(&entry.path())?,
        }
    }
    sync(folder)
}

/// Syncs a file, or the entries of a folder.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The folder that a path is in.
pub(super) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
