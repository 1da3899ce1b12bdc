//! Questions to a repository that is not ours, and the two transfers: fetch from it, push to it.

use std::fs;
use std::path::{Path, PathBuf};

use machine::Trouble;

use crate::commit::set_pin;
use crate::error::REPOSITORY;
use crate::git::{self, Git, Output};
use crate::journal::RepositoryWrite;
use crate::snapshot::{damaged, object_id, open_repository};
use crate::{Error, FileRemote, Oid, Result, Snapshot, durable, near, stale};

/// The commit that `branch` is at.
pub(crate) async fn tip(git_dir: &Path, branch: &str) -> Result<Option<Oid>> {
    if let Some(tip) = near::tip(git_dir, branch) {
        return Ok(tip);
    }
    let commit = format!("refs/heads/{branch}^{{commit}}");
    let output = Git::at(git_dir, "rev-parse").args(["--verify", "--quiet", &commit]).run().await?;
    match output.code {
        Some(0) => Oid::parse(String::from_utf8_lossy(&output.stdout).trim()).map(Some),
        // git says the same of a ref that it cannot read.
        Some(1) => unreadable(git_dir, branch).map_or(Ok(None), |trouble| Err(Error::Machine(trouble))),
        _ => Err(output.failure().at(REPOSITORY)),
    }
}

fn unreadable(git_dir: &Path, branch: &str) -> Option<Trouble> {
    let files = [git_dir.join("refs/heads").join(branch), git_dir.join("packed-refs")];
    let trouble = files.iter().find_map(|file| Trouble::find(&fs::read(file).err()?));
    trouble.map(|trouble| trouble.at(REPOSITORY))
}

/// `false` also when one of them is not in the repository any more.
pub(crate) async fn is_ancestor(git_dir: &Path, old: &Oid, new: &Oid) -> Result<bool> {
    let output =
        Git::at(git_dir, "merge-base").args(["--is-ancestor", old.as_str(), new.as_str()]).run().await?;
    match output.trouble() {
        Some(trouble) => Err(Error::Machine(trouble.at(REPOSITORY))),
        None => Ok(output.code == Some(0)),
    }
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
    blocking(move || Ok(near::fetch(&dir, &git_dir, &tip).is_some())).await
}

/// Fetches exactly this commit, without its history, to the ref `to`.
pub(crate) async fn fetch_commit(dir: &Path, remote: &FileRemote, commit: &Oid, to: &str) -> Result<()> {
    let fetch = Git::at(dir, "fetch")
        .args(["--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet"])
        .args([format!("--upload-pack={}", git::service("upload-pack"))])
        .args([remote.url(), &format!("+{commit}:{to}")]);
    fetch.limit(git::PATIENT).text().await.map(|_| ())
}

/// A commit that is to be pushed, and where.
pub(crate) struct Push {
    pub(crate) commit: Oid,
    pub(crate) branch: String,
    /// Where the branch must be for it to be moved; `None`: it must not be there.
    pub(crate) expected: Option<Oid>,
    /// A parent of the commit that another branch of the target is at.
    pub(crate) merged: Option<Oid>,
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
    let write = begin(remote, branch, at).await?;
    let name = format!("refs/heads/{branch}");
    let delete = Git::durable(remote.path(), "update-ref").args(["--no-deref", "-d", &name, at.as_str()]);
    let output = delete.stdin(write.stdin()?).run().await?;
    write.git_ended(&output);
    match output.code {
        Some(0) => Ok(()),
        _ => Err(stale::blocking_lock(remote.path(), branch).unwrap_or_else(|| output.failure())),
    }
}

/// Takes the right to write to the repository, with a record that is durable. Waits for the disk and for others.
async fn begin(remote: &FileRemote, branch: &str, commit: &Oid) -> Result<RepositoryWrite> {
    let (remote, branch, commit) = (remote.clone(), branch.to_owned(), commit.clone());
    blocking(move || {
        let write = RepositoryWrite::begin(&remote, &branch, &commit)?;
        write.sync_record()?;
        Ok(write)
    })
    .await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}

/// The commit that a ref of ours keeps.
fn pinned(dir: &Path, name: &str) -> Result<Oid> {
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
        return Error::Repository("there is no git repository any more where the project's was".into());
    }
    output.failure()
}

/// Pushes a commit of the repository at `dir` to exactly one branch, if that is still where it is expected, or is at
/// the commit already. What was pushed survives a power cut.
pub(crate) async fn push(dir: &Path, remote: &FileRemote, push: Push) -> Result<()> {
    let Push { commit, branch, expected, .. } = &push;
    let (lease, commit, branch) = (expected.clone(), commit.clone(), branch.clone());
    let Some(write) = push_in_process(dir, remote, push).await? else { return Ok(()) };
    refuse_configured_hooks(remote).await?;
    if let Some(worktree) = checked_out(remote.path(), &branch).await? {
        return Err(Error::CheckedOut { branch, worktree, merge: None });
    }
    let lease = lease.as_ref().map_or("", Oid::as_str);
    let output = Git::at(dir, "push")
        .args(["--porcelain", "--no-verify", "--no-follow-tags"])
        .args([format!("--force-with-lease=refs/heads/{branch}:{lease}")])
        .args([format!("--receive-pack={}", git::service("receive-pack"))])
        .args([remote.url(), &format!("{commit}:refs/heads/{branch}")])
        .limit(git::PATIENT)
        .stdin(write.stdin()?)
        .run()
        .await?;
    write.git_ended(&output);
    if output.code != Some(0) {
        return Err(push_failure(&output, remote.path(), &branch));
    }
    make_durable(remote.path(), &branch).await
}

/// Pushes without the git program, if it can be done. Otherwise answers the right to write, for git to use.
async fn push_in_process(dir: &Path, remote: &FileRemote, push: Push) -> Result<Option<RepositoryWrite>> {
    let (dir, remote) = (dir.to_owned(), remote.clone());
    blocking(move || {
        let write = RepositoryWrite::begin(&remote, &push.branch, &push.commit)?;
        stale::remove_empty_branch(remote.path(), &push.branch)?;
        if near::push(&dir, &write, &push).is_some() {
            return Ok(None);
        }
        write.sync_record()?;
        Ok(Some(write))
    })
    .await
}

/// Waits until a branch that others have written survives a power cut.
pub(crate) async fn make_durable(git_dir: &Path, branch: &str) -> Result<()> {
    let (git_dir, branch) = (git_dir.to_owned(), branch.to_owned());
    blocking(move || Ok(sync_branch(&git_dir, &branch)?)).await
}

/// Makes a branch durable that git has written: the ref, its directories, and the directory of packs. git has synced
/// the objects themselves.
pub(crate) fn sync_branch(git_dir: &Path, branch: &str) -> std::io::Result<()> {
    let (reference, heads) = (git_dir.join("refs/heads").join(branch), git_dir.join("refs/heads"));
    let objects = git_dir.join("objects");
    let packed = git_dir.join("packed-refs");
    let stored = match reference.exists() {
        true => durable::directories(&reference, &heads).chain([reference.clone()]).collect(),
        false => vec![git_dir.to_owned(), packed],
    };
    durable::sync_all(stored.into_iter().chain([objects.join("pack"), objects]))
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

fn push_failure(output: &Output, git_dir: &Path, branch: &str) -> Error {
    // Nothing is written on this side of a push.
    if let Some(trouble) = output.trouble() {
        return Error::Machine(trouble.at(REPOSITORY));
    }
    if let Some(line) = output.stderr.lines().find(|line| git::says_unreadable(line)) {
        return Error::Damaged(crate::name::printable(line));
    }
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
    // `cannot lock ref` is the same race, noticed later, by the far side; unless there is a lock that stays.
    let moved = ["stale info", "fetch first", "cannot lock ref", "failed to update ref"];
    if moved.iter().any(|words| why.contains(words)) {
        let moved = || Error::Moved { branch: branch.to_owned() };
        return stale::blocking_lock(git_dir, branch).unwrap_or_else(moved);
    }
    if why.contains("shallow update not allowed") {
        return Error::Repository(format!(
            "the commit that `{branch}` starts from is no longer in the repository: start again"
        ));
    }
    if is_unpack_failure(why, &output.stderr) {
        let last = output.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(why);
        return Error::Damaged(crate::name::printable(last));
    }
    let why = crate::name::printable(why.rsplit('\t').next().unwrap_or(why));
    Error::Repository(format!("the repository refused the push to `{branch}`: {why}"))
}

/// Whether what was sent could not be unpacked: objects of the cache did not survive a power cut, and git does not
/// always say which. A repository that checks what it is sent, and refuses it, says so.
fn is_unpack_failure(why: &str, stderr: &str) -> bool {
    why.contains("unpacker error") && !stderr.contains("fsck error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_unpacked_is_the_caches_fault_unless_the_repository_checks_it() {
        let why = "!\tabc:refs/heads/x\t[remote rejected] (unpacker error)";
        assert!(is_unpack_failure(why, "error: remote unpack failed: index-pack abnormal exit\n"));
        assert!(!is_unpack_failure(why, "remote: error: fsck error in packed object\n"));
        assert!(!is_unpack_failure("!\tabc:refs/heads/x\t[remote rejected] (hook declined)", ""));
    }

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
