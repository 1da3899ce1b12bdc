//! Pull requests of the embedded host, and the state of pull requests on other hosts.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{JobId, NewEvent, ProjectId, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    Open,
    Merged,
    Closed,
}

impl PullState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Merged => "merged",
            Self::Closed => "closed",
        }
    }

    /// The job's event for this state.
    pub(crate) fn event(self) -> NewEvent {
        let message = match self {
            Self::Open => "The pull request was reopened",
            Self::Merged => "The pull request was merged",
            Self::Closed => "The pull request was closed",
        };
        NewEvent::new("pull_request", message).with("state", self.as_str())
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Open, Self::Merged, Self::Closed].into_iter().find(|s| s.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub number: u64,
    pub job: String,
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub head_commit: String,
    pub base_commit: String,
    pub state: PullState,
    pub merge_commit: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NewPull {
    pub job: String,
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub head_commit: String,
    pub base_commit: String,
}

/// A merged pull request of a job, on any host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    pub at: Timestamp,
    pub job: JobId,
    pub title: String,
    pub link: String,
}

/// Several jobs can share a pull request: the first one stands for it.
pub(crate) fn unique_by_link(mut merges: Vec<Merge>) -> Vec<Merge> {
    let mut known = HashSet::new();
    merges.retain(|merge| known.insert(merge.link.clone()));
    merges
}

#[async_trait]
pub trait Pulls: Send + Sync {
    /// Returns the pull request of a job's branch. The first case that applies decides:
    /// - The job has a pull request with this head, in any state: returns it. If it is open, a new description is added
    ///   to its body.
    /// - Another job has an open pull request with this head: returns it unchanged.
    /// - The job is archived, or about to be: fails with [`crate::StoreError::LeaseLost`].
    /// - Otherwise, returns a new pull request. Numbers count from 1 in each project.
    async fn open_pull(&self, project: &ProjectId, new: &NewPull) -> Result<Pull>;
    async fn pull(&self, project: &ProjectId, number: u64) -> Result<Option<Pull>>;
    /// Oldest first.
    async fn pulls_by_head(&self, project: &ProjectId, head: &str) -> Result<Vec<Pull>>;
    /// Newest first.
    async fn pulls(&self, project: &ProjectId, limit: u32) -> Result<Vec<Pull>>;
    /// Merges or closes an open pull request, and adds an event to each job that has its link. False, without a change, when it is not
    /// open.
    async fn close_or_merge_pull(
        &self,
        project: &ProjectId,
        number: u64,
        state: PullState,
        head_commit: &str,
        merge_commit: Option<&str>,
    ) -> Result<bool>;
    /// Records the state of the pull request at `link`, on any host. Each job of the project that has this link gets an
    /// event if the state is new. Answers how many did.
    async fn record_pull_state(&self, project: &ProjectId, link: &str, state: PullState) -> Result<usize>;
    /// Pull requests that were merged at or after `from` and before `to`, oldest first, of at most `limit` jobs.
    async fn merges(
        &self,
        project: &ProjectId,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Merge>>;
    /// When the pull request of a job was merged. `None`: it is not merged.
    async fn merged_at(&self, project: &ProjectId, job: &JobId) -> Result<Option<Timestamp>>;
}
