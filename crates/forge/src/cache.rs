//! Caches each project's repository in a bare repository: every fetch, commit and push goes through it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use crate::commit::{self, NewCommit};
use crate::error::{DATA_DIRECTORY, REPOSITORY};
use crate::file_transport::{self, Push};
use crate::git::{self, Git};
use crate::{Error, Oid, Remote, Result, Snapshot, bare, diff, smart_http, snapshot, valid_branch};

const PIN_PREFIX: &str = "refs/docwright/pins/";

/// A project's cached repository. It holds fetched and committed commits without their history. Pins (refs
/// under `refs/docwright/pins/`) protect commits in use from garbage collection. The cache never holds the
/// only copy of anything, so the next fetch replaces a damaged cache.
///
/// Share one `Cache` per project within a process. A file lock serializes fetches between processes.
pub struct Cache {
    dir: PathBuf,
    fetch_mutex: Mutex<()>,
}

impl Cache {
    /// Opens the cache at `dir`. Creates it if it is missing, and recreates it if its configuration changed.
    pub async fn open(dir: &Path) -> Result<Self> {
        let cache = Self { dir: std::path::absolute(dir)?, fetch_mutex: Mutex::new(()) };
        let lock = cache.lock().await.map_err(in_data_directory)?;
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
        let _lock = self.lock().await?;
        ensure_healthy(&self.dir)?;
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
            Remote::Http(http) => smart_http::fetch(&self.dir, http, branch, pin).await?,
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
        let _lock = self.lock().await.map_err(in_data_directory)?;
        ensure_healthy(&self.dir).map_err(in_data_directory)?;
        let fetched = match remote {
            Remote::File(file) => file_transport::fetch_commit(&self.dir, file, commit, &pin).await,
            Remote::Http(http) => smart_http::fetch_commit(&self.dir, http, commit, &pin).await,
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

    /// Runs `git gc`: packs pinned objects and deletes objects that have been unpinned for two weeks. Slow.
    pub async fn collect_garbage(&self) -> Result<()> {
        let _guard = self.fetch_mutex.lock().await;
        let _lock = self.lock().await?;
        let gc = Git::at(&self.dir, "gc").args(["--quiet", "--prune=2.weeks.ago"]);
        gc.timeout(git::TRANSFER_TIMEOUT).run_for_stdout().await.map(|_| ())
    }

    /// Takes the file lock that other processes respect.
    async fn lock(&self) -> Result<File> {
        let mut path = self.dir.clone().into_os_string();
        path.push(".lock");
        let locked = tokio::task::spawn_blocking(move || {
            if let Some(parent) = Path::new(&path).parent() {
                fs::create_dir_all(parent)?;
            }
            // The name is predictable, so an attacker could place a symbolic link there. Do not follow it.
            let no_link = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).custom_flags(no_link).open(path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        });
        Ok(locked.await.map_err(std::io::Error::other)??)
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

/// Recreates a damaged repository. Fails when machine trouble, such as a full disk, explains the damage.
fn ensure_healthy(dir: &Path) -> Result<()> {
    if is_healthy(dir) {
        return Ok(());
    }
    match snapshot::read_trouble(dir) {
        Some(trouble) => Err(Error::Machine(trouble)),
        None => recreate(dir),
    }
}

fn is_healthy(dir: &Path) -> bool {
    // Check the list of shallow commits, too: git reads it with every call.
    let opens =
        |repository: gix::ThreadSafeRepository| repository.to_thread_local().shallow_commits().is_ok();
    bare::is_unmodified(dir)
        && !snapshot::is_marked_damaged(dir)
        && snapshot::open_repository(dir).is_ok_and(opens)
}

/// Replaces whatever is at `dir` with an empty repository.
fn recreate(dir: &Path) -> Result<()> {
    let parent = dir.parent().unwrap_or(Path::new("/"));
    let temp_dir = tempfile::Builder::new().prefix(".docwright-").tempdir_in(parent)?;
    let fresh = temp_dir.path().join("fresh");
    bare::init(&fresh)?;
    if dir.symlink_metadata().is_ok() {
        fs::rename(dir, temp_dir.path().join("old"))?;
    }
    Ok(fs::rename(fresh, dir)?)
}
