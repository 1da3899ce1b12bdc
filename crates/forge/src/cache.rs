//! Caches each project's repository in a bare repository: every fetch, commit and push goes through it.

mod directory;
mod history;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;

pub(crate) use self::directory::lock;
use self::directory::{ensure_healthy, ensure_same_repository, recreate};
pub use self::history::HistoryCache;
use crate::commit::{self, NewCommit};
use crate::error::{DATA_DIRECTORY, REPOSITORY};
use crate::fetch_state::{FetchState, is_on_demand};
use crate::file_source::FileSource;
use crate::file_transport::{self, Push};
use crate::git::{self, Git};
use crate::{
    Error, FetchCounts, HttpRemote, Oid, Remote, Result, Snapshot, blobs, diff, smart_http, snapshot,
    valid_branch,
};

const PIN_PREFIX: &str = "refs/docwright/pins/";

/// A project's cached repository. It holds fetched and committed commits without their history. Pins (refs
/// under `refs/docwright/pins/`) protect commits in use from garbage collection. The cache never holds the
/// only copy of anything, so the next fetch replaces a damaged cache.
///
/// Share one `Cache` per project within a process. A file lock serializes fetches between processes.
pub struct Cache {
    dir: PathBuf,
    fetch_mutex: Arc<Mutex<()>>,
    counts: Arc<FetchCounts>,
}

impl Cache {
    /// Opens the cache at `dir`. Creates it if it is missing, and recreates it if its configuration changed.
    pub async fn open(dir: &Path) -> Result<Self> {
        Self::open_counted(dir, Arc::default()).await
    }

    /// Like [`Self::open`], and adds what fetches cost to `counts`.
    pub async fn open_counted(dir: &Path, counts: Arc<FetchCounts>) -> Result<Self> {
        let cache = Self { dir: std::path::absolute(dir)?, fetch_mutex: Arc::default(), counts };
        let lock = lock(&cache.dir).await.map_err(in_data_directory)?;
        ensure_healthy(&cache.dir).map_err(in_data_directory)?;
        drop(lock);
        Ok(cache)
    }

    /// Fetches the tip of `branch`, with all its files and no history, and points `pin` at it. Only one fetch
    /// runs at a time.
    pub async fn fetch(&self, remote: &Remote, branch: &str, pin: &str) -> Result<Oid> {
        valid_branch(branch)?;
        Ok(self.fetch_serialized(remote, Some(branch), pin).await?.1)
    }

    /// Fetches the default branch and returns its name, too. A remote that does not name its default branch,
    /// such as a local one, fails with [`Error::NoSuchBranch`]; ask
    /// [`Host::default_branch`](crate::Host::default_branch).
    pub async fn fetch_default(&self, remote: &Remote, pin: &str) -> Result<(String, Oid)> {
        self.fetch_serialized(remote, None, pin).await
    }

    async fn fetch_serialized(
        &self,
        remote: &Remote,
        branch: Option<&str>,
        pin: &str,
    ) -> Result<(String, Oid)> {
        let pin = pin_ref(pin)?;
        let _guard = self.fetch_mutex.lock().await;
        self.fetch_locked(remote, branch, &pin).await.map_err(in_data_directory)
    }

    async fn fetch_locked(&self, remote: &Remote, branch: Option<&str>, pin: &str) -> Result<(String, Oid)> {
        let _lock = lock(&self.dir).await?;
        ensure_healthy(&self.dir)?;
        ensure_same_repository(&self.dir, remote)?;
        let fetched = self.fetch_once(remote, branch, pin).await;
        match fetched.map_err(|error| snapshot::prefer_machine_trouble(&self.dir, error)) {
            Err(Error::Git(cause) | Error::Damaged(cause))
                if self.has_reachable_branch(remote, branch).await =>
            {
                let dir = self.dir.display();
                tracing::warn!("recreating the repository cache at {dir}: {cause}");
                recreate(&self.dir)?;
                self.fetch_once(remote, branch, pin).await
            }
            result => result,
        }
    }

    async fn fetch_once(&self, remote: &Remote, branch: Option<&str>, pin: &str) -> Result<(String, Oid)> {
        let fetched = match remote {
            Remote::Http(http) => smart_http::fetch(&self.dir, &self.counted(http), branch, pin).await?,
            Remote::File(file) => {
                let branch = branch.ok_or_else(|| Error::NoSuchBranch("HEAD".to_owned()))?;
                (branch.to_owned(), file_transport::fetch(&self.dir, file, branch, pin).await?)
            }
        };
        self.snapshot(&fetched.1)?;
        Ok(fetched)
    }

    /// Whether `commit` is in the cache and can be read. Unlike [`Cache::contains`], `false` also when the machine
    /// cannot read the cache.
    pub async fn has_readable(&self, commit: &Oid) -> bool {
        self.contains(commit).is_ok_and(|contains| contains)
    }

    /// Whether `commit` is in the cache. Fails when the machine cannot read the cache.
    pub fn contains(&self, commit: &Oid) -> Result<bool> {
        Ok(!snapshot::is_marked_damaged(&self.dir)
            && snapshot::has_commit(&self.dir, commit).map_err(in_data_directory)?)
    }

    /// Deletes a pin. Succeeds when the pin does not exist.
    pub async fn unpin(&self, pin: &str) -> Result<()> {
        let repository = snapshot::open_repository(&self.dir)?.to_thread_local();
        match repository.try_find_reference(&pin_ref(pin)?).map_err(snapshot::damaged)? {
            Some(pin) => pin.delete().map_err(snapshot::damaged),
            None => Ok(()),
        }
    }

    /// The names of all pins.
    pub fn pins(&self) -> Result<Vec<String>> {
        let repository = snapshot::open_repository(&self.dir)?.to_thread_local();
        let references = repository.references().map_err(snapshot::damaged)?;
        let pins = references.prefixed(PIN_PREFIX).map_err(snapshot::damaged)?.flatten();
        Ok(pins
            .filter_map(|pin| Some(pin.name().as_bstr().to_string().strip_prefix(PIN_PREFIX)?.to_owned()))
            .collect())
    }

    /// Opens the files of `commit`. The cost does not depend on the number of files.
    pub fn snapshot(&self, commit: &Oid) -> Result<Snapshot> {
        let opened = Snapshot::open(&self.dir, commit);
        opened.map_err(|error| in_data_directory(snapshot::prefer_machine_trouble(&self.dir, error)))
    }

    /// Like [`Self::snapshot`], and fetches files that the cache lacks from `remote` when they are read.
    pub fn snapshot_on_demand(&self, commit: &Oid, remote: &Remote) -> Result<Snapshot> {
        let source = match remote {
            Remote::Http(http) if is_on_demand(&self.dir) => Some(self.file_source(commit, http)),
            Remote::Http(_) | Remote::File(_) => None,
        };
        Ok(self.snapshot(commit)?.with_source(source))
    }

    fn file_source(&self, commit: &Oid, remote: &HttpRemote) -> FileSource {
        FileSource::new(&self.dir, commit, self.counted(remote), self.fetch_mutex.clone())
    }

    fn counted(&self, remote: &HttpRemote) -> HttpRemote {
        remote.clone().with_counts(&self.counts)
    }

    /// How the cache gets the files of its commits. `None` if it has all of them.
    pub fn fetch_state(&self) -> Option<FetchState> {
        FetchState::read(&self.dir)
    }

    /// Writes and pins a commit. Only files and folders that differ from the base are written. The same input
    /// gives the same commit, so an interrupted step can be repeated.
    pub fn commit(&self, new: &NewCommit<'_>) -> Result<Oid> {
        self.mark_damage(commit::write(&self.dir, new, &pin_ref(new.pin)?))
    }

    /// Pushes `commit` to one branch with a lease: the branch must be missing or still at `from`. Succeeds
    /// when the branch is already at `commit`. Runs no hook of a local repository, and refuses a branch that
    /// is checked out.
    pub async fn push(&self, remote: &Remote, commit: &Oid, branch: &str, from: Option<&Oid>) -> Result<()> {
        valid_branch(branch)?;
        match remote {
            Remote::File(file) => {
                let there = file_transport::tip(file.path(), branch).await?;
                let expected = there.filter(|tip| Some(tip) == from);
                let push = Push { commit: commit.clone(), branch: branch.to_owned(), expected, merged: None };
                let pushed = file_transport::push(&self.dir, file, push).await;
                self.mark_damage(pushed.map_err(|error| error.at(REPOSITORY)))
            }
            Remote::Http(http) => {
                self.mark_damage(smart_http::push(&self.dir, http, commit, branch, from).await)
            }
        }
    }

    /// Like [`Cache::push`], but assumes that the branch is missing, which saves a request. If the branch exists, it
    /// falls back to [`Cache::push`]. The host checks the lease in both cases.
    pub async fn push_assuming_new_branch(
        &self,
        remote: &Remote,
        commit: &Oid,
        branch: &str,
        from: Option<&Oid>,
    ) -> Result<()> {
        valid_branch(branch)?;
        match remote {
            Remote::File(_) => self.push(remote, commit, branch, from).await,
            Remote::Http(http) => self.mark_damage(
                smart_http::push_assuming_new_branch(&self.dir, http, commit, branch, from).await,
            ),
        }
    }

    /// Fetches a commit that once was the tip of a branch, and pins it as `pin`. Hosts may delete commits
    /// that were never merged.
    pub async fn fetch_commit(&self, remote: &Remote, commit: &Oid, pin: &str) -> Result<()> {
        let pin = pin_ref(pin)?;
        let _guard = self.fetch_mutex.lock().await;
        let _lock = lock(&self.dir).await.map_err(in_data_directory)?;
        ensure_healthy(&self.dir).map_err(in_data_directory)?;
        ensure_same_repository(&self.dir, remote).map_err(in_data_directory)?;
        let fetched = match remote {
            Remote::File(file) => file_transport::fetch_commit(&self.dir, file, commit, &pin).await,
            Remote::Http(http) => {
                smart_http::fetch_commit(&self.dir, &self.counted(http), commit, &pin).await
            }
        };
        fetched.map_err(|error| in_data_directory(snapshot::prefer_machine_trouble(&self.dir, error)))?;
        self.snapshot(commit).map(|_| ())
    }

    /// Deletes a branch of the remote if it is still at `at`. Succeeds when the branch does not exist.
    pub async fn delete_branch(&self, remote: &Remote, branch: &str, at: &Oid) -> Result<()> {
        valid_branch(branch)?;
        match remote {
            Remote::File(file) => file_transport::delete(file, branch, at).await,
            Remote::Http(http) => smart_http::delete(http, branch, at).await,
        }
    }

    /// Like [`Self::diff`], and first fetches the files that the cache lacks.
    pub async fn diff_on_demand(&self, from: &Oid, to: &Oid, remote: &Remote) -> Result<String> {
        if let (Remote::Http(http), true) = (remote, is_on_demand(&self.dir)) {
            let (dir, older, newer) = (self.dir.clone(), from.clone(), to.clone());
            let listing = move || blobs::missing_of_changed_paths(&dir, &older, &newer);
            let missing = tokio::task::spawn_blocking(listing).await.map_err(std::io::Error::other)?;
            self.file_source(from, http)
                .fetch(self.mark_damage(missing)?)
                .await
                .map_err(in_data_directory)?;
        }
        self.diff(from, to).await
    }

    /// The diff between two cached commits in git's format, truncated at 2 MiB.
    pub async fn diff(&self, from: &Oid, to: &Oid) -> Result<String> {
        self.mark_damage(diff::diff_commits(&self.dir, from, to).await)
    }

    /// Marks the cache as damaged when `result` is a failure because of it, so that the next fetch recreates it.
    fn mark_damage<T>(&self, result: Result<T>) -> Result<T> {
        let result = result.map_err(|error| match error {
            Error::Git(words) if git::is_unreadable_object_error(&words) => Error::Damaged(words),
            other => other,
        });
        snapshot::mark_damage(&self.dir, result).map_err(in_data_directory)
    }

    /// The current tip of `branch` on the remote; `None` when the branch does not exist.
    pub async fn tip(&self, remote: &Remote, branch: &str) -> Result<Option<Oid>> {
        valid_branch(branch)?;
        match remote {
            Remote::File(file) => file_transport::tip(file.path(), branch).await,
            Remote::Http(http) => smart_http::tip(http, branch).await,
        }
    }

    /// Whether the remote answers and has `branch`.
    async fn has_reachable_branch(&self, remote: &Remote, branch: Option<&str>) -> bool {
        let tip = self.tip(remote, branch.unwrap_or("HEAD")).await;
        tip.is_ok_and(|tip| tip.is_some() || branch.is_none())
    }

    /// Runs `git gc`: packs pinned objects and deletes objects that have been unpinned for two weeks. Slow. A cache
    /// that lacks files keeps all fetched objects, because git cannot know which of them are needed.
    pub async fn collect_garbage(&self) -> Result<()> {
        let _guard = self.fetch_mutex.lock().await;
        let _lock = lock(&self.dir).await?;
        let gc = match is_on_demand(&self.dir) {
            true => Git::at_incomplete(&self.dir, "gc"),
            false => Git::at(&self.dir, "gc"),
        };
        let gc = gc.args(["--quiet", "--prune=2.weeks.ago"]);
        gc.timeout(git::TRANSFER_TIMEOUT).run_for_stdout().await.map(|_| ())
    }
}

fn pin_ref(pin: &str) -> Result<String> {
    valid_branch(pin)?;
    Ok(format!("{PIN_PREFIX}{pin}"))
}

/// Says that machine trouble concerns the disk of the data directory.
fn in_data_directory(error: Error) -> Error {
    error.at(DATA_DIRECTORY)
}
