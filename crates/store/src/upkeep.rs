//! What goes: old transcripts, and all of a project or an organization that was deleted.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Job, JobId, OrganizationId, ProjectId, Result};

/// How long after its deletion a project is still left alone: requests that had found it have ended by
/// then, and workers have let go of its jobs.
pub(crate) const PURGE_DELAY: Duration = Duration::from_secs(120);
/// Jobs at a time, so that nobody has to wait for long.
pub(crate) const BATCH: u32 = 100;
/// How often the branch of a settled pull request is named for removal, and in what steps.
pub(crate) const BRANCH_TRIES: u32 = 5;
pub(crate) const BRANCH_RETRY_DELAY: Duration = Duration::from_secs(60 * 60);
/// What stays of a step that is no longer kept.
pub(crate) const TRIMMED: &str = r#"{"message":"No longer kept"}"#;

/// Nothing here has to be done in one go: whoever is cut off goes on where it was. What goes because of its age stays
/// while the clock cannot be trusted ([`crate::Clocks`]).
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Writes something that changes nothing, and returns when it is on the disk. Fails also when the store's files are
    /// not those any more that were opened. The error is a sentence without a path.
    async fn prove_write(&self) -> Result<()>;

    /// Forgets the conversations and the single steps of some jobs that ended so long ago; what was
    /// asked, what came of it and the change stay. Answers whether there may be more of them.
    async fn trim(&self, after: Duration) -> Result<bool>;

    /// A job that ended so long ago, with a branch of its own whose pull request is known to be merged
    /// or closed. It is answered again an hour later, some times, until [`Self::branch_is_gone`].
    async fn next_settled(&self, after: Duration) -> Result<Option<Job>>;
    async fn branch_is_gone(&self, id: &JobId) -> Result<()>;

    /// From now on the project is not there for anybody, its jobs stop, and keys for it alone are
    /// gone. `false` when there was none.
    async fn delete_project(&self, id: &ProjectId) -> Result<bool>;
    /// The same with all its projects, keys and sessions. Its name is free again.
    async fn delete_organization(&self, id: &OrganizationId) -> Result<bool>;

    /// Deleted projects that nobody can be using any more.
    async fn to_purge(&self) -> Result<Vec<ProjectId>>;
    /// Removes some of a deleted project's jobs, with all that belongs to them. Answers whether there
    /// may be more of them.
    async fn purge_jobs(&self, id: &ProjectId) -> Result<bool>;
    /// Removes the rest of a deleted project, and its organization if that was deleted with it and
    /// this was its last one.
    async fn purge_project(&self, id: &ProjectId) -> Result<()>;

    /// Leaves nothing of what was deleted in files of ours. False when a reader is in the way: try again later. What
    /// PostgreSQL keeps until it vacuums is not ours to remove.
    async fn checkpoint(&self) -> Result<bool>;

    /// Writes what is queued and closes the database, for every holder of this store. On SQLite one file holds
    /// everything then. Bounded in time; what was acknowledged stays, also when the time runs out.
    async fn close(&self);
}
