//! The embedded host: implements pull requests for a git repository on this machine.

mod compare;
mod inspect;
mod locate;
mod merge;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use machine::Trouble;

pub use compare::CommitLine;
pub use inspect::RepositoryProblem;

use crate::bare::Scratch;
use crate::error::{DATA_DIRECTORY, REPOSITORY};
use crate::git::Git;
use crate::host::{Host, NewPull, PullRecord, PullRecords, PullRequest, State};
use crate::{Error, FileRemote, Oid, Remote, Result, file_transport, remote, valid_branch};

/// A repository on this machine with its pull requests. [`PullRecords`] stores the pull requests.
///
/// The owner of the repository stays in control: a checked-out branch is never moved, no branch is deleted,
/// and a merge that the owner makes with git is detected.
pub struct Local {
    path: PathBuf,
    /// The git directory that all working copies share.
    git_dir: PathBuf,
    remote: FileRemote,
    /// The folder of write records and scratch repositories.
    journal: PathBuf,
    records: Arc<dyn PullRecords>,
    link: String,
}

impl Local {
    /// `repository` is the top folder of a working copy (main or linked) or a bare repository. The address of
    /// a pull request is `link` followed by its number. `journal` is the folder of the write-ahead journal
    /// (`journal.rs`).
    pub async fn open(
        repository: &Path,
        records: Arc<dyn PullRecords>,
        link: impl Into<String>,
        journal: &Path,
    ) -> Result<Self> {
        let located = locate::repository(repository).await;
        let (path, git_dir) = located.map_err(|error| error.at(REPOSITORY))?;
        let remote = FileRemote::new(&git_dir)?.with_journal(journal);
        Ok(Self { path, git_dir, remote, journal: journal.to_owned(), records, link: link.into() })
    }

    /// At most `limit` pull requests, newest first.
    pub async fn list(&self, limit: usize) -> Result<Vec<PullRequest>> {
        let mut all = Vec::new();
        for record in self.records.list(limit).await? {
            all.push(self.refresh(record).await?);
        }
        Ok(all)
    }

    /// If a working copy has the base branch checked out: the refusal, with the git command to merge by hand.
    pub async fn merge_by_hand(&self, pull: &PullRequest) -> Result<Option<String>> {
        let owner = file_transport::worktree_of_branch(&self.git_dir, &pull.base).await?;
        let refusal = |worktree| Error::CheckedOut {
            branch: pull.base.clone(),
            worktree,
            merge: Some(pull.head.clone()),
        };
        Ok(owner.map(|worktree| refusal(worktree).to_string()))
    }

    /// Why the pull request cannot be merged, if it cannot.
    pub async fn conflict(&self, pull: &PullRequest) -> Result<Option<String>> {
        match merge::check_mergeable(self, pull).await {
            Err(cause @ (Error::Conflict { .. } | Error::Refused(_))) => Ok(Some(cause.to_string())),
            tried => tried.map(|()| None),
        }
    }

    /// A temporary repository for merges and diffs.
    fn scratch(&self) -> Result<Scratch> {
        Scratch::new(&self.git_dir, &self.journal)
    }

    async fn pull(&self, number: u64) -> Result<PullRequest> {
        self.get(number).await?.ok_or(Error::NoSuchPull(number))
    }

    /// Updates a record from the repository: people push to the head and merge with git.
    async fn refresh(&self, mut record: PullRecord) -> Result<PullRequest> {
        if record.state != State::Open {
            return Ok(self.to_pull_request(record));
        }
        if let Some(head) = file_transport::tip(&self.git_dir, &record.head).await? {
            record.head_commit = head;
        }
        if !self.is_merged(&record).await? {
            return Ok(self.to_pull_request(record));
        }
        // Make the merge durable before recording it. git may not have synced it.
        file_transport::fsync_branch(&self.git_dir, &record.base).await?;
        let merged = State::Merged;
        match self.records.set_state(record.number, merged, &record.head_commit, None).await {
            // The record cannot be written now, but the answer is known. The next call writes it.
            Err(error) if Trouble::find(&error).is_some() => {
                return Ok(self.to_pull_request(PullRecord { state: merged, ..record }));
            }
            updated => updated?,
        };
        let stored = self.records.get(record.number).await?;
        Ok(self.to_pull_request(stored.unwrap_or(record)))
    }

    async fn is_merged(&self, record: &PullRecord) -> Result<bool> {
        let Some(base) = file_transport::tip(&self.git_dir, &record.base).await? else {
            return Ok(false);
        };
        if base == record.base_commit {
            return Ok(false); // the base has not moved
        }
        let head = &record.head_commit;
        // A head that was reset to its start is an ancestor of the base, too, but was never merged.
        Ok(file_transport::is_ancestor(&self.git_dir, head, &base).await?
            && !file_transport::is_ancestor(&self.git_dir, head, &record.base_commit).await?)
    }

    fn to_pull_request(&self, record: PullRecord) -> PullRequest {
        PullRequest {
            url: format!("{}{}", self.link, record.number),
            number: record.number,
            title: record.title,
            body: record.body,
            head: record.head,
            base: record.base,
            state: record.state,
            head_commit: record.head_commit,
            base_commit: record.base_commit,
            merge_commit: record.merge_commit,
            has_conflicts: false, // its page finds out
            job: Some(record.job),
            created_at: record.created_at,
        }
    }

    async fn tip(&self, branch: &str) -> Result<Oid> {
        valid_branch(branch)?;
        let tip = file_transport::tip(&self.git_dir, branch).await?;
        tip.ok_or_else(|| Error::NoSuchBranch(branch.to_owned()))
    }
}

#[async_trait]
impl Host for Local {
    async fn default_branch(&self) -> Result<String> {
        locate::default_branch(&self.git_dir).await
    }

    async fn check(&self, branch: Option<&str>) -> Result<String> {
        let default = self.default_branch().await;
        let Some(branch) = branch else { return default };
        if let Err(Error::Repository(why)) = default
            && locate::is_empty(&self.git_dir).await?
        {
            return Err(Error::Repository(why));
        }
        self.tip(branch).await.map(|_| branch.to_owned())
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        valid_branch(branch)?;
        crate::valid_path(folder)?;
        let named = format!("refs/heads/{branch}:{folder}");
        let output = Git::at(&self.git_dir, "cat-file").args(["-t", &named]).run().await?;
        Ok(output.code == Some(0) && output.stdout.starts_with(b"tree"))
    }

    fn remote(&self) -> Remote {
        Remote::File(self.remote.clone())
    }

    fn web_url(&self) -> String {
        remote::file_url(&self.path)
    }

    async fn find(&self, head: &str) -> Result<Vec<PullRequest>> {
        let mut all = Vec::new();
        for record in self.records.by_head(head).await? {
            all.push(self.refresh(record).await?);
        }
        Ok(all)
    }

    async fn open(&self, new: &NewPull) -> Result<PullRequest> {
        self.tip(&new.base).await?;
        self.tip(&new.head).await?;
        // The embedded host has no draft state, so mark drafts in the title.
        let new = NewPull { title: new.title_with_draft_prefix("Draft: "), ..new.clone() };
        let record = self.records.insert(&new).await?;
        self.refresh(record).await
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        match self.records.get(number).await? {
            Some(record) => self.refresh(record).await.map(Some),
            None => Ok(None),
        }
    }

    async fn merge(&self, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
        // The push names the repository's disk itself.
        merge::merge(self, number, seen).await.map_err(|error| error.at(DATA_DIRECTORY))
    }

    async fn close(&self, number: u64) -> Result<PullRequest> {
        let pull = self.pull(number).await?;
        if pull.state == State::Open {
            self.records.set_state(number, State::Closed, &pull.head_commit, None).await?;
            return self.pull(number).await;
        }
        if pull.state == State::Merged {
            return Err(Error::Refused(format!("pull request #{number} is already merged")));
        }
        Ok(pull)
    }
}
