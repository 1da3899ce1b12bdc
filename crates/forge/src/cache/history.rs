//! Caches the history of a project on a web host in a repository of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Cache, PIN_PREFIX, ensure_healthy, in_data_directory, lock, recreate};
use crate::commit::set_pin;
use crate::history::{Keep, read_local, read_names};
use crate::shallow::Shallow;
use crate::snapshot::{self, damaged, object_id, open_repository};
use crate::{
    Error, History, HistoryLimits, HttpRemote, Oid, Remote, Result, Snapshot, smart_http, stale_locks,
};

/// The name of the pin at the commit whose history was fetched last.
const PIN: &str = "history";
/// The marker file of a history that is too large to fetch.
const TOO_LARGE_MARKER: &str = "docwright-too-large";
/// When to try again to fetch such a history.
const RETRY_TOO_LARGE_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Each fetch adds a packfile and a few shallow commits. With more of them, everything is fetched again.
const MAX_PACKS: usize = 64;
const MAX_SHALLOW: usize = 4_000;

/// The history of a project's branch. It has the commits and the folders of the newest commits, without the
/// contents of files. A repository on this machine is read where it is, and nothing is stored.
///
/// Nothing in it is the only copy, so it can be deleted while it is not in use. Share one per project within
/// a process.
pub struct HistoryCache {
    cache: Cache,
    limits: HistoryLimits,
}

impl HistoryCache {
    /// The cache at `dir`. It is created when the first history is fetched.
    pub fn new(dir: &Path, limits: HistoryLimits) -> Result<Self> {
        let dir = std::path::absolute(dir)?;
        Ok(Self { cache: Cache { dir, fetch_mutex: Arc::default(), counts: Arc::default() }, limits })
    }

    /// The history of `commit` with the paths that `keep` accepts. On a web host, `commit` must be the tip of
    /// a branch or one of its ancestors.
    pub async fn read(&self, remote: &Remote, commit: &Oid, keep: Keep<'_>) -> Result<History> {
        match remote {
            Remote::File(file) => {
                let folder = file.journal().map_or_else(std::env::temp_dir, PathBuf::from);
                read_local(file, &folder, commit, keep, self.limits).await
            }
            Remote::Http(http) => {
                if !self.fetch(http, commit).await.map_err(in_data_directory)? {
                    return Ok(History::unknown(commit));
                }
                let read = read_names(&self.cache.dir, commit, keep, self.limits).await;
                snapshot::mark_damage(&self.cache.dir, read.map_err(blame_cache)).map_err(in_data_directory)
            }
        }
    }

    /// Fetches the history of `commit` if it is missing. `false` when it is too large.
    async fn fetch(&self, remote: &HttpRemote, commit: &Oid) -> Result<bool> {
        let dir = &self.cache.dir;
        let _guard = self.cache.fetch_mutex.lock().await;
        let _lock = lock(dir).await?;
        ensure_healthy(dir)?;
        if is_too_large(dir) {
            return Ok(false);
        }
        let mut have = fetched_commit(dir)?;
        if have.as_ref() == Some(commit) {
            return Ok(true);
        }
        let is_damaged = have.as_ref().is_some_and(|have| Snapshot::open(dir, have).is_err());
        if is_damaged || is_fragmented(dir)? {
            recreate(dir)?;
            have = None;
        }
        let fetched = match smart_http::fetch_history(dir, remote, commit, have.as_ref(), &self.limits).await
        {
            Err(Error::Git(cause) | Error::Damaged(cause)) if have.is_some() => {
                tracing::warn!("recreating the history cache at {}: {cause}", dir.display());
                recreate(dir)?;
                smart_http::fetch_history(dir, remote, commit, None, &self.limits).await?
            }
            fetched => fetched?,
        };
        match fetched {
            true => set_pin(&open_repository(dir)?.to_thread_local(), &pin_name(), object_id(commit)?)?,
            false => fs::write(dir.join(TOO_LARGE_MARKER), "")?,
        }
        Ok(fetched)
    }
}

/// git reads nothing but the cache, so whatever it cannot read is damaged.
fn blame_cache(error: Error) -> Error {
    match error {
        Error::Git(words) if words.starts_with("`git log` failed") => Error::Damaged(words),
        other => other,
    }
}

fn pin_name() -> String {
    format!("{PIN_PREFIX}{PIN}")
}

/// The commit whose history was fetched completely.
fn fetched_commit(dir: &Path) -> Result<Option<Oid>> {
    let repository = open_repository(dir)?.to_thread_local();
    match repository.try_find_reference(&pin_name()).map_err(damaged)? {
        Some(pin) => pin.try_id().map(|id| Oid::parse(&id.to_string())).transpose(),
        None => Ok(None),
    }
}

fn is_too_large(dir: &Path) -> bool {
    let Ok(marker) = dir.join(TOO_LARGE_MARKER).symlink_metadata() else { return false };
    let is_recent = stale_locks::age(&marker).is_none_or(|age| age < RETRY_TOO_LARGE_AFTER);
    is_recent || fs::remove_file(dir.join(TOO_LARGE_MARKER)).is_err()
}

fn is_fragmented(dir: &Path) -> Result<bool> {
    let packs = fs::read_dir(dir.join("objects/pack"))?.count() / 2;
    Ok(packs > MAX_PACKS || Shallow::read(dir)?.commits().len() > MAX_SHALLOW)
}
