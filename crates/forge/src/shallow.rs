//! Reads and writes git's `shallow` file: the list of commits whose parents the cache lacks.
//!
//! Every fetched commit is on the list, so it also says which commits the host need not send.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::snapshot::{damaged, mark_damage, object_id, open_repository};
use crate::{Oid, Result};

pub(crate) struct Shallow {
    dir: PathBuf,
    commits: Vec<Oid>,
}

impl Shallow {
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let list = match fs::read_to_string(dir.join("shallow")) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => return Err(damaged(cause)),
            list => list?,
        };
        let commits = list.lines().map(|line| Oid::parse(line).map_err(damaged)).collect::<Result<_>>()?;
        Ok(Self { dir: dir.to_owned(), commits })
    }

    /// The listed commits that the cache has, newest first. The list may name commits that git has already
    /// pruned.
    pub(crate) fn newest(&self, limit: usize) -> Result<Vec<&Oid>> {
        let repository = open_repository(&self.dir)?.to_thread_local();
        let time = |oid: &Oid| repository.find_commit(object_id(oid).ok()?).ok()?.time().ok();
        let mut present: Vec<_> =
            self.commits.iter().filter_map(|oid| Some((time(oid)?.seconds, oid))).collect();
        present.sort_unstable_by(|a, b| b.cmp(a));
        Ok(present.into_iter().take(limit).map(|(_, oid)| oid).collect())
    }

    /// The nearest ancestor of `commit` that the host has: `known`, or a fetched commit. `None` when the host
    /// has no ancestor.
    pub(crate) fn base_of(&self, commit: &Oid, known: Option<&Oid>) -> Result<Option<Oid>> {
        let repository = open_repository(&self.dir)?.to_thread_local();
        let fetched: HashSet<_> = self.commits.iter().chain(known).collect();
        let mut at = commit.clone();
        while !fetched.contains(&at) {
            let found = mark_damage(&self.dir, repository.find_commit(object_id(&at)?).map_err(damaged))?;
            // Commits of the cache have one parent.
            let Some(parent) = found.parent_ids().next() else { return Ok(None) };
            at = Oid::parse(&parent.to_string())?;
        }
        Ok(Some(at))
    }

    pub(crate) fn commits(&self) -> &[Oid] {
        &self.commits
    }

    /// Adds a commit to the list. The caller must hold the cache's lock, so an existing lock file is stale.
    pub(crate) fn add(&self, commit: &Oid) -> Result<()> {
        if self.commits.contains(commit) {
            return Ok(());
        }
        self.write(self.commits.iter().chain([commit]))
    }

    /// Replaces the list. The caller must hold the lock, as for [`Shallow::add`].
    pub(crate) fn replace(&mut self, commits: Vec<Oid>) -> Result<()> {
        self.commits = commits;
        self.write(self.commits.iter())
    }

    fn write<'a>(&self, commits: impl Iterator<Item = &'a Oid>) -> Result<()> {
        let lock = self.dir.join("shallow.lock");
        fs::write(&lock, commits.map(|oid| format!("{oid}\n")).collect::<String>())?;
        Ok(fs::rename(lock, self.dir.join("shallow"))?)
    }
}
