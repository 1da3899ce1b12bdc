//! One bare repository a project, on our side, through which everything passes.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use crate::commit::{self, NewCommit};
use crate::error::{DATA_DIRECTORY, REPOSITORY};
use crate::git::{self, Git};
use crate::target::{self, Push};
use crate::{Error, Oid, Remote, Result, Snapshot, bare, diff, smart, snapshot, valid_branch};

const PINS: &str = "refs/docwright/pins/";

/// A project's cached repository. Holds what was fetched and what was committed, one commit deep;
/// pins, refs under `refs/docwright/pins/`, keep what is in use. Nothing in it is the only copy of
/// anything: when it is damaged, the next fetch makes it anew.
///
/// Share one `Cache` a project within a process; between processes a file lock takes turns.
pub struct Cache {
    dir: PathBuf,
    turn: Mutex<()>,
}

impl Cache {
    /// Opens the repository at `dir`, which is ours alone: it is made if it is missing, and made
    /// anew if it is not as we make them.
    pub async fn open(dir: &Path) -> Result<Self> {
        let cache = Self { dir: std::path::absolute(dir)?, turn: Mutex::new(()) };
        let alone = cache.lock().await.map_err(here)?;
        make_healthy(&cache.dir).map_err(here)?;
        drop(alone);
        Ok(cache)
    }

    /// Fetches the tip of `branch`, with all its files and no history, and pins it as `pin`, which
    /// moves if it was there. One fetch at a time.
    pub async fn fetch(&self, remote: &Remote, branch: &str, pin: &str) -> Result<Oid> {
        valid_branch(branch)?;
        Ok(self.fetch_any(remote, Some(branch), pin).await?.1)
    }

    /// The same with the default branch, whose name is answered, too. A remote that does not tell which it is, as
    /// one on this machine, has [`Error::NoSuchBranch`]: its host can be asked.
    pub async fn fetch_default(&self, remote: &Remote, pin: &str) -> Result<(String, Oid)> {
        self.fetch_any(remote, None, pin).await
    }

    async fn fetch_any(&self, remote: &Remote, branch: Option<&str>, pin: &str) -> Result<(String, Oid)> {
        let pin = pin_ref(pin)?;
        let _turn = self.turn.lock().await;
        self.fetch_alone(remote, branch, &pin).await.map_err(here)
    }

    async fn fetch_alone(&self, remote: &Remote, branch: Option<&str>, pin: &str) -> Result<(String, Oid)> {
        let _alone = self.lock().await?;
        make_healthy(&self.dir)?;
        let fetched = self.fetch_once(remote, branch, pin).await;
        match fetched.map_err(|error| snapshot::unless_trouble(&self.dir, error)) {
            Err(Error::Git(cause) | Error::Damaged(cause)) if self.answers(remote, branch).await => {
                let dir = self.dir.display();
                tracing::warn!("the repository cache at {dir} is made anew: {cause}");
                remake(&self.dir)?;
                self.fetch_once(remote, branch, pin).await
            }
            done => done,
        }
    }

    async fn fetch_once(&self, remote: &Remote, branch: Option<&str>, pin: &str) -> Result<(String, Oid)> {
        let fetched = match remote {
            Remote::Http(http) => smart::fetch(&self.dir, http, branch, pin).await?,
            Remote::File(file) => {
                let branch = branch.ok_or_else(|| Error::NoSuchBranch("HEAD".to_owned()))?;
                (branch.to_owned(), target::fetch(&self.dir, file, branch, pin).await?)
            }
        };
        self.snapshot(&fetched.1)?;
        Ok(fetched)
    }

    /// Whether `commit` is here, to be read and pushed; `false` also when that cannot be told.
    pub async fn has(&self, commit: &Oid) -> bool {
        self.contains(commit).is_ok_and(|contains| contains)
    }

    /// The same for whoever has to tell trouble of the machine from a commit that is not here.
    pub fn contains(&self, commit: &Oid) -> Result<bool> {
        Ok(!snapshot::is_suspect(&self.dir) && snapshot::has(&self.dir, commit).map_err(here)?)
    }

    /// Lets go of what `pin` kept. Fine when there is no such pin.
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
        let pins = references.prefixed(PINS).map_err(snapshot::damaged)?.flatten();
        Ok(pins
            .filter_map(|pin| Some(pin.name().as_bstr().to_string().strip_prefix(PINS)?.to_owned()))
            .collect())
    }

    /// Opens the files of `commit`. Costs nothing that grows with their number.
    pub fn snapshot(&self, commit: &Oid) -> Result<Snapshot> {
        let opened = Snapshot::open(&self.dir, commit);
        opened.map_err(|error| here(snapshot::unless_trouble(&self.dir, error)))
    }

    /// Writes the commit, and only the files and folders that differ from its base, and pins it.
    /// The same input makes the same commit, so that a step that was cut off can be done again.
    pub fn commit(&self, new: &NewCommit<'_>) -> Result<Oid> {
        self.noticing(commit::write(&self.dir, new, &pin_ref(new.pin)?))
    }

    /// Pushes `commit` to exactly one branch, if that is not there or still at `from`. Fine when the
    /// branch is at `commit` already. Runs no hook of the target, and refuses a branch that is
    /// checked out there.
    pub async fn push(&self, remote: &Remote, commit: &Oid, branch: &str, from: Option<&Oid>) -> Result<()> {
        valid_branch(branch)?;
        match remote {
            Remote::File(file) => {
                let there = target::tip(file.path(), branch).await?;
                let expected = there.filter(|tip| Some(tip) == from);
                let push = Push { commit: commit.clone(), branch: branch.to_owned(), expected, merged: None };
                let pushed = target::push(&self.dir, file, push).await;
                self.noticing(pushed.map_err(|error| error.at(REPOSITORY)))
            }
            Remote::Http(http) => self.noticing(smart::push(&self.dir, http, commit, branch, from).await),
        }
    }

    /// The same for a branch that is likely not there yet, which is then quicker. Whether it is there is seen all
    /// the same.
    pub async fn push_new(
        &self,
        remote: &Remote,
        commit: &Oid,
        branch: &str,
        from: Option<&Oid>,
    ) -> Result<()> {
        valid_branch(branch)?;
        match remote {
            Remote::File(_) => self.push(remote, commit, branch, from).await,
            Remote::Http(http) => self.noticing(smart::push_new(&self.dir, http, commit, branch, from).await),
        }
    }

    /// Fetches a commit that was the tip of a branch once, and pins it as `pin`. Hosts keep what has
    /// been merged; what has not may be gone.
    pub async fn fetch_commit(&self, remote: &Remote, commit: &Oid, pin: &str) -> Result<()> {
        let pin = pin_ref(pin)?;
        let _turn = self.turn.lock().await;
        let _alone = self.lock().await.map_err(here)?;
        make_healthy(&self.dir).map_err(here)?;
        let fetched = match remote {
            Remote::File(file) => target::fetch_commit(&self.dir, file, commit, &pin).await,
            Remote::Http(http) => smart::fetch_commit(&self.dir, http, commit, &pin).await,
        };
        fetched.map_err(|error| here(snapshot::unless_trouble(&self.dir, error)))?;
        self.snapshot(commit).map(|_| ())
    }

    /// Removes a branch of the remote, if it is still at `at`. Fine when it is not there.
    pub async fn delete_branch(&self, remote: &Remote, branch: &str, at: &Oid) -> Result<()> {
        valid_branch(branch)?;
        match remote {
            Remote::File(file) => target::delete(file, branch, at).await,
            Remote::Http(http) => smart::delete(http, branch, at).await,
        }
    }

    /// What changed between two commits that are here, as git writes it; cut at 2 MiB.
    pub async fn diff(&self, from: &Oid, to: &Oid) -> Result<String> {
        self.noticing(diff::between(&self.dir, from, to).await)
    }

    /// Remembers what a power cut took from the cache, so that the next fetch makes it anew.
    fn noticing<T>(&self, done: Result<T>) -> Result<T> {
        let done = done.map_err(|error| match error {
            Error::Git(words) if git::says_unreadable(&words) => Error::Damaged(words),
            other => other,
        });
        snapshot::noticing(&self.dir, done).map_err(here)
    }

    /// Where `branch` is on the host just now; `None` when it is not there.
    pub async fn tip(&self, remote: &Remote, branch: &str) -> Result<Option<Oid>> {
        valid_branch(branch)?;
        match remote {
            Remote::File(file) => target::tip(file.path(), branch).await,
            Remote::Http(http) => smart::tip(http, branch).await,
        }
    }

    /// Whether the remote itself answers, and has the branch if one is named.
    async fn answers(&self, remote: &Remote, branch: Option<&str>) -> bool {
        let tip = self.tip(remote, branch.unwrap_or("HEAD")).await;
        tip.is_ok_and(|tip| tip.is_some() || branch.is_none())
    }

    /// Packs what is pinned and drops what has not been for two weeks. For quiet hours.
    pub async fn tidy(&self) -> Result<()> {
        let _turn = self.turn.lock().await;
        let _alone = self.lock().await?;
        let tidy = Git::at(&self.dir, "gc").args(["--quiet", "--prune=2.weeks.ago"]);
        tidy.limit(git::PATIENT).text().await.map(|_| ())
    }

    /// Waits for the other processes that use this cache.
    async fn lock(&self) -> Result<File> {
        let mut path = self.dir.clone().into_os_string();
        path.push(".lock");
        let locked = tokio::task::spawn_blocking(move || {
            if let Some(parent) = Path::new(&path).parent() {
                fs::create_dir_all(parent)?;
            }
            // Its name can be guessed, so a link that somebody put there is not followed.
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
    Ok(format!("{PINS}{pin}"))
}

/// Of trouble: it is with a disk that the caches are on.
fn here(error: Error) -> Error {
    error.at(DATA_DIRECTORY)
}

/// Makes the repository anew if it is not as it should be; not if that cannot be told for trouble of the machine.
fn make_healthy(dir: &Path) -> Result<()> {
    if is_healthy(dir) {
        return Ok(());
    }
    match snapshot::read_trouble(dir) {
        Some(trouble) => Err(Error::Machine(trouble)),
        None => remake(dir),
    }
}

fn is_healthy(dir: &Path) -> bool {
    // The list of shallow commits, too: git reads it with every call, and we do not.
    let opens =
        |repository: gix::ThreadSafeRepository| repository.to_thread_local().shallow_commits().is_ok();
    bare::is_ours(dir) && !snapshot::is_suspect(dir) && snapshot::open_repository(dir).is_ok_and(opens)
}

/// Puts an empty repository in the place of whatever is there.
fn remake(dir: &Path) -> Result<()> {
    let parent = dir.parent().unwrap_or(Path::new("/"));
    let room = tempfile::Builder::new().prefix(".docwright-").tempdir_in(parent)?;
    let fresh = room.path().join("fresh");
    bare::make(&fresh)?;
    if dir.symlink_metadata().is_ok() {
        fs::rename(dir, room.path().join("old"))?;
    }
    Ok(fs::rename(fresh, dir)?)
}
