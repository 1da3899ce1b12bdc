//! Reads the history of a docs repository: renamed pages, removed pages, and the last change of each page.
//!
//! The history is the chain of first parents: how the branch itself changed. A merge counts as one change, on
//! the day of the merge.
//!
//! A repository on this machine is read where it is. A web host's history is fetched without the contents of
//! files into a repository of its own ([`HistoryCache`]), so similar contents cannot be compared there: only
//! equal contents and equal names are recognized.

mod collect;
mod pairs;
mod raw_log;
mod read;

use std::time::Duration;

pub(crate) use self::collect::Keep;
pub(crate) use self::read::{read_local, read_names};
use crate::Oid;

/// What happened to the files that the caller asked for. Dates are committer dates, in seconds since 1970,
/// and can be wrong: nobody checks the clock of a committer. Dates before 1970 or after 9999 are moved there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The commit whose history this is.
    pub commit: Oid,
    /// The date of the oldest commit that was read; `i64::MAX` if none was.
    pub since: i64,
    /// Whether the history was read to its first commit. `false` when it was cut off at a limit, or when the
    /// repository does not have all of it.
    pub complete: bool,
    /// Newest first. A path may have been renamed several times.
    pub renames: Vec<Rename>,
    /// Newest first. A path is listed once, with its last removal, and only if it does not exist now.
    pub removed: Vec<Removed>,
    /// The current files that changed, by path, with the date of their last change. A rename alone is no
    /// change. A file that is not listed has not changed after `since`.
    pub last_changed: Vec<(String, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    pub date: i64,
    pub from: String,
    pub to: String,
    /// The share of the content that stayed, in percent; 100 for equal contents. `None` when the contents were
    /// not compared: the file has the same name in another folder.
    pub similarity: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    pub path: String,
    pub date: i64,
    /// The last content. The repository may not have it.
    pub blob: Option<Oid>,
}

/// Where to stop. A history that reaches a limit is cut off there; that is no error.
#[derive(Debug, Clone, Copy)]
pub struct HistoryLimits {
    pub commits: u32,
    pub time: Duration,
    /// For the names of files that are kept in memory, in bytes.
    pub names: usize,
    /// How many commits deep a web host's history is fetched.
    pub depth: u32,
    /// The largest packfile that is fetched from a web host, in bytes.
    pub pack: u64,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            commits: 20_000,
            time: Duration::from_secs(60),
            names: 64 << 20,
            depth: 2_000,
            pack: 256 << 20,
        }
    }
}

impl History {
    /// Nothing is known about the history of this commit.
    pub fn unknown(commit: &Oid) -> Self {
        Self {
            commit: commit.clone(),
            since: i64::MAX,
            complete: false,
            renames: Vec::new(),
            removed: Vec::new(),
            last_changed: Vec::new(),
        }
    }
}
