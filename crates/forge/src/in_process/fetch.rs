//! Fetches a commit from a local repository when few objects are new: copies the objects that the newest
//! cached commit lacks.
//!
//! Nothing is synced to disk, because the next fetch recreates a damaged cache.

use std::path::Path;

use super::objects::{NewObjects, write_object};
use super::{lacks_sections, open};
use crate::Oid;
use crate::shallow::Shallow;
use crate::snapshot::{object_id, open_repository};

/// Configuration sections that can hide refs or objects from a fetch.
const UPLOAD_SECTIONS: &[&str] = &["uploadpack", "transfer"];

/// Copies `tip`, without its history, from the repository at `git_dir` into the cache at `dir`. `None` when
/// nothing was fetched.
pub(crate) fn fetch(dir: &Path, git_dir: &Path, tip: &Oid) -> Option<()> {
    let source = open(git_dir).filter(|source| lacks_sections(source, UPLOAD_SECTIONS))?;
    let cache = open_repository(dir).ok()?.to_thread_local();
    let shallow = Shallow::read(dir).ok()?;
    let newest = object_id(shallow.newest(1).ok()?.first()?).ok()?;
    let old = cache.find_commit(newest).ok()?.tree_id().ok()?.detach();
    let new = NewObjects::collect(old, &source, object_id(tip).ok()?)?;
    // Write the list first: a cached commit without parents must always be on it.
    shallow.add(tip).ok()?;
    new.iter().try_for_each(|object| write_object(&cache, object))
}
