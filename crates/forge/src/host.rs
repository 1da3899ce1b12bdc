//! Defines the `Host` trait: a service that holds a repository and its pull requests.

use std::fmt;

use async_trait::async_trait;

use crate::{Error, Remote, Result};

/// The id of a commit: 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid(String);

impl Oid {
    pub fn parse(text: &str) -> Result<Self> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() == 40 && text.bytes().all(hex) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::BadName("a commit id must be 40 lower-case hexadecimal digits".to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Merged,
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    pub url: String,
    pub title: String,
    pub body: String,
    /// `head` is the branch with the changes; `base` is the branch that they target.
    pub head: String,
    pub base: String,
    pub state: State,
    /// The tip of `head`, frozen when the pull request is merged or closed.
    pub head_commit: Oid,
    /// The tip of `base` when the pull request was opened.
    pub base_commit: Oid,
    /// `None` when a person merged it with git.
    pub merge_commit: Option<Oid>,
    /// Whether the host says that it conflicts with `base`. Hosts find out with a delay.
    pub has_conflicts: bool,
    /// The job that opened it, if the host knows.
    pub job: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// The input of a new pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub head_commit: Oid,
    pub base_commit: Oid,
    pub job: String,
    /// Whether to open it as a draft.
    pub draft: bool,
    /// Whether this is the job's first run. If the pull request exists then, an interrupted attempt opened
    /// it, and its labels and reviewers may be missing.
    pub is_first: bool,
}

impl NewPull {
    /// The title for hosts that mark drafts with a prefix.
    pub(crate) fn title_with_draft_prefix(&self, prefix: &str) -> String {
        if self.draft && !self.title.starts_with(prefix) {
            return format!("{prefix}{}", self.title);
        }
        self.title.clone()
    }
}

/// A service that holds a project's repository and its pull requests.
#[async_trait]
pub trait Host: Send + Sync {
    /// The repository's default branch, as the host has it.
    async fn default_branch(&self) -> Result<String>;

    /// Checks that the repository is readable and has `branch`, or a default branch, and returns the branch.
    /// The errors are sentences for the person who sets up the project.
    async fn check(&self, branch: Option<&str>) -> Result<String>;

    /// Whether `folder` exists on `branch`.
    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool>;

    fn remote(&self) -> Remote;

    /// The address of the repository for people.
    fn web_url(&self) -> String;

    /// Every pull request with this head branch, in any state, oldest first.
    async fn find(&self, head: &str) -> Result<Vec<PullRequest>>;

    /// Opens a pull request, or returns the existing one: the one that this job opened from this head, in any
    /// state, or else the open one with this head. Idempotent.
    async fn open(&self, new: &NewPull) -> Result<PullRequest>;

    async fn get(&self, number: u64) -> Result<Option<PullRequest>>;

    /// Merges the pull request, or returns it if it is already merged. With `seen`, the head must still be at
    /// that commit, so that nobody merges changes that they have not reviewed.
    async fn merge(&self, number: u64, seen: Option<&Oid>) -> Result<PullRequest>;

    /// Closes the pull request without merging. Keeps the branch. Idempotent.
    async fn close(&self, number: u64) -> Result<PullRequest>;
}

/// A stored pull request of the embedded host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRecord {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub state: State,
    pub head_commit: Oid,
    pub base_commit: Oid,
    pub merge_commit: Option<Oid>,
    pub job: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// Stores the pull requests of one project for [`Local`](crate::Local). Failures are
/// [`Error::Records`].
#[async_trait]
pub trait PullRecords: Send + Sync {
    /// Stores an open pull request under the next number, unless one exists: this job's with this head, in
    /// any state, or an open one with this head. Then returns the existing one and at most appends to its
    /// text. The lookup and the insert are atomic.
    async fn insert(&self, new: &NewPull) -> Result<PullRecord>;

    /// Every pull request with this head, oldest first.
    async fn by_head(&self, head: &str) -> Result<Vec<PullRecord>>;

    async fn get(&self, number: u64) -> Result<Option<PullRecord>>;

    /// At most `limit` pull requests, newest first.
    async fn list(&self, limit: usize) -> Result<Vec<PullRecord>>;

    /// Changes the state of an *open* pull request, and records its head and its merge commit. Returns
    /// `false` and writes nothing when it is not open.
    async fn set_state(
        &self,
        number: u64,
        to: State,
        head_commit: &Oid,
        merge_commit: Option<&Oid>,
    ) -> Result<bool>;
}
