//! Puts restored data into a data directory.
//!
//! All of it happens inside the directory, under its lock: its parent may belong to somebody else, it may be a mount
//! point, and no server can start on it meanwhile. `docwright.db` leaves first and arrives last, so that a restore that
//! is cut off leaves a directory that `docwright serve` does not take for a new installation.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use store::{DataDir, DataDirLock, RESTORE_DRAFT, RESTORE_PREVIOUS};
use tempfile::TempDir;

use super::disk;
use super::manifest::{DATABASE, VIEWS};

/// The lock is held while everything else moves; file systems make `lost+found`.
const STAYS: &[&str] = &["lock", "lost+found"];

pub(super) struct Replacement {
    pub(super) dir: DataDir,
    draft: Option<TempDir>,
    /// The data directory was made by this command; it goes again if the backup turns out to be bad.
    is_new: bool,
    _held: DataDirLock,
}

impl Replacement {
    /// Takes the data directory, which is refused when a server has it, or when there is something in it.
    pub(super) fn prepare(path: &Path, force: bool) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        if let Ok(found) = DataDir::find(path) {
            ensure!(
                !found.is_locked(),
                "a Docwright server is using {}: stop it first, or restore to another directory with --data",
                path.display()
            );
            ensure!(
                force || content(found.path())?.is_empty(),
                "{} is not empty: restore to another directory with --data, or add --force to replace what is in it",
                path.display()
            );
        }
        let dir = DataDir::open(path)?;
        let held = dir.lock()?;
        let draft = disk::draft(dir.path(), RESTORE_DRAFT);
        let mut replacement = Self { dir, draft: None, is_new, _held: held };
        replacement.draft = Some(draft?);
        Ok(replacement)
    }

    /// An empty folder for what is to be put into the data directory.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        let draft = self.draft.as_ref().context("the restore has ended already")?;
        Ok(draft.path().to_owned())
    }

    /// Moves previous content aside and the new content in. Answers where the previous content is now.
    pub(super) fn finish(mut self) -> anyhow::Result<Option<PathBuf>> {
        let new = self.folder()?;
        disk::sync_all_below(&new)?;
        self.is_new = false;
        let previous = self.move_aside(&new)?;
        let moved = self.move_in(&new);
        moved.with_context(|| match &previous {
            Some(previous) => {
                format!("the restore was cut off; the previous content is in {}", previous.display())
            }
            None => "the restore was cut off".to_owned(),
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
                // The last name makes the directory whole, so the others are on disk before it.
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

/// The database leaves before its log: without the log it would look whole, and be older.
fn database_first(names: &mut [OsString]) {
    names.sort_by_key(|name| (name != DATABASE, !name.to_string_lossy().starts_with(DATABASE)));
}

/// The folders that earlier restores moved previous content to, the newest first.
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

/// What a data directory holds, or is about to hold.
fn content(folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let name = entry?.file_name();
        let stays =
            STAYS.iter().any(|stays| name == *stays) || name.to_string_lossy().starts_with(RESTORE_PREVIOUS);
        if !stays {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_leaves_first() {
        let mut names =
            ["views.db", "docwright.db-shm", "docwright.db-wal", "docwright.db"].map(OsString::from);
        database_first(&mut names);
        assert_eq!(names, ["docwright.db", "docwright.db-shm", "docwright.db-wal", "views.db"]);
    }
}
