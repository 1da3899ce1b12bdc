//! Lists the commits and the diff of a pull request of the embedded host.

use std::path::Path;

use crate::git::Git;
use crate::host::{PullRequest, State};
use crate::{Error, Local, Oid, Result, diff, file_transport};

const MAX_COMMITS: &str = "--max-count=250";

/// A commit of a pull request, for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitLine {
    pub id: Oid,
    pub author: String,
    /// Seconds since 1970.
    pub time: i64,
    pub subject: String,
}

impl Local {
    /// The diff from the merge base to the head, in git's format. A diff of more than 2 MiB is truncated at a
    /// line end and ends with a notice.
    pub async fn diff(&self, pull: &PullRequest) -> Result<String> {
        let scratch = self.scratch()?;
        let start = self.merge_base(scratch.path(), pull).await?;
        diff::diff_commits(scratch.path(), &start, &pull.head_commit).await
    }

    /// At most 250 commits, newest first.
    pub async fn commits(&self, pull: &PullRequest) -> Result<Vec<CommitLine>> {
        let scratch = self.scratch()?;
        let start = self.merge_base(scratch.path(), pull).await?;
        let log = Git::at(scratch.path(), "log")
            .args(["-z", MAX_COMMITS, "--no-color", "--no-decorate", "--no-mailmap"])
            .args(["--no-show-signature", "--encoding=UTF-8", "--format=%H%n%at%n%an%n%s"])
            .args([format!("{start}..{}", pull.head_commit)])
            .run_for_stdout()
            .await?;
        log.split('\0').filter(|commit| !commit.is_empty()).map(commit_line).collect()
    }

    /// The commit that the changes are compared with.
    async fn merge_base(&self, dir: &Path, pull: &PullRequest) -> Result<Oid> {
        let base = match (pull.state, &pull.merge_commit) {
            // After the merge, the base contains the head. The merge commit's first parent does not.
            (State::Merged, Some(merge)) => format!("{merge}^1"),
            (State::Open, _) => match file_transport::tip(&self.git_dir, &pull.base).await? {
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
