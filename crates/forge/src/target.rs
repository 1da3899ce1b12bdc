//! Questions to a repository that is not ours, and the two transfers: fetch from it, push to it.

use std::path::{Path, PathBuf};

use crate::commit::set_pin;
use crate::git::{self, Git, Output};
use crate::snapshot::{damaged, object_id, open_repository};
use crate::{Error, FileRemote, Oid, Result, Snapshot, near};

/// The commit that `branch` is at.
pub(crate) async fn tip(git_dir: &Path, branch: &str) -> Result<Option<Oid>> {
    if let Some(tip) = near::tip(git_dir, branch) {
        return Ok(tip);
    }
    let commit = format!("refs/heads/{branch}^{{commit}}");
    let output = Git::at(git_dir, "rev-parse").args(["--verify", "--quiet", &commit]).run().await?;
    match output.code {
        Some(0) => Oid::parse(String::from_utf8_lossy(&output.stdout).trim()).map(Some),
        Some(1) => Ok(None),
        _ => Err(output.failure()),
    }
}

/// `false` also when one of them is not in the repository any more.
pub(crate) async fn is_ancestor(git_dir: &Path, old: &Oid, new: &Oid) -> Result<bool> {
    let output =
        Git::at(git_dir, "merge-base").args(["--is-ancestor", old.as_str(), new.as_str()]).run().await?;
    Ok(output.code == Some(0))
}

/// The working copy, the repository's own or a linked one, that has `branch` checked out.
pub(crate) async fn checked_out(git_dir: &Path, branch: &str) -> Result<Option<PathBuf>> {
    if near::is_free(git_dir, branch).is_some() {
        return Ok(None);
    }
    let list = Git::at(git_dir, "worktree").args(["list", "--porcelain", "-z"]).text().await?;
    Ok(owner(&list, branch))
}

fn owner(list: &str, branch: &str) -> Option<PathBuf> {
    let mut place = None;
    for line in list.split('\0') {
        if let Some(path) = line.strip_prefix("worktree ") {
            place = Some(path);
        } else if line.strip_prefix("branch refs/heads/") == Some(branch) {
            return place.map(PathBuf::from);
        }
    }
    None
}

/// Fetches the tip of `branch`, without its history, to the ref `to` of the repository at `dir`. Most
/// jobs start where the one before did, or near it: then no program is needed.
pub(crate) async fn fetch(dir: &Path, remote: &FileRemote, branch: &str, to: &str) -> Result<Oid> {
    // What is wrong with the remote is for the fetch to say.
    if let Ok(Some(tip)) = tip(remote.path(), branch).await
        && (Snapshot::open(dir, &tip).is_ok() || fetch_nearby(dir, remote, &tip).await?)
    {
        set_pin(&open_repository(dir)?.to_thread_local(), to, object_id(&tip)?)?;
        return Ok(tip);
    }
    let output = Git::at(dir, "fetch")
        .args(["--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet"])
        .args([format!("--upload-pack={}", git::service("upload-pack"))])
        .args([remote.url(), &format!("+refs/heads/{branch}:{to}")])
        .limit(git::PATIENT)
        .run()
        .await?;
    if output.code != Some(0) {
        return Err(fetch_failure(&output, branch));
    }
    pinned(dir, to)
}

async fn fetch_nearby(dir: &Path, remote: &FileRemote, tip: &Oid) -> Result<bool> {
    let (dir, git_dir, tip) = (dir.to_owned(), remote.path().to_owned(), tip.clone());
    let fetching = move || near::fetch(&dir, &git_dir, &tip);
    let fetched = tokio::task::spawn_blocking(fetching).await;
    Ok(fetched.map_err(std::io::Error::other)?.is_some())
}

/// Fetches exactly this commit, without its history, to the ref `to`.
pub(crate) async fn fetch_commit(dir: &Path, remote: &FileRemote, commit: &Oid, to: &str) -> Result<()> {
    let fetch = Git::at(dir, "fetch")
        .args(["--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet"])
        .args([format!("--upload-pack={}", git::service("upload-pack"))])
        .args([remote.url(), &format!("+{commit}:{to}")]);
    fetch.limit(git::PATIENT).text().await.map(|_| ())
}

/// Removes a branch that is still at `at`, unless somebody has it checked out.
pub(crate) async fn delete(remote: &FileRemote, branch: &str, at: &Oid) -> Result<()> {
    match tip(remote.path(), branch).await? {
        None => return Ok(()),
        Some(tip) if tip == *at => {}
        Some(_) => return Err(Error::Moved { branch: branch.to_owned() }),
    }
    refuse_configured_hooks(remote).await?;
    if let Some(worktree) = checked_out(remote.path(), branch).await? {
        return Err(Error::CheckedOut { branch: branch.to_owned(), worktree, merge: None });
    }
    let name = format!("refs/heads/{branch}");
    let delete = Git::at(remote.path(), "update-ref").args(["--no-deref", "-d", &name, at.as_str()]);
    delete.text().await.map(|_| ())
}

/// The commit that a ref of ours keeps.
fn pinned(dir: &Path, name: &str) -> Result<Oid> {
    let repository = open_repository(dir)?.to_thread_local();
    let mut found = repository.find_reference(name).map_err(damaged)?;
    Oid::parse(&found.peel_to_commit().map_err(damaged)?.id.to_string())
}

fn fetch_failure(output: &Output, branch: &str) -> Error {
    if output.stderr.contains("couldn't find remote ref") {
        return Error::NoSuchBranch(branch.to_owned());
    }
    if output.stderr.contains("does not appear to be a git repository") {
        return Error::Repository("there is no git repository any more where the project's was".into());
    }
    output.failure()
}

/// Pushes `commit` from the repository at `dir` to exactly one branch, if that is still at
/// `expected` (`None`: not there), or is at `commit` already.
pub(crate) async fn push(
    dir: &Path,
    remote: &FileRemote,
    commit: &Oid,
    branch: &str,
    expected: Option<&Oid>,
) -> Result<()> {
    if push_nearby(dir, remote, commit, branch, expected).await? {
        return Ok(());
    }
    refuse_configured_hooks(remote).await?;
    if let Some(worktree) = checked_out(remote.path(), branch).await? {
        return Err(Error::CheckedOut { branch: branch.to_owned(), worktree, merge: None });
    }
    let lease = expected.map_or("", Oid::as_str);
    let output = Git::at(dir, "push")
        .args(["--porcelain", "--no-verify", "--no-follow-tags"])
        .args([format!("--force-with-lease=refs/heads/{branch}:{lease}")])
        .args([format!("--receive-pack={}", git::service("receive-pack"))])
        .args([remote.url(), &format!("{commit}:refs/heads/{branch}")])
        .limit(git::PATIENT)
        .run()
        .await?;
    match output.code {
        Some(0) => Ok(()),
        _ => Err(push_failure(&output, branch)),
    }
}

/// Whether it could be done without the git program; it waits for the disk.
async fn push_nearby(
    dir: &Path,
    remote: &FileRemote,
    commit: &Oid,
    branch: &str,
    expected: Option<&Oid>,
) -> Result<bool> {
    let (dir, git_dir, commit) = (dir.to_owned(), remote.path().to_owned(), commit.clone());
    let (branch, expected) = (branch.to_owned(), expected.cloned());
    let pushing = move || near::push(&dir, &git_dir, &commit, &branch, expected.as_ref());
    let pushed = tokio::task::spawn_blocking(pushing).await;
    Ok(pushed.map_err(std::io::Error::other)?.is_some())
}

/// Newer versions of git run hooks that the configuration names, whatever `core.hooksPath` says.
async fn refuse_configured_hooks(remote: &FileRemote) -> Result<()> {
    let output =
        Git::at(remote.path(), "config").args(["--name-only", "--get-regexp", r"^hook\."]).run().await?;
    match output.code {
        Some(0) => Err(Error::Repository(
            "the repository's configuration names hooks (`hook.*`), which a push would run: remove \
             them, or give a clone without them"
                .to_owned(),
        )),
        Some(1) => Ok(()),
        _ => Err(output.failure()),
    }
}

fn push_failure(output: &Output, branch: &str) -> Error {
    let said = String::from_utf8_lossy(&output.stdout);
    let Some(why) = said.lines().find(|line| line.starts_with('!')) else {
        return output.failure();
    };
    // A branch `a` leaves no room for a branch `a/b`.
    if output.stderr.contains("' exists; cannot create") {
        let first = branch.split('/').next().unwrap_or(branch);
        return Error::Repository(format!(
            "`{branch}` cannot be made while there is a branch `{first}`: rename or delete that one"
        ));
    }
    // `cannot lock ref` is the same race, noticed later, by the far side.
    let moved = ["stale info", "fetch first", "cannot lock ref", "failed to update ref"];
    if moved.iter().any(|words| why.contains(words)) {
        return Error::Moved { branch: branch.to_owned() };
    }
    if why.contains("shallow update not allowed") {
        return Error::Repository(format!(
            "the commit that `{branch}` starts from is no longer in the repository: start again"
        ));
    }
    let why = crate::name::printable(why.rsplit('\t').next().unwrap_or(why));
    Error::Repository(format!("the repository refused the push to `{branch}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners() {
        #[track_caller]
        fn check(branch: &str, expected: Option<&str>) {
            let list = "worktree /a b\0HEAD 1\0branch refs/heads/main\0\0\
                        worktree /c\0HEAD 1\0detached\0\0\
                        worktree /d\0HEAD 1\0branch refs/heads/x/main\0\0";
            assert_eq!(owner(list, branch), expected.map(PathBuf::from));
        }
        check("main", Some("/a b"));
        check("x/main", Some("/d"));
        check("x", None);
        assert_eq!(owner("worktree /bare.git\0bare\0\0", "main"), None);
        assert_eq!(owner("", "main"), None);
    }
}
