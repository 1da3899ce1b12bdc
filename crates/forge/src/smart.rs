//! Git over smart HTTP, spoken by ourselves.
//!
//! The git program never touches the network: it reads and writes packs, and what is between is
//! here. So a token is in no argument, environment, file or URL; names are looked up by a client
//! that `net` guards; and a fetch that finds nothing new is one request and no process.

mod ask;
mod fetch;
mod packet;
mod place;
mod push;
mod refs;

use std::path::Path;
use std::time::Duration;

use crate::commit::set_pin;
use crate::git::PATIENT;
use crate::shallow::Shallow;
use crate::snapshot::{object_id, open_repository};
use crate::{Error, HttpRemote, Oid, Result, Snapshot};

const QUICK: Duration = Duration::from_secs(180);
/// Somebody sits and waits.
const AT_ONCE: Duration = Duration::from_secs(30);

/// Brings the tip of `branch`, or of the default one, into the repository at `dir`, without its history and
/// without what is there already, and makes `pin` point to it. Answers which branch it was.
pub(crate) async fn fetch(
    dir: &Path,
    remote: &HttpRemote,
    branch: Option<&str>,
    pin: &str,
) -> Result<(String, Oid)> {
    let found = match branch {
        Some(branch) => tip(remote, branch).await?.map(|tip| (branch.to_owned(), tip)),
        None => within(QUICK, remote, refs::head(remote)).await?,
    };
    let (branch, tip) = found.ok_or_else(|| Error::NoSuchBranch(branch.unwrap_or("HEAD").to_owned()))?;
    match Snapshot::open(dir, &tip).is_ok() {
        // It may have come along with a later one, and its parents may not.
        true => Shallow::read(dir)?.add(&tip)?,
        false => within(PATIENT, remote, fetch::bring(dir, remote, &tip)).await?,
    }
    set_pin(&open_repository(dir)?.to_thread_local(), pin, object_id(&tip)?)?;
    Ok((branch, tip))
}

/// The commit that `branch` is at; `None` when it is not there.
pub(crate) async fn tip(remote: &HttpRemote, branch: &str) -> Result<Option<Oid>> {
    within(QUICK, remote, refs::tip(remote, branch)).await
}

/// Whether the host lets our token push to the repository.
pub(crate) async fn may_push(remote: &HttpRemote) -> Result<bool> {
    within(AT_ONCE, remote, ask::is_let(remote, ask::Service::ReceivePack)).await
}

/// Pushes `commit` to exactly one branch, if that is not there, is still at `from`, or is at `commit`
/// already. The host compares as well, at the very moment.
pub(crate) async fn push(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    let pushed = within(PATIENT, remote, push::push(dir, remote, commit, branch, from)).await;
    settled(pushed, remote, commit, branch).await
}

/// The same, one request shorter where the branch is not there.
pub(crate) async fn push_new(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    let pushed = within(PATIENT, remote, push::push_new(dir, remote, commit, branch, from)).await;
    settled(pushed, remote, commit, branch).await
}

async fn settled(pushed: Result<()>, remote: &HttpRemote, commit: &Oid, branch: &str) -> Result<()> {
    match pushed {
        // It may be done, and only the answer lost; or another one did the same at the same time.
        Err(Error::Later { .. } | Error::Moved { .. }) if is_at(remote, branch, commit).await => Ok(()),
        done => done,
    }
}

/// Brings exactly this commit, be it the tip of a branch or not.
pub(crate) async fn fetch_commit(dir: &Path, remote: &HttpRemote, commit: &Oid, pin: &str) -> Result<()> {
    within(PATIENT, remote, fetch::bring(dir, remote, commit)).await?;
    set_pin(&open_repository(dir)?.to_thread_local(), pin, object_id(commit)?)
}

pub(crate) async fn delete(remote: &HttpRemote, branch: &str, at: &Oid) -> Result<()> {
    within(QUICK, remote, push::delete(remote, branch, at)).await
}

async fn is_at(remote: &HttpRemote, branch: &str, commit: &Oid) -> bool {
    tip(remote, branch).await.is_ok_and(|tip| tip.as_ref() == Some(commit))
}

async fn within<T>(limit: Duration, remote: &HttpRemote, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        let (host, seconds) = (remote.url.authority(), limit.as_secs());
        let limit = if seconds < 60 { format!("{seconds} s") } else { format!("{} minutes", seconds / 60) };
        let sentence = format!("{host} was not done within {limit}");
        Err(Error::Later { sentence, after: None })
    })
}
