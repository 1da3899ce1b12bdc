//! What a repository host is to us: branches that can be fetched and pushed, and pull requests.

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
    /// The branch with the changes, and the one they are meant for.
    pub head: String,
    pub base: String,
    pub state: State,
    /// The tip of `head` while it is open, and what it was when it was merged or closed.
    pub head_commit: Oid,
    /// Where `base` was when it was opened.
    pub base_commit: Oid,
    /// `None` when somebody merged it by hand.
    pub merge_commit: Option<Oid>,
    /// The job that opened it, where the host remembers.
    pub job: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub head_commit: Oid,
    pub base_commit: Oid,
    pub job: String,
    /// To be shown as not finished yet, however the host does that.
    pub draft: bool,
    /// Of the job's first run: when its pull request is there, an earlier attempt opened it, and may
    /// have been cut off before it had its labels and reviewers.
    pub is_first: bool,
}

impl NewPull {
    /// The title for hosts that know a draft by a word in front of it.
    pub(crate) fn title_with(&self, mark: &str) -> String {
        if self.draft && !self.title.starts_with(mark) {
            return format!("{mark}{}", self.title);
        }
        self.title.clone()
    }
}

/// Where a project's repository and its pull requests are.
#[async_trait]
pub trait Host: Send + Sync {
    /// The branch that the host itself takes for the main one.
    async fn default_branch(&self) -> Result<String>;

    /// Whether the repository can be read and has `branch`, or its default branch when none is
    /// named; answers the branch. Its errors are sentences for whoever sets the project up.
    async fn check(&self, branch: Option<&str>) -> Result<String>;

    /// Whether `branch` has such a folder.
    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool>;

    /// What to fetch from and push to.
    fn remote(&self) -> Remote;

    /// The repository as people know it.
    fn web_url(&self) -> String;

    /// Every pull request with this head, in every state, oldest first.
    async fn find(&self, head: &str) -> Result<Vec<PullRequest>>;

    /// Opens a pull request, or answers the one there is: one that this job opened from this head,
    /// in whatever state, or else the open one on it. Asking twice opens one.
    async fn open(&self, new: &NewPull) -> Result<PullRequest>;

    async fn get(&self, number: u64) -> Result<Option<PullRequest>>;

    /// Merges it; answers it as it is if it is merged already. With `seen`, only if that is still
    /// the head's tip, so that nobody merges what they have not looked at.
    async fn merge(&self, number: u64, seen: Option<&Oid>) -> Result<PullRequest>;

    /// Closes it without merging; the branch stays. Closing twice is fine.
    async fn close(&self, number: u64) -> Result<PullRequest>;
}

/// A pull request of the embedded host, as it is kept.
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

/// Keeps the pull requests of one project for [`Local`](crate::Local). Failures are
/// [`Error::Records`].
#[async_trait]
pub trait PullRecords: Send + Sync {
    /// Keeps an open pull request under the next number, in one step with looking for one that is
    /// there already: if this job has one with this head, in whatever state, or an open one has this
    /// head, that one is answered instead, and at most its text is added to.
    async fn insert(&self, new: &NewPull) -> Result<PullRecord>;

    /// Every one with this head, oldest first.
    async fn by_head(&self, head: &str) -> Result<Vec<PullRecord>>;

    async fn get(&self, number: u64) -> Result<Option<PullRecord>>;

    /// The newest first, at most `limit`.
    async fn list(&self, limit: usize) -> Result<Vec<PullRecord>>;

    /// Moves an *open* one to `to`, and keeps where its head was and what merged it. `false`, and
    /// nothing is written, when it is not open.
    async fn set_state(
        &self,
        number: u64,
        to: State,
        head_commit: &Oid,
        merge_commit: Option<&Oid>,
    ) -> Result<bool>;
}
