//! The embedded host: pull requests over a git repository on this machine.

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
use crate::{Error, FileRemote, Oid, Remote, Result, remote, target, valid_branch};

/// A repository on this machine, and its pull requests, which somebody else keeps.
///
/// The repository stays its owner's: a branch that is checked out somewhere is never moved, no
/// branch is ever deleted, and a merge that its owner makes by hand is noticed.
pub struct Local {
    path: PathBuf,
    /// The git directory that all its working copies share.
    git_dir: PathBuf,
    remote: FileRemote,
    /// The folder of write records and scratch repositories.
    journal: PathBuf,
    records: Arc<dyn PullRecords>,
    link: String,
}

impl Local {
    /// `repository` is the top folder of a working copy, a linked one or not, or a bare repository.
    /// `link` and a number make the address of a pull request. In the folder `journal` it is recorded what is being
    /// written, so that what a killed process leaves in the repository can be removed.
    pub async fn open(
        repository: &Path,
        records: Arc<dyn PullRecords>,
        link: impl Into<String>,
        journal: &Path,
    ) -> Result<Self> {
        let located = locate::repository(repository).await;
        let (path, git_dir) = located.map_err(|error| error.at(REPOSITORY))?;
        let remote = FileRemote::new(&git_dir)?.journaled(journal);
        Ok(Self { path, git_dir, remote, journal: journal.to_owned(), records, link: link.into() })
    }

    /// The newest pull requests first, at most `limit`.
    pub async fn list(&self, limit: usize) -> Result<Vec<PullRequest>> {
        let mut all = Vec::new();
        for record in self.records.list(limit).await? {
            all.push(self.current(record).await?);
        }
        Ok(all)
    }

    /// Why a merge would be refused before it is tried, and how to do it by hand.
    pub async fn merge_by_hand(&self, pull: &PullRequest) -> Result<Option<String>> {
        let owner = target::checked_out(&self.git_dir, &pull.base).await?;
        let refusal = |worktree| Error::CheckedOut {
            branch: pull.base.clone(),
            worktree,
            merge: Some(pull.head.clone()),
        };
        Ok(owner.map(|worktree| refusal(worktree).to_string()))
    }

    /// Why nobody could merge it as it is, if so.
    pub async fn conflict(&self, pull: &PullRequest) -> Result<Option<String>> {
        match merge::attempt(self, pull).await {
            Err(cause @ (Error::Conflict { .. } | Error::Refused(_))) => Ok(Some(cause.to_string())),
            tried => tried.map(|()| None),
        }
    }

    /// A repository to merge and compare in.
    fn scratch(&self) -> Result<Scratch> {
        Scratch::over(&self.git_dir, &self.journal)
    }

    async fn pull(&self, number: u64) -> Result<PullRequest> {
        self.get(number).await?.ok_or(Error::NoSuchPull(number))
    }

    /// The record as it is now: people push to the head and merge by hand without telling us.
    async fn current(&self, mut record: PullRecord) -> Result<PullRequest> {
        if record.state != State::Open {
            return Ok(self.shown(record));
        }
        if let Some(head) = target::tip(&self.git_dir, &record.head).await? {
            record.head_commit = head;
        }
        if !self.is_merged(&record).await? {
            return Ok(self.shown(record));
        }
        // Recorded only once it survives a power cut: a merge by hand, or one that we were cut off after.
        target::make_durable(&self.git_dir, &record.base).await?;
        let merged = State::Merged;
        match self.records.set_state(record.number, merged, &record.head_commit, None).await {
            // Whoever only looks is told all the same; the next look writes it down.
            Err(error) if Trouble::find(&error).is_some() => {
                return Ok(self.shown(PullRecord { state: merged, ..record }));
            }
            noted => noted?,
        };
        let kept = self.records.get(record.number).await?;
        Ok(self.shown(kept.unwrap_or(record)))
    }

    async fn is_merged(&self, record: &PullRecord) -> Result<bool> {
        let Some(base) = target::tip(&self.git_dir, &record.base).await? else {
            return Ok(false);
        };
        if base == record.base_commit {
            return Ok(false); // nothing came into the base since
        }
        let head = &record.head_commit;
        // A head that was reset to where it started is in the base too, and was never merged.
        Ok(target::is_ancestor(&self.git_dir, head, &base).await?
            && !target::is_ancestor(&self.git_dir, head, &record.base_commit).await?)
    }

    fn shown(&self, record: PullRecord) -> PullRequest {
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
            job: Some(record.job),
            created_at: record.created_at,
        }
    }

    async fn tip(&self, branch: &str) -> Result<Oid> {
        valid_branch(branch)?;
        let tip = target::tip(&self.git_dir, branch).await?;
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
            all.push(self.current(record).await?);
        }
        Ok(all)
    }

    async fn open(&self, new: &NewPull) -> Result<PullRequest> {
        self.tip(&new.base).await?;
        self.tip(&new.head).await?;
        // It has no drafts of its own; the word in front is understood everywhere.
        let new = NewPull { title: new.title_with("Draft: "), ..new.clone() };
        let record = self.records.insert(&new).await?;
        self.current(record).await
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        match self.records.get(number).await? {
            Some(record) => self.current(record).await.map(Some),
            None => Ok(None),
        }
    }

    async fn merge(&self, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
        // Of what is written to the repository itself, the push says so.
        merge::merge(self, number, seen).await.map_err(|error| error.at(DATA_DIRECTORY))
    }

    async fn close(&self, number: u64) -> Result<PullRequest> {
        let pull = self.pull(number).await?;
        if pull.state == State::Open {
            self.records.set_state(number, State::Closed, &pull.head_commit, None).await?;
            return self.pull(number).await;
        }
        if pull.state == State::Merged {
            return Err(Error::Refused(format!("pull request #{number} is merged already")));
        }
        Ok(pull)
    }
}
