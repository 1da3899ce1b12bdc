//! Decides how a cache gets the files of a commit, and fetches the commit.
//!
//! The first fetch of a large repository omits the files, if the host can. They are fetched when they are read. All
//! later fetches of the cache omit them, too: the host would send files as differences from files that the cache
//! lacks.

use std::path::Path;

use gix::ObjectId;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::capabilities;
use super::fetch::{self, Files};
use super::files::{self, Batch};
use crate::fetch_state::{FetchMode, FetchState};
use crate::shallow::Shallow;
use crate::{HttpRemote, Oid, Result, Snapshot, blobs};

/// Files that most jobs read. They are fetched with the commit, which also shows whether the host sends files by
/// their ids.
const OFTEN_READ: &[&str] = &["AGENTS.md", "docs.json", "mint.json", "mkdocs.yml", "README.md"];

pub(super) async fn fetch_commit(dir: &Path, remote: &HttpRemote, tip: &Oid) -> Result<()> {
    match FetchState::read(dir).map(|state| state.mode) {
        Some(FetchMode::OnDemand) => fetch::fetch_commit(dir, remote, tip, Files::None).await,
        None if may_omit_files(dir)? => first_fetch(dir, remote, tip).await,
        None | Some(FetchMode::NoFilter | FetchMode::RefusesIds) => {
            fetch::fetch_commit(dir, remote, tip, Files::New).await
        }
    }
}

/// A cache that has every file of its commits stays like that. Reading on demand blocks a thread, which a runtime
/// with a single thread cannot do.
fn may_omit_files(dir: &Path) -> Result<bool> {
    let blocks = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    Ok(blocks && Shallow::read(dir)?.newest(1)?.is_empty())
}

async fn first_fetch(dir: &Path, remote: &HttpRemote, tip: &Oid) -> Result<()> {
    let state = |mode| FetchState::new(mode, remote.url.as_str());
    if !capabilities::has_filter(remote).await? {
        state(FetchMode::NoFilter).write(dir)?;
        return fetch::fetch_commit(dir, remote, tip, Files::New).await;
    }
    state(FetchMode::OnDemand).write(dir)?;
    fetch::fetch_commit(dir, remote, tip, Files::None).await?;
    let all = blobs::of_commit(dir, tip)?;
    let is_small = all.len() <= remote.whole_up_to;
    let wanted = if is_small { all } else { often_read(dir, tip, &all)? };
    if wanted.is_empty() {
        return Ok(());
    }
    match files::fetch_batch(dir, remote, &wanted).await? {
        Batch::Received if is_small => FetchState::remove(dir),
        Batch::Received | Batch::TooLarge => Ok(()),
        Batch::Refused => {
            fetch::fetch_commit(dir, remote, tip, Files::All).await?;
            state(FetchMode::RefusesIds).write(dir)
        }
    }
}

/// The often read files of the root folder, or some file if it has none.
fn often_read(dir: &Path, tip: &Oid, all: &[ObjectId]) -> Result<Vec<ObjectId>> {
    let found = Snapshot::open(dir, tip)?.blobs(OFTEN_READ.iter().copied())?;
    Ok(if found.is_empty() { all.iter().take(1).copied().collect() } else { found })
}
