//! The list of the commits whose parents the cache does not have, in the file that git reads it
//! from. Every commit that was ever fetched is on it, so it is also what the host need not send.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::snapshot::{damaged, noticing, object_id, open_repository};
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

    /// Those that are here, the newest first. git clears the list when it clears away commits, but
    /// not at the same moment.
    pub(crate) fn newest(&self, most: usize) -> Result<Vec<&Oid>> {
        let repository = open_repository(&self.dir)?.to_thread_local();
        let time = |oid: &Oid| repository.find_commit(object_id(oid).ok()?).ok()?.time().ok();
        let mut here: Vec<_> =
            self.commits.iter().filter_map(|oid| Some((time(oid)?.seconds, oid))).collect();
        here.sort_unstable_by(|a, b| b.cmp(a));
        Ok(here.into_iter().take(most).map(|(_, oid)| oid).collect())
    }

    /// The nearest commit that `commit` is made from and that the host must have: `known`, or one
    /// that was fetched. `None` when there is none, and all of it is new.
    pub(crate) fn base_of(&self, commit: &Oid, known: Option<&Oid>) -> Result<Option<Oid>> {
        let repository = open_repository(&self.dir)?.to_thread_local();
        let fetched: HashSet<_> = self.commits.iter().chain(known).collect();
        let mut at = commit.clone();
        while !fetched.contains(&at) {
            let found = noticing(&self.dir, repository.find_commit(object_id(&at)?).map_err(damaged))?;
            // What is made here has one parent.
            let Some(parent) = found.parent_ids().next() else { return Ok(None) };
            at = Oid::parse(&parent.to_string())?;
        }
        Ok(Some(at))
    }

    /// Puts one more commit on the list. Whoever calls this has the cache alone, so that a lock that
    /// is left there is nobody's.
    pub(crate) fn add(&self, commit: &Oid) -> Result<()> {
        if self.commits.contains(commit) {
            return Ok(());
        }
        let lock = self.dir.join("shallow.lock");
        let lines = self.commits.iter().chain([commit]).map(|oid| format!("{oid}\n"));
        fs::write(&lock, lines.collect::<String>())?;
        Ok(fs::rename(lock, self.dir.join("shallow"))?)
    }
}
