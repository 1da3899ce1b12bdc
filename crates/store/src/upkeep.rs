//! Retention of old jobs, deletion of projects and organizations, and upkeep of the database.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Job, JobId, OrganizationId, ProjectId, Result};

/// The wait between the deletion of a project and the removal of its rows: by then its requests have ended, and workers
/// have stopped its jobs.
pub(crate) const PURGE_DELAY: Duration = Duration::from_secs(120);
/// Jobs of one batch: other writes wait for it.
pub(crate) const BATCH: u32 = 100;
/// How often the removal of a settled pull request's branch is tried, and how long apart.
pub(crate) const BRANCH_TRIES: u32 = 5;
pub(crate) const BRANCH_RETRY_DELAY: Duration = Duration::from_secs(60 * 60);
/// The data of a trimmed event.
pub(crate) const TRIMMED: &str = r#"{"message":"No longer kept"}"#;

/// All of this can be interrupted and continued. Nothing is deleted by age while the clock cannot be trusted
/// ([`crate::Clocks`]).
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Makes a write without effect, and returns when it is on the disk. Also fails when the store's files were replaced
    /// since they were opened. The error is a sentence without a path.
    async fn probe_write(&self) -> Result<()>;

    /// Deletes the conversations and steps of a batch of jobs that ended so long ago. Prompts, results and changes stay.
    /// Answers whether there may be more.
    async fn trim(&self, after: Duration) -> Result<bool>;

    /// A job that ended so long ago, with its own branch and a pull request that is merged or closed. It is answered
    /// again after an hour, a few times, until [`Self::branch_is_gone`].
    async fn next_settled(&self, after: Duration) -> Result<Option<Job>>;
    async fn branch_is_gone(&self, id: &JobId) -> Result<()>;

    /// Hides the project, stops its jobs, and deletes API keys that are only for it. False when there is no such
    /// project.
    async fn delete_project(&self, id: &ProjectId) -> Result<bool>;
    /// Also deletes its projects, keys and sessions. Its name can be used again.
    async fn delete_organization(&self, id: &OrganizationId) -> Result<bool>;

    /// Deleted projects whose rows can be removed.
    async fn to_purge(&self) -> Result<Vec<ProjectId>>;
    /// Removes a batch of a deleted project's jobs, with all that belongs to them. Answers whether there may be more.
    async fn purge_jobs(&self, id: &ProjectId) -> Result<bool>;
    /// Removes the rest of a deleted project, and its deleted organization with the last project.
    async fn purge_project(&self, id: &ProjectId) -> Result<()>;

    /// Empties SQLite's write-ahead log, which may have deleted rows. False when a reader prevents it: try again later.
    /// PostgreSQL removes deleted rows when it vacuums.
    async fn checkpoint(&self) -> Result<bool>;

    /// Commits queued writes and closes the database, for all clones of this store. On SQLite, one file has all data
    /// afterward. Bounded in time; acknowledged writes are safe even if the time runs out.
    async fn close(&self);
}
