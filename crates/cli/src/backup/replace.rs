//! Puts restored data into a data directory.
//!
//! It works inside the directory and under its lock: the parent may belong to another user, the directory may be a mount
//! point, and no server may start on it meanwhile. `docwright.db` is moved out first and moved in last. So after an
//! interrupted restore, `docwright serve` does not mistake the directory for a new installation.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use store::{DataDir, DataDirLock, RESTORE_DRAFT, RESTORE_PREVIOUS};
use tempfile::TempDir;

use super::disk;
use super::manifest::{DATABASE, VIEWS};

/// The lock is held while everything else moves. File systems create `lost+found`.
const NEVER_MOVED: &[&str] = &["lock", "lost+found"];

pub(super) struct Replacement {
    pub(super) dir: DataDir,
    draft: Option<TempDir>,
    /// This command created the data directory, and removes it if the backup is invalid.
    is_new: bool,
    _lock: DataDirLock,
}

impl Replacement {
    /// Locks the data directory. Refuses it if a server uses it, or if it is not empty and `force` is false.
    pub(super) fn prepare(path: &Path, force: bool) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        if let Ok(dir) = DataDir::find(path) {
            ensure!(
                !dir.is_locked(),
                "a Docwright server is using {}: stop it first, or restore to another directory with --data",
                path.display()
            );
            ensure!(
                force || content(dir.path())?.is_empty(),
                "{} is not empty: restore to another directory with --data, or add --force to replace its content",
                path.display()
            );
        }
        let dir = DataDir::open(path)?;
        let lock = dir.lock()?;
        let draft = disk::create_draft(dir.path(), RESTORE_DRAFT);
        let mut replacement = Self { dir, draft: None, is_new, _lock: lock };
        replacement.draft = Some(draft?);
        Ok(replacement)
    }

    /// An empty folder for the new content of the data directory.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        let draft = self.draft.as_ref().context("the restore has already ended")?;
        Ok(draft.path().to_owned())
    }

    /// Moves the previous content aside and the new content in. Returns the folder of the previous content.
    pub(super) fn finish(mut self) -> anyhow::Result<Option<PathBuf>> {
        let new = self.folder()?;
        disk::sync_all_below(&new)?;
        self.is_new = false;
        let previous = self.move_aside(&new)?;
        let moved = self.move_in(&new);
        moved.with_context(|| match &previous {
            Some(previous) => {
                format!("the restore was interrupted; the previous content is in {}", previous.display())
            }
            None => "the restore was interrupted".to_owned(),
        })?;
        Ok(previous)
    }

    fn move_aside(&self, new: &Path) -> anyhow::Result<Option<PathBuf>> {
        let dir = self.dir.path();
        let mut names = content(dir)?;
        names.retain(|name| Some(name.as_os_str()) != new.file_name());
        if names.is_empty() {
            return Ok(None);
        }
        database_first(&mut names);
        let previous =
            dir.join(format!("{RESTORE_PREVIOUS}{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ")));
        disk::create_dir(&previous)?;
        for name in &names {
            let moved = fs::rename(dir.join(name), previous.join(name));
            moved.with_context(|| format!("{} cannot be moved aside", dir.join(name).display()))?;
        }
        disk::sync(&previous)?;
        disk::sync(dir)?;
        Ok(Some(previous))
    }

    fn move_in(&self, new: &Path) -> anyhow::Result<()> {
        let dir = self.dir.path();
        let mut names: Vec<_> = content(new)?;
        names.sort_by_key(|name| (name == DATABASE, name == VIEWS));
        for (number, name) in names.iter().enumerate() {
            if number + 1 == names.len() {
                // The last name completes the directory, so sync the others first.
                disk::sync(dir)?;
            }
            fs::rename(new.join(name), dir.join(name))?;
        }
        Ok(disk::sync(dir)?)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        drop(self.draft.take());
        if self.is_new {
            let _ = fs::remove_file(self.dir.path().join("lock"));
            let _ = fs::remove_dir(self.dir.path());
        }
    }
}

/// The database is moved before its write-ahead log: without the log, it would look complete but lack the last writes.
fn database_first(names: &mut [OsString]) {
    names.sort_by_key(|name| (name != DATABASE, !name.to_string_lossy().starts_with(DATABASE)));
}

/// The folders of previous content that earlier restores created, newest first.
pub(super) fn previous_folders(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(RESTORE_PREVIOUS))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders.reverse();
    folders
}

/// The names in a folder that belong to an installation.
fn content(folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let name = entry?.file_name();
        let is_kept = NEVER_MOVED.iter().any(|entry| name == *entry)
            || name.to_string_lossy().starts_with(RESTORE_PREVIOUS);
        if !is_kept {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_moved_first() {
        let mut names =
            ["views.db", "docwright.db-shm", "docwright.db-wal", "docwright.db"].map(OsString::from);
        database_first(&mut names);
        assert_eq!(names, ["docwright.db", "docwright.db-shm", "docwright.db-wal", "views.db"]);
    }
}
