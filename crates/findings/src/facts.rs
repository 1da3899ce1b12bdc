//! The facts that move a finding from one state to the next.

use jiff::civil::Date;

use crate::{Evidence, Kind};

/// What is known about a finding today.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub kind: Kind,
    pub today: Date,
    /// The latest job of the finding.
    pub job: JobStatus,
    /// The pull request of that job.
    pub pull_request: Option<PullRequest>,
    /// The first day since the merge on which views show the subject answering 2xx or 3xx.
    pub live_since: Option<Date>,
    /// The counts by day, from before the merge until today.
    pub evidence: &'a Evidence,
    /// Whether the detector reports the finding in this run, see [`Candidate::is_present`](crate::Candidate).
    pub is_present: bool,
    /// Whether a scan shows that no page has the dead link any more. False for other kinds.
    pub is_unlinked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// The finding has no job.
    Missing,
    /// The job may still open a pull request.
    Active,
    /// The job ended: it completed, failed, or was archived.
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PullRequest {
    /// Tells it from an earlier pull request of the same finding, for example its URL.
    pub id: String,
    pub status: PullRequestStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PullRequestStatus {
    Open,
    Merged {
        on: Date,
    },
    /// Closed without a merge, with the reason that a person gave, or an empty text.
    Closed {
        reason: String,
    },
}
