//! Defines the operations that each web host implements with its own REST API.

use async_trait::async_trait;

use crate::{Error, NewPull, PullRequest, Result};

/// What a host reports about a repository.
pub(super) struct RepositoryDetails {
    pub(super) default_branch: Option<String>,
    pub(super) is_archived: bool,
    pub(super) is_empty: bool,
    /// Why the credential cannot push or open pull requests, as far as the host reports it.
    pub(super) refusal: Option<String>,
    /// Whether `refusal` reflects the token's permissions. If not, it reflects the permissions of the token's
    /// owner, and the token may have fewer.
    pub(super) is_token_specific: bool,
}

/// The outcome of a request to open a pull request.
pub(super) enum CreateOutcome {
    Created(PullRequest),
    AlreadyExists,
    /// The host has not processed the push yet. Return this error when retries run out.
    HeadNotVisible(Error),
}

/// The outcome of an attempt to merge.
pub(super) enum MergeOutcome {
    Merged,
    /// The head is no longer at the reviewed commit.
    HeadMoved,
    Conflict,
    /// The host is still checking whether it can merge; with its message.
    Pending(String),
    /// Another reason, in the host's words.
    Refused(String),
}

#[async_trait]
pub(super) trait HostApi: Send + Sync {
    async fn repository(&self) -> Result<RepositoryDetails>;

    /// Fails when the token may push but may not open pull requests.
    async fn check_can_open(&self, _base: &str) -> Result<()> {
        Ok(())
    }

    async fn has_branch(&self, branch: &str) -> Result<bool>;

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool>;

    /// The pull requests with this head branch of the repository itself, not of forks, in any state and
    /// order. With `base`, the list may omit those that [`super::pull::choose_existing`] ignores.
    async fn find(&self, head: &str, base: Option<&str>) -> Result<Vec<PullRequest>>;

    async fn get(&self, number: u64) -> Result<Option<PullRequest>>;

    /// Sends one request. After an [`Error::Temporary`] without `retry_after`, it is unknown whether the pull
    /// request was opened.
    async fn create(&self, new: &NewPull) -> Result<CreateOutcome>;

    async fn set_body(&self, number: u64, body: &str) -> Result<()>;

    async fn close(&self, number: u64) -> Result<()>;

    /// Merges only if the head is still at `pull.head_commit`.
    async fn merge(&self, pull: &PullRequest) -> Result<MergeOutcome>;

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()>;

    async fn request_review(&self, number: u64, reviewers: &[String]) -> Result<()>;

    fn max_body_chars(&self) -> usize;
}
