//! A fetch from a repository on this machine, when little is new there: what a commit has, and the newest one that was
//! fetched before has not, is written to the cache. Nothing waits for the disk: a cache that lost something is made
//! anew.

use std::path::Path;

use super::objects::{New, write};
use super::{has_none, open};
use crate::Oid;
use crate::shallow::Shallow;
use crate::snapshot::{object_id, open_repository};

/// What a sender may be told to keep to itself.
const RULES: &[&str] = &["uploadpack", "transfer"];

/// Brings `tip`, without its history, from the repository at `git_dir` into the cache at `dir`. With `None` it is not
/// there.
pub(crate) fn fetch(dir: &Path, git_dir: &Path, tip: &Oid) -> Option<()> {
    let source = open(git_dir).filter(|source| has_none(source, RULES))?;
    let cache = open_repository(dir).ok()?.to_thread_local();
    let shallow = Shallow::read(dir).ok()?;
    let here = object_id(shallow.newest(1).ok()?.first()?).ok()?;
    let old = cache.find_commit(here).ok()?.tree_id().ok()?.detach();
    let new = New::since(old, &source, object_id(tip).ok()?)?;
    // Before the commit itself, so that it is never here without its parents and without being on the list.
    shallow.add(tip).ok()?;
    new.iter().try_for_each(|object| write(&cache, object))
}
