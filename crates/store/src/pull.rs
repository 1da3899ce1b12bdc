//! Pull requests: what is known of any, and all that there is of the embedded host's.

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

    /// As an event of the job.
    pub(crate) fn event(self) -> NewEvent {
        let message = match self {
            Self::Open => "The pull request was reopened",
            Self::Merged => "The pull request was merged",
            Self::Closed => "The pull request was closed",
        };
        NewEvent::new("pull_request", message).with("state", self.as_str())
    }

    pub(crate) fn from_db(text: &str) -> Option<Self> {
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

/// That a job's pull request was merged, on whatever host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    pub at: Timestamp,
    pub job: JobId,
    pub title: String,
    pub link: String,
}

/// Several jobs can share a pull request: the one that was told first stands for it.
pub(crate) fn unique_by_link(mut merges: Vec<Merge>) -> Vec<Merge> {
    let mut known = HashSet::new();
    merges.retain(|merge| known.insert(merge.link.clone()));
    merges
}

#[async_trait]
pub trait Pulls: Send + Sync {
    /// Numbered from 1 in each project. If the job has one with this head, in whatever state,
    /// or an open one has this head, that one is answered; what its own job
    /// says of it for the first time is added to its text. A job that is
    /// archived, or is to be, opens none: [`crate::StoreError::LeaseLost`].
    async fn open_pull(&self, project: &ProjectId, new: &NewPull) -> Result<Pull>;
    async fn pull(&self, project: &ProjectId, number: u64) -> Result<Option<Pull>>;
    /// Oldest first.
    async fn pulls_by_head(&self, project: &ProjectId, head: &str) -> Result<Vec<Pull>>;
    /// Newest first.
    async fn pulls(&self, project: &ProjectId, limit: u32) -> Result<Vec<Pull>>;
    /// Moves an open pull request on, and tells its job; false, and nothing is written, when it is
    /// not open.
    async fn settle_pull(
        &self,
        project: &ProjectId,
        number: u64,
        state: PullState,
        head_commit: &str,
        merge_commit: Option<&str>,
    ) -> Result<bool>;
    /// What became of the pull request at `link`, of whatever host: every job of the project that has
    /// it gets an event, where that is news. Answers how many did.
    async fn note_pull(&self, project: &ProjectId, link: &str, state: PullState) -> Result<usize>;
    /// Pull requests that are merged, and were from one moment on and before another; the first of
    /// them, oldest first, at most `limit` jobs' worth.
    async fn merges(
        &self,
        project: &ProjectId,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Merge>>;
}
