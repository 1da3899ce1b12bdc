//! Fetches from, pushes to and queries a repository on this machine: in this process if possible, else with
//! git.

use std::fs;
use std::path::{Path, PathBuf};

use machine::Trouble;

use crate::commit::set_pin;
use crate::error::REPOSITORY;
use crate::git::{self, Git, Output};
use crate::journal::RepositoryWrite;
use crate::snapshot::{damaged, object_id, open_repository};
use crate::{Error, FileRemote, Oid, Result, Snapshot, fsync, in_process, stale_locks};

/// The tip of `branch`.
pub(crate) async fn tip(git_dir: &Path, branch: &str) -> Result<Option<Oid>> {
    if let Some(tip) = in_process::tip(git_dir, branch) {
        return Ok(tip.found());
    }
    let commit = format!("refs/heads/{branch}^{{commit}}");
    let output = Git::at(git_dir, "rev-parse").args(["--verify", "--quiet", &commit]).run().await?;
    match output.code {
        Some(0) => Oid::parse(String::from_utf8_lossy(&output.stdout).trim()).map(Some),
        // git also exits with 1 when it cannot read the ref.
        Some(1) => ref_read_trouble(git_dir, branch).map_or(Ok(None), |trouble| Err(Error::Machine(trouble))),
        _ => Err(output.failure().at(REPOSITORY)),
    }
}

fn ref_read_trouble(git_dir: &Path, branch: &str) -> Option<Trouble> {
    let files = [git_dir.join("refs/heads").join(branch), git_dir.join("packed-refs")];
    let trouble = files.iter().find_map(|file| Trouble::find(&fs::read(file).err()?));
    trouble.map(|trouble| trouble.at(REPOSITORY))
}

/// `false` also when the repository lacks one of the commits.
pub(crate) async fn is_ancestor(git_dir: &Path, old: &Oid, new: &Oid) -> Result<bool> {
    let output =
        Git::at(git_dir, "merge-base").args(["--is-ancestor", old.as_str(), new.as_str()]).run().await?;
    match output.trouble() {
        Some(trouble) => Err(Error::Machine(trouble.at(REPOSITORY))),
        None => Ok(output.code == Some(0)),
    }
}

/// The working copy, main or linked, that has `branch` checked out.
pub(crate) async fn worktree_of_branch(git_dir: &Path, branch: &str) -> Result<Option<PathBuf>> {
    if in_process::is_not_checked_out(git_dir, branch).is_some() {
        return Ok(None);
    }
    let list = Git::at(git_dir, "worktree").args(["list", "--porcelain", "-z"]).run_for_stdout().await?;
    Ok(find_worktree(&list, branch))
}

fn find_worktree(list: &str, branch: &str) -> Option<PathBuf> {
    let mut worktree = None;
    for line in list.split('\0') {
        if let Some(path) = line.strip_prefix("worktree ") {
            worktree = Some(path);
        } else if line.strip_prefix("branch refs/heads/") == Some(branch) {
            return worktree.map(PathBuf::from);
        }
    }
    None
}

/// Fetches the tip of `branch`, without its history, to the ref `to` of the repository at `dir`. If little
/// changed since the last fetch, the git program is not needed.
pub(crate) async fn fetch(dir: &Path, remote: &FileRemote, branch: &str, to: &str) -> Result<Oid> {
    // If this fails, the fetch below reports the problem with the remote.
    if let Ok(Some(tip)) = tip(remote.path(), branch).await
        && (Snapshot::open(dir, &tip).is_ok() || fetch_in_process(dir, remote, &tip).await?)
    {
        set_pin(&open_repository(dir)?.to_thread_local(), to, object_id(&tip)?)?;
        return Ok(tip);
    }
    let output = Git::at(dir, "fetch")
        .args(["--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet"])
        .args([format!("--upload-pack={}", git::service_command("upload-pack"))])
        .args([remote.url(), &format!("+refs/heads/{branch}:{to}")])
        .timeout(git::TRANSFER_TIMEOUT)
        .run()
        .await?;
    if output.code != Some(0) {
        return Err(fetch_failure(&output, branch));
    }
    read_pin(dir, to)
}

async fn fetch_in_process(dir: &Path, remote: &FileRemote, tip: &Oid) -> Result<bool> {
    let (dir, git_dir, tip) = (dir.to_owned(), remote.path().to_owned(), tip.clone());
    run_blocking(move || Ok(in_process::fetch(&dir, &git_dir, &tip).is_some())).await
}

/// Fetches exactly this commit, without its history, to the ref `to`.
pub(crate) async fn fetch_commit(dir: &Path, remote: &FileRemote, commit: &Oid, to: &str) -> Result<()> {
    let fetch = Git::at(dir, "fetch")
        .args(["--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet"])
        .args([format!("--upload-pack={}", git::service_command("upload-pack"))])
        .args([remote.url(), &format!("+{commit}:{to}")]);
    fetch.timeout(git::TRANSFER_TIMEOUT).run_for_stdout().await.map(|_| ())
}

/// A commit to push, with its lease.
pub(crate) struct Push {
    pub(crate) commit: Oid,
    pub(crate) branch: String,
    /// The lease: the commit that the branch must be at. `None`: the branch must not exist.
    pub(crate) expected: Option<Oid>,
    /// A parent of the commit that is the tip of another branch of the target.
    pub(crate) merged: Option<Oid>,
}

/// Deletes a branch that is still at `at`, unless a working copy has it checked out.
pub(crate) async fn delete(remote: &FileRemote, branch: &str, at: &Oid) -> Result<()> {
    match tip(remote.path(), branch).await? {
        None => return Ok(()),
        Some(tip) if tip == *at => {}
        Some(_) => return Err(Error::BranchMoved { branch: branch.to_owned() }),
    }
    refuse_configured_hooks(remote).await?;
    if let Some(worktree) = worktree_of_branch(remote.path(), branch).await? {
        return Err(Error::CheckedOut { branch: branch.to_owned(), worktree, merge: None });
    }
    let write = begin_write(remote, branch, at).await?;
    let name = format!("refs/heads/{branch}");
    let delete = Git::with_fsync(remote.path(), "update-ref").args(["--no-deref", "-d", &name, at.as_str()]);
    let output = delete.stdin(write.stdin()?).run().await?;
    write.git_ended(&output);
    match output.code {
        Some(0) => Ok(()),
        _ => Err(stale_locks::blocking_lock(remote.path(), branch).unwrap_or_else(|| output.failure())),
    }
}

/// Locks the repository for a write, with a durable journal record. Waits for other writers.
async fn begin_write(remote: &FileRemote, branch: &str, commit: &Oid) -> Result<RepositoryWrite> {
    let (remote, branch, commit) = (remote.clone(), branch.to_owned(), commit.clone());
    run_blocking(move || {
        let write = RepositoryWrite::begin(&remote, &branch, &commit)?;
        write.sync_record()?;
        Ok(write)
    })
    .await
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}

/// The commit that a pin points at.
fn read_pin(dir: &Path, name: &str) -> Result<Oid> {
    let repository = open_repository(dir)?.to_thread_local();
    let mut found = repository.find_reference(name).map_err(damaged)?;
    Oid::parse(&found.peel_to_commit().map_err(damaged)?.id.to_string())
}

fn fetch_failure(output: &Output, branch: &str) -> Error {
    if let Some(trouble) = output.trouble() {
        return Error::Machine(trouble);
    }
    if output.stderr.contains("couldn't find remote ref") {
        return Error::NoSuchBranch(branch.to_owned());
    }
    if output.stderr.contains("does not appear to be a git repository") {
        return Error::Repository(
            "the project's repository no longer exists: restore it, or give the project another".into(),
        );
    }
    output.failure()
}

/// Pushes a commit from the repository at `dir` to one branch with a lease. Succeeds when the branch is
/// already at the commit. The push is durable when this returns.
pub(crate) async fn push(dir: &Path, remote: &FileRemote, push: Push) -> Result<()> {
    let Push { commit, branch, expected, .. } = &push;
    let (lease, commit, branch) = (expected.clone(), commit.clone(), branch.clone());
    let Some(write) = push_in_process(dir, remote, push).await? else { return Ok(()) };
    refuse_configured_hooks(remote).await?;
    if let Some(worktree) = worktree_of_branch(remote.path(), &branch).await? {
        return Err(Error::CheckedOut { branch, worktree, merge: None });
    }
    let lease = lease.as_ref().map_or("", Oid::as_str);
    let output = Git::at(dir, "push")
        .args(["--porcelain", "--no-verify", "--no-follow-tags"])
        .args([format!("--force-with-lease=refs/heads/{branch}:{lease}")])
        .args([format!("--receive-pack={}", git::service_command("receive-pack"))])
        .args([remote.url(), &format!("{commit}:refs/heads/{branch}")])
        .timeout(git::TRANSFER_TIMEOUT)
        .stdin(write.stdin()?)
        .run()
        .await?;
    write.git_ended(&output);
    if output.code != Some(0) {
        return Err(push_failure(&output, remote.path(), &branch));
    }
    fsync_branch(remote.path(), &branch).await
}

/// Pushes without the git program if possible. Otherwise returns the write lock, for a push with git.
async fn push_in_process(dir: &Path, remote: &FileRemote, push: Push) -> Result<Option<RepositoryWrite>> {
    let (dir, remote) = (dir.to_owned(), remote.clone());
    run_blocking(move || {
        let write = RepositoryWrite::begin(&remote, &push.branch, &push.commit)?;
        stale_locks::remove_empty_branch(remote.path(), &push.branch)?;
        if in_process::push(&dir, &write, &push).is_some() {
            return Ok(None);
        }
        write.sync_record()?;
        Ok(Some(write))
    })
    .await
}

/// Makes a branch durable that another program wrote.
pub(crate) async fn fsync_branch(git_dir: &Path, branch: &str) -> Result<()> {
    let (git_dir, branch) = (git_dir.to_owned(), branch.to_owned());
    run_blocking(move || Ok(sync_branch(&git_dir, &branch)?)).await
}

/// Syncs a branch that git wrote: the ref, its directories, and the directory of packfiles. git has synced
/// the objects themselves.
pub(crate) fn sync_branch(git_dir: &Path, branch: &str) -> std::io::Result<()> {
    let (reference, heads) = (git_dir.join("refs/heads").join(branch), git_dir.join("refs/heads"));
    let objects = git_dir.join("objects");
    let packed = git_dir.join("packed-refs");
    let stored = match reference.exists() {
        true => fsync::directories(&reference, &heads).chain([reference.clone()]).collect(),
        false => vec![git_dir.to_owned(), packed],
    };
    fsync::sync_all(stored.into_iter().chain([objects.join("pack"), objects]))
}

/// Newer versions of git run the hooks in the configuration even if `core.hooksPath` is empty.
async fn refuse_configured_hooks(remote: &FileRemote) -> Result<()> {
    let output =
        Git::at(remote.path(), "config").args(["--name-only", "--get-regexp", r"^hook\."]).run().await?;
    match output.code {
        Some(0) => Err(Error::Repository(
            "the repository's configuration defines hooks (`hook.*`), which a push would run: remove \
             them, or give a clone without them"
                .to_owned(),
        )),
        Some(1) => Ok(()),
        _ => Err(output.failure()),
    }
}

fn push_failure(output: &Output, git_dir: &Path, branch: &str) -> Error {
    // A push writes only to the target, so the trouble is with its disk.
    if let Some(trouble) = output.trouble() {
        return Error::Machine(trouble.at(REPOSITORY));
    }
    if let Some(line) = output.stderr.lines().find(|line| git::is_unreadable_object_error(line)) {
        return Error::Damaged(crate::name::printable(line));
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    let Some(why) = stdout.lines().find(|line| line.starts_with('!')) else {
        return output.failure();
    };
    // Refs are files, so the branches `a` and `a/b` cannot both exist.
    if output.stderr.contains("' exists; cannot create") {
        let first = branch.split('/').next().unwrap_or(branch);
        return Error::Repository(format!(
            "`{branch}` cannot be created while the branch `{first}` exists: rename or delete `{first}`"
        ));
    }
    // The target reports a failed lease as `cannot lock ref`, unless a stale lock file exists.
    let moved = ["stale info", "fetch first", "cannot lock ref", "failed to update ref"];
    if moved.iter().any(|words| why.contains(words)) {
        let moved = || Error::BranchMoved { branch: branch.to_owned() };
        return stale_locks::blocking_lock(git_dir, branch).unwrap_or_else(moved);
    }
    if why.contains("shallow update not allowed") {
        return Error::Repository(format!(
            "the base commit of `{branch}` is no longer in the repository: start the job again"
        ));
    }
    if is_unpack_failure(why, &output.stderr) {
        let last = output.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(why);
        return Error::Damaged(crate::name::printable(last));
    }
    let why = crate::name::printable(why.rsplit('\t').next().unwrap_or(why));
    Error::Repository(format!("the repository refused the push to `{branch}`: {why}"))
}

/// Whether the target could not unpack the push because the cache lacks objects, for example after a power
/// cut. A target that refuses objects in its own check (fsck) says so.
fn is_unpack_failure(why: &str, stderr: &str) -> bool {
    why.contains("unpacker error") && !stderr.contains("fsck error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpack_failure_blames_the_cache_unless_the_target_runs_fsck() {
        let why = "!\tabc:refs/heads/x\t[remote rejected] (unpacker error)";
        assert!(is_unpack_failure(why, "error: remote unpack failed: index-pack abnormal exit\n"));
        assert!(!is_unpack_failure(why, "remote: error: fsck error in packed object\n"));
        assert!(!is_unpack_failure("!\tabc:refs/heads/x\t[remote rejected] (hook declined)", ""));
    }

    #[test]
    fn worktrees_are_found_by_their_branch() {
        #[track_caller]
        fn check(branch: &str, expected: Option<&str>) {
            let list = "worktree /a b\0HEAD 1\0branch refs/heads/main\0\0\
                        worktree /c\0HEAD 1\0detached\0\0\
                        worktree /d\0HEAD 1\0branch refs/heads/x/main\0\0";
            assert_eq!(find_worktree(list, branch), expected.map(PathBuf::from));
        }
        check("main", Some("/a b"));
        check("x/main", Some("/d"));
        check("x", None);
        assert_eq!(find_worktree("worktree /bare.git\0bare\0\0", "main"), None);
        assert_eq!(find_worktree("", "main"), None);
    }
}
