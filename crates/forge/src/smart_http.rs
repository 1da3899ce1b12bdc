//! Implements git's smart HTTP protocol: lists refs, fetches packfiles, and sends ref updates with a lease.
//!
//! The git program never uses the network; it only reads and writes packfiles. So a token never appears in an
//! argument, an environment variable, a file or a URL; the guarded client of `net` resolves host names; and a
//! fetch without news is one request and no process.

mod capabilities;
mod commit;
mod fetch;
mod files;
mod history;
mod packet;
mod peer;
mod push;
mod refs;
mod transport;

use std::path::Path;
use std::time::Duration;

use gix::ObjectId;

use crate::commit::set_pin;
use crate::git::TRANSFER_TIMEOUT;
use crate::shallow::Shallow;
use crate::snapshot::{object_id, open_repository};
use crate::{Error, HistoryLimits, HttpRemote, Oid, Result, Snapshot};

pub(crate) use files::Batch;

/// A job waits for this with a worker, and a list of one branch is short.
const REFS_TIMEOUT: Duration = Duration::from_secs(60);
/// For calls that a person waits for.
const INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(30);

/// Fetches the tip of `branch`, or of the default branch, into the repository at `dir`, without its history
/// and without objects that `dir` has, and perhaps without its files (see `commit.rs`). Points `pin` at the tip, and returns the branch and the tip.
pub(crate) async fn fetch(
    dir: &Path,
    remote: &HttpRemote,
    branch: Option<&str>,
    pin: &str,
) -> Result<(String, Oid)> {
    let found = match branch {
        Some(branch) => tip(remote, branch).await?.map(|tip| (branch.to_owned(), tip)),
        None => with_timeout(REFS_TIMEOUT, remote, refs::head(remote)).await?,
    };
    let (branch, tip) = found.ok_or_else(|| Error::NoSuchBranch(branch.unwrap_or("HEAD").to_owned()))?;
    match Snapshot::open(dir, &tip).is_ok() {
        // A later fetch may have included this commit without its parents.
        true => Shallow::read(dir)?.add(&tip)?,
        false => with_timeout(TRANSFER_TIMEOUT, remote, commit::fetch_commit(dir, remote, &tip)).await?,
    }
    set_pin(&open_repository(dir)?.to_thread_local(), pin, object_id(&tip)?)?;
    Ok((branch, tip))
}

/// The tip of `branch`; `None` when the branch does not exist.
pub(crate) async fn tip(remote: &HttpRemote, branch: &str) -> Result<Option<Oid>> {
    with_timeout(REFS_TIMEOUT, remote, refs::tip(remote, branch)).await
}

/// Whether the token may push to the repository.
pub(crate) async fn may_push(remote: &HttpRemote) -> Result<bool> {
    with_timeout(
        INTERACTIVE_TIMEOUT,
        remote,
        transport::is_service_allowed(remote, transport::Service::ReceivePack),
    )
    .await
}

/// Pushes `commit` to one branch with a lease: the branch must be missing, at `from`, or already at `commit`.
/// The host checks the lease atomically with the ref update.
pub(crate) async fn push(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    let pushed = with_timeout(TRANSFER_TIMEOUT, remote, push::push(dir, remote, commit, branch, from)).await;
    confirm_push(pushed, remote, commit, branch).await
}

/// Like [`push`], but one request shorter when the branch does not exist.
pub(crate) async fn push_assuming_new_branch(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    let pushed = with_timeout(
        TRANSFER_TIMEOUT,
        remote,
        push::push_assuming_new_branch(dir, remote, commit, branch, from),
    )
    .await;
    confirm_push(pushed, remote, commit, branch).await
}

async fn confirm_push(pushed: Result<()>, remote: &HttpRemote, commit: &Oid, branch: &str) -> Result<()> {
    match pushed {
        // The push may have succeeded with a lost response, or another process made the same push.
        Err(Error::Temporary { .. } | Error::BranchMoved { .. }) if is_at(remote, branch, commit).await => {
            Ok(())
        }
        done => done,
    }
}

/// Fetches exactly this commit, which need not be the tip of a branch. Fails with [`Error::Repository`] if the host no
/// longer has it.
pub(crate) async fn fetch_commit(dir: &Path, remote: &HttpRemote, commit: &Oid, pin: &str) -> Result<()> {
    let fetched = with_timeout(TRANSFER_TIMEOUT, remote, commit::fetch_commit(dir, remote, commit)).await;
    match fetched {
        Err(Error::Temporary { .. }) if matches!(has_commit(remote, commit).await, Ok(false)) => {
            let host = remote.url.authority();
            return Err(Error::Repository(format!("{host} no longer has the commit {commit:.10}")));
        }
        fetched => fetched?,
    }
    set_pin(&open_repository(dir)?.to_thread_local(), pin, object_id(commit)?)
}

/// Fetches the history of `tip` without the contents of files. `have` is a commit whose history `dir` has.
/// `false` when the history is too large.
pub(crate) async fn fetch_history(
    dir: &Path,
    remote: &HttpRemote,
    tip: &Oid,
    have: Option<&Oid>,
    limits: &HistoryLimits,
) -> Result<bool> {
    with_timeout(TRANSFER_TIMEOUT, remote, history::fetch(dir, remote, tip, have, limits)).await
}

/// Fetches files by their ids. See [`Batch`]. The caller must hold the cache's lock.
pub(crate) async fn fetch_files(dir: &Path, remote: &HttpRemote, ids: &[ObjectId]) -> Result<Batch> {
    with_timeout(TRANSFER_TIMEOUT, remote, files::fetch_batch(dir, remote, ids)).await
}

/// Whether the host still sends this commit, which the cache has.
pub(crate) async fn has_commit(remote: &HttpRemote, commit: &Oid) -> Result<bool> {
    with_timeout(TRANSFER_TIMEOUT, remote, fetch::has_commit(remote, commit)).await
}

pub(crate) async fn delete(remote: &HttpRemote, branch: &str, at: &Oid) -> Result<()> {
    with_timeout(REFS_TIMEOUT, remote, push::delete(remote, branch, at)).await
}

async fn is_at(remote: &HttpRemote, branch: &str, commit: &Oid) -> bool {
    tip(remote, branch).await.is_ok_and(|tip| tip.as_ref() == Some(commit))
}

async fn with_timeout<T>(
    limit: Duration,
    remote: &HttpRemote,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        let (host, seconds) = (remote.url.authority(), limit.as_secs());
        let limit = if seconds < 60 { format!("{seconds} s") } else { format!("{} minutes", seconds / 60) };
        let sentence = format!("{host} did not finish within {limit}");
        Err(Error::Temporary { sentence, retry_after: None })
    })
}
