//! Merges a pull request of the embedded host without touching a working copy.

use std::path::Path;

use crate::file_transport::{self, Push};
use crate::git::{Git, TRANSFER_TIMEOUT};
use crate::host::{PullRequest, State};
use crate::name::printable;
use crate::{Error, Local, Oid, Result};

/// How often a merge is tried when other pushes move the base.
const MAX_ATTEMPTS: u32 = 3;

/// Does a three-way merge in a scratch repository, which ignores the repository's configuration, and pushes
/// the result. If this is interrupted after the push, the next read of the pull request detects the merge.
pub(super) async fn merge(local: &Local, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let pull = local.pull(number).await?;
        match pull.state {
            State::Merged => return Ok(pull),
            State::Closed => {
                return Err(Error::Refused(format!("pull request #{number} is closed")));
            }
            State::Open => {}
        }
        match merge_once(local, &pull, seen).await {
            Err(Error::BranchMoved { .. }) if attempts < MAX_ATTEMPTS => {}
            Err(cause) => return Err(cause),
            Ok((head, merge)) => {
                local.records.set_state(number, State::Merged, &head, Some(&merge)).await?;
                return local.pull(number).await;
            }
        }
    }
}

/// Merges the trees and discards the result.
pub(super) async fn check_mergeable(local: &Local, pull: &PullRequest) -> Result<()> {
    let (base, head) = tips(local, pull).await?;
    let scratch = local.scratch()?;
    merge_trees(scratch.path(), pull, &base, &head).await.map(|_| ())
}

/// The current tips of the base and the head.
async fn tips(local: &Local, pull: &PullRequest) -> Result<(Oid, Oid)> {
    let gone = |branch: &str| {
        let number = pull.number;
        Error::Refused(format!(
            "the branch `{branch}` of pull request #{number} no longer exists: restore it, or close the pull request"
        ))
    };
    let base = file_transport::tip(&local.git_dir, &pull.base).await?.ok_or_else(|| gone(&pull.base))?;
    let head = file_transport::tip(&local.git_dir, &pull.head).await?.ok_or_else(|| gone(&pull.head))?;
    Ok((base, head))
}

/// Returns the merged head and the merge commit.
async fn merge_once(local: &Local, pull: &PullRequest, seen: Option<&Oid>) -> Result<(Oid, Oid)> {
    let (base, head) = tips(local, pull).await?;
    if seen.is_some_and(|seen| *seen != head) {
        let branch = &pull.head;
        let why = format!("`{branch}` changed after you reviewed it: review it again, then merge");
        return Err(Error::Refused(why));
    }
    if let Some(worktree) = file_transport::worktree_of_branch(&local.git_dir, &pull.base).await? {
        let (branch, merge) = (pull.base.clone(), Some(pull.head.clone()));
        return Err(Error::CheckedOut { branch, worktree, merge });
    }
    let scratch = local.scratch()?;
    let tree = merge_trees(scratch.path(), pull, &base, &head).await?;
    let message = format!("Merge pull request #{}: {}", pull.number, printable(&pull.title));
    let commit = Git::at(scratch.path(), "commit-tree")
        .args([tree.as_str(), "-p", base.as_str(), "-p", head.as_str(), "-m", &message])
        .run_for_stdout()
        .await?;
    let commit = Oid::parse(commit.trim())?;
    let branch = pull.base.clone();
    let push = Push { commit: commit.clone(), branch, expected: Some(base), merged: Some(head.clone()) };
    file_transport::push(scratch.path(), &local.remote, push).await?;
    Ok((head, commit))
}

async fn merge_trees(dir: &Path, pull: &PullRequest, base: &Oid, head: &Oid) -> Result<Oid> {
    let output = Git::at(dir, "merge-tree")
        .args(["--write-tree", "--name-only", "--no-messages", "-z", base.as_str(), head.as_str()])
        .timeout(TRANSFER_TIMEOUT)
        .run()
        .await?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut fields = stdout.split('\0').filter(|field| !field.is_empty());
    match output.code {
        Some(0) => Oid::parse(fields.next().unwrap_or_default().trim()),
        Some(1) => {
            Err(Error::Conflict { base: pull.base.clone(), files: fields.skip(1).map(printable).collect() })
        }
        _ if output.stderr.contains("unrelated histories") => Err(Error::Refused(format!(
            "`{}` and `{}` have no common history and cannot be merged: close the pull request",
            pull.head, pull.base
        ))),
        _ => Err(output.failure()),
    }
}
