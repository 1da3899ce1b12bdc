//! Checks, locks and recreates the directory of a cache.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::fetch_state::{FetchMode, FetchState};
use crate::{Error, Remote, Result, bare, snapshot};

/// Takes the file lock that other processes respect.
pub(crate) async fn lock(dir: &Path) -> Result<File> {
    let mut path = dir.to_owned().into_os_string();
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

/// Recreates a cache that lacks files of another repository, because it cannot fetch them any more.
pub(super) fn ensure_same_repository(dir: &Path, remote: &Remote) -> Result<()> {
    let Some(state) = FetchState::read(dir) else { return Ok(()) };
    match remote {
        Remote::Http(http) if http.url.as_str() == state.url => Ok(()),
        _ if state.mode == FetchMode::OnDemand => recreate(dir),
        // The other host may have filters, but this cache has all files.
        _ => FetchState::remove(dir),
    }
}

/// Recreates a damaged repository. Fails when machine trouble, such as a full disk, explains the damage.
pub(super) fn ensure_healthy(dir: &Path) -> Result<()> {
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

/// Replaces whatever is at `dir` with an empty repository. What the host cannot do is remembered.
pub(super) fn recreate(dir: &Path) -> Result<()> {
    let limits = FetchState::read(dir).filter(|state| state.mode != FetchMode::OnDemand);
    let parent = dir.parent().unwrap_or(Path::new("/"));
    let temp_dir = tempfile::Builder::new().prefix(".docwright-").tempdir_in(parent)?;
    let fresh = temp_dir.path().join("fresh");
    bare::init(&fresh)?;
    if let Some(state) = limits {
        state.write(&fresh)?;
    }
    if dir.symlink_metadata().is_ok() {
        fs::rename(dir, temp_dir.path().join("old"))?;
    }
    Ok(fs::rename(fresh, dir)?)
}
