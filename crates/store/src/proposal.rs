//! Proposals: which job has which change, so that jobs with equal changes open one pull request.
//!
//! A change is equal to another one if the project, the branch to merge into, and the resulting git tree are equal. A job
//! claims its change before it pushes. The claim of an ended job can be taken over, so a claim is never released.

use async_trait::async_trait;

use crate::{JobId, Lease, NewEvent, Note, Result, Status};

/// A change that a job is about to push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The branch to merge into.
    pub base_ref: String,
    /// The id of the git tree of `head_commit`.
    pub tree: String,
    pub head_commit: String,
    pub claim: ClaimKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimKind {
    /// Only if no other job has the change.
    Exclusive,
    /// Also if this job has it, which has ended or has another change by now.
    TakeOver(JobId),
    /// The job pushes in any case, such as to the pull request that it has already.
    Shared,
}

/// The job that has the change.
#[derive(Debug, Clone)]
pub struct ProposalHolder {
    pub job: JobId,
    pub status: Status,
    /// The branch that it pushes to.
    pub branch: String,
    /// Its own pull request.
    pub pr_link: Option<String>,
    /// The commit that it pushed, or is about to push.
    pub head_commit: String,
    /// Its current run is about to push the change or to open the pull request.
    pub is_publishing: bool,
}

#[async_trait]
pub trait Proposals: Send + Sync {
    /// Stores the notes and claims the change, in one transaction. With the claim, `pushing` becomes an event of the
    /// job, and its earlier claims end. Answers the job that has the change instead, if there is one. Like
    /// [`crate::Queue::note`], this fails when the lease is not current.
    async fn claim_proposal(
        &self,
        lease: &Lease,
        notes: Vec<Note>,
        proposal: &Proposal,
        pushing: NewEvent,
    ) -> Result<Option<ProposalHolder>>;
}
