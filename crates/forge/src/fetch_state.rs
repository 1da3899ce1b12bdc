//! Remembers how a cache gets the files of its commits, in a file of the cache.
//!
//! A cache without this file has every file of every commit. The file is written before the first object that needs
//! it: a cache with missing files must always have it, even after an interruption.

use std::fs;
use std::path::Path;

use crate::Result;

const NAME: &str = "docwright-files";

/// How a cache gets the files of its commits, and what that cost so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchState {
    pub mode: FetchMode,
    /// The address of the repository. The mode says nothing about another one.
    pub(crate) url: String,
    /// The size of all packfiles.
    pub bytes: u64,
    /// Requests for files.
    pub batches: u64,
    /// The files that these requests fetched.
    pub files: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchMode {
    /// Commits are fetched without files. A file is fetched when it is read.
    OnDemand,
    /// Commits are fetched with all files, because the host cannot omit files.
    NoFilter,
    /// Commits are fetched with all files, because the host refuses to send files by their ids.
    RefusesIds,
}

impl FetchMode {
    const ALL: [(Self, &str); 3] = [
        (Self::OnDemand, "on-demand"),
        (Self::NoFilter, "whole: no filter"),
        (Self::RefusesIds, "whole: refuses ids"),
    ];
}

impl FetchState {
    pub(crate) fn new(mode: FetchMode, url: &str) -> Self {
        Self { mode, url: url.to_owned(), bytes: 0, batches: 0, files: 0 }
    }

    /// The state of the cache at `dir`. `None` also when the file is unreadable: a missing file is then damage.
    pub fn read(dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(dir.join(NAME)).ok()?;
        let mut lines = text.lines();
        let name = lines.next()?;
        let (mode, _) = FetchMode::ALL.into_iter().find(|(_, known)| *known == name)?;
        let mut state = Self::new(mode, lines.next()?);
        let mut numbers = lines.map_while(|line| line.parse().ok());
        for number in [&mut state.bytes, &mut state.batches, &mut state.files] {
            *number = numbers.next().unwrap_or(0);
        }
        Some(state)
    }

    /// The caller must hold the cache's lock.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let mode = FetchMode::ALL.into_iter().find(|(mode, _)| *mode == self.mode);
        let (mode, url) = (mode.map_or("", |(_, name)| name), &self.url);
        let text = format!("{mode}\n{url}\n{}\n{}\n{}\n", self.bytes, self.batches, self.files);
        let new = dir.join(format!("{NAME}.new"));
        fs::write(&new, text)?;
        Ok(fs::rename(new, dir.join(NAME))?)
    }

    /// Records that the cache has every file of every commit.
    pub(crate) fn remove(dir: &Path) -> Result<()> {
        match fs::remove_file(dir.join(NAME)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Whether the cache lacks files that it can fetch.
pub(crate) fn is_on_demand(dir: &Path) -> bool {
    FetchState::read(dir).is_some_and(|state| state.mode == FetchMode::OnDemand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(FetchState::read(dir.path()), None);
        for (mode, _) in FetchMode::ALL {
            let new = FetchState::new(mode, "https://git.test/acme/docs");
            let state = FetchState { bytes: 1 << 40, batches: 7, files: 3, ..new };
            state.write(dir.path()).unwrap();
            assert_eq!(FetchState::read(dir.path()), Some(state));
        }
        fs::write(dir.path().join(NAME), "another mode\nhttps://git.test\n").unwrap();
        assert_eq!(FetchState::read(dir.path()), None);
        FetchState::remove(dir.path()).unwrap();
        FetchState::remove(dir.path()).unwrap();
    }
}
