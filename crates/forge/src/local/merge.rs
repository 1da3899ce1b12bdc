//! Merges a pull request of the embedded host, without touching a working copy.

use std::path::Path;

use crate::git::{Git, PATIENT};
use crate::host::{PullRequest, State};
use crate::name::printable;
use crate::target::{self, Push};
use crate::{Error, Local, Oid, Result};

/// How often the base may move while we merge before it is the asker's turn again.
const TRIES: u32 = 3;

/// Three-way, in a scratch repository that sees the target's objects and none of its settings; then
/// pushed like anything else. Cut off after the push, the merge is found by who asks next.
pub(super) async fn merge(local: &Local, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
    let mut tries = 0;
    loop {
        tries += 1;
        let pull = local.pull(number).await?;
        match pull.state {
            State::Merged => return Ok(pull),
            State::Closed => {
                return Err(Error::Refused(format!("pull request #{number} is closed")));
            }
            State::Open => {}
        }
        match merge_once(local, &pull, seen).await {
            Err(Error::Moved { .. }) if tries < TRIES => {}
            Err(cause) => return Err(cause),
            Ok((head, merge)) => {
                local.records.set_state(number, State::Merged, &head, Some(&merge)).await?;
                return local.pull(number).await;
            }
        }
    }
}

/// Merges the files alone, and leaves nothing behind.
pub(super) async fn attempt(local: &Local, pull: &PullRequest) -> Result<()> {
    let (base, head) = tips(local, pull).await?;
    let scratch = local.scratch()?;
    merge_trees(scratch.path(), pull, &base, &head).await.map(|_| ())
}

/// Where the base and the head are now.
async fn tips(local: &Local, pull: &PullRequest) -> Result<(Oid, Oid)> {
    let gone = |branch: &str| {
        let number = pull.number;
        Error::Refused(format!("the branch `{branch}` of pull request #{number} is gone: close it"))
    };
    let base = target::tip(&local.git_dir, &pull.base).await?.ok_or_else(|| gone(&pull.base))?;
    let head = target::tip(&local.git_dir, &pull.head).await?.ok_or_else(|| gone(&pull.head))?;
    Ok((base, head))
}

/// Answers what was merged and the commit that did.
async fn merge_once(local: &Local, pull: &PullRequest, seen: Option<&Oid>) -> Result<(Oid, Oid)> {
    let (base, head) = tips(local, pull).await?;
    if seen.is_some_and(|seen| *seen != head) {
        let branch = &pull.head;
        let why = format!("`{branch}` has moved since you looked: look at it again, then merge");
        return Err(Error::Refused(why));
    }
    if let Some(worktree) = target::checked_out(&local.git_dir, &pull.base).await? {
        let (branch, merge) = (pull.base.clone(), Some(pull.head.clone()));
        return Err(Error::CheckedOut { branch, worktree, merge });
    }
    let scratch = local.scratch()?;
    let tree = merge_trees(scratch.path(), pull, &base, &head).await?;
    let message = format!("Merge pull request #{}: {}", pull.number, printable(&pull.title));
    let commit = Git::at(scratch.path(), "commit-tree")
        .args([tree.as_str(), "-p", base.as_str(), "-p", head.as_str(), "-m", &message])
        .text()
        .await?;
    let commit = Oid::parse(commit.trim())?;
    let branch = pull.base.clone();
    let push = Push { commit: commit.clone(), branch, expected: Some(base), merged: Some(head.clone()) };
    target::push(scratch.path(), &local.remote, push).await?;
    Ok((head, commit))
}

async fn merge_trees(dir: &Path, pull: &PullRequest, base: &Oid, head: &Oid) -> Result<Oid> {
    let output = Git::at(dir, "merge-tree")
        .args(["--write-tree", "--name-only", "--no-messages", "-z", base.as_str(), head.as_str()])
        .limit(PATIENT)
        .run()
        .await?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut fields = said.split('\0').filter(|field| !field.is_empty());
    match output.code {
        Some(0) => Oid::parse(fields.next().unwrap_or_default().trim()),
        Some(1) => {
            Err(Error::Conflict { base: pull.base.clone(), files: fields.skip(1).map(printable).collect() })
        }
        _ if output.stderr.contains("unrelated histories") => Err(Error::Refused(format!(
            "`{}` and `{}` have no history in common and cannot be merged",
            pull.head, pull.base
        ))),
        _ => Err(output.failure()),
    }
}
