//! What every host can do in words of its own. `web.rs` and `open.rs` say when.

use async_trait::async_trait;

use crate::{Error, NewPull, PullRequest, Result};

/// What a host tells about a repository.
pub(super) struct About {
    pub(super) default_branch: Option<String>,
    pub(super) is_archived: bool,
    pub(super) is_empty: bool,
    /// Why nothing could be pushed or no pull request be opened, as far as the host tells.
    pub(super) refusal: Option<String>,
    /// Whether that is of our token. Else it is of the person whose it is, and the token may have fewer rights.
    pub(super) is_of_token: bool,
}

/// What became of a pull request that was to be opened.
pub(super) enum Created {
    Now(PullRequest),
    /// There is one already.
    There,
    /// The host has not noticed yet what was pushed; what it says until then.
    NotYet(Error),
}

/// What became of a merge.
pub(super) enum Merge {
    Done,
    /// The head is not where it was when it was looked at.
    Moved,
    Conflict,
    /// The host is still finding out whether it can be.
    NotYet(String),
    /// For another reason, in the host's words.
    No(String),
}

#[async_trait]
pub(super) trait Dialect: Send + Sync {
    async fn about(&self) -> Result<About>;

    /// An error when our token may not open pull requests, as far as that is not a matter of pushing.
    async fn may_open(&self, _base: &str) -> Result<()> {
        Ok(())
    }

    async fn has_branch(&self, branch: &str) -> Result<bool>;

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool>;

    /// Those from this head of the repository itself, in any state and order. With `base`, at least
    /// all that could be adopted for a new one.
    async fn find(&self, head: &str, base: Option<&str>) -> Result<Vec<PullRequest>>;

    async fn get(&self, number: u64) -> Result<Option<PullRequest>>;

    /// Asks once. After an [`Error::Later`] without a time, nobody knows whether it was opened.
    async fn create(&self, new: &NewPull) -> Result<Created>;

    async fn set_body(&self, number: u64, body: &str) -> Result<()>;

    async fn close(&self, number: u64) -> Result<()>;

    /// Only if its head is still where `pull` has it.
    async fn merge(&self, pull: &PullRequest) -> Result<Merge>;

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()>;

    async fn ask_for_review(&self, number: u64, reviewers: &[String]) -> Result<()>;

    /// The longest body it takes, in characters.
    fn longest_body(&self) -> usize;
}
