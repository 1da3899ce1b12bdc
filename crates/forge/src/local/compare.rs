//! What a pull request of the embedded host changes: its diff and its commits.

use std::path::Path;

use crate::git::Git;
use crate::host::{PullRequest, State};
use crate::{Error, Local, Oid, Result, diff, target};

const MAX_COMMITS: &str = "--max-count=250";

/// One commit of a pull request, as a line in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitLine {
    pub id: Oid,
    pub author: String,
    /// Seconds since 1970.
    pub time: i64,
    pub subject: String,
}

impl Local {
    /// The changes since the head left the base, as git writes them. A longer one than 2 MiB is cut
    /// at a line, and its last line says so.
    pub async fn diff(&self, pull: &PullRequest) -> Result<String> {
        let scratch = self.scratch()?;
        let start = self.start(scratch.path(), pull).await?;
        diff::between(scratch.path(), &start, &pull.head_commit).await
    }

    /// The newest 250 commits first.
    pub async fn commits(&self, pull: &PullRequest) -> Result<Vec<CommitLine>> {
        let scratch = self.scratch()?;
        let start = self.start(scratch.path(), pull).await?;
        let said = Git::at(scratch.path(), "log")
            .args(["-z", MAX_COMMITS, "--no-color", "--no-decorate", "--no-mailmap"])
            .args(["--no-show-signature", "--encoding=UTF-8", "--format=%H%n%at%n%an%n%s"])
            .args([format!("{start}..{}", pull.head_commit)])
            .text()
            .await?;
        said.split('\0').filter(|commit| !commit.is_empty()).map(commit_line).collect()
    }

    /// The commit that the changes are seen against.
    async fn start(&self, dir: &Path, pull: &PullRequest) -> Result<Oid> {
        let base = match (pull.state, &pull.merge_commit) {
            // Once merged, the base contains the head; the merge's first parent does not.
            (State::Merged, Some(merge)) => format!("{merge}^1"),
            (State::Open, _) => match target::tip(&self.git_dir, &pull.base).await? {
                Some(tip) => tip.to_string(),
                None => pull.base_commit.to_string(),
            },
            _ => pull.base_commit.to_string(),
        };
        let found = Git::at(dir, "merge-base").args([base.as_str(), pull.head_commit.as_str()]).run().await?;
        match found.code {
            Some(0) => Oid::parse(String::from_utf8_lossy(&found.stdout).trim()),
            _ => Err(Error::Refused(format!(
                "the commits of pull request #{} are no longer in the repository",
                pull.number
            ))),
        }
    }
}

fn commit_line(text: &str) -> Result<CommitLine> {
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap_or_default();
    Ok(CommitLine {
        id: Oid::parse(next())?,
        time: next().parse().unwrap_or(0),
        author: next().to_owned(),
        subject: next().trim_end().to_owned(),
    })
}
