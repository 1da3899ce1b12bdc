//! Findings: what hurts readers of a project's docs, and what was done about it. The crate `findings` decides; this
//! trait keeps what it decided.

use std::time::Duration;

use async_trait::async_trait;
use findings::{Evidence, FindingState, Kind, Settings, State};
use jiff::Timestamp;

use crate::{Actor, FindingId, JobId, Page, ProjectId, PullState, Result, Status};

/// How long a chore belongs to the server that took it.
pub(crate) const CHORE: Duration = Duration::from_secs(5 * 60);
/// Findings that one job can be about.
pub const MAX_FINDINGS_PER_JOB: usize = 100;
/// Findings that a project keeps. The lowest scores are removed first.
pub const MAX_FINDINGS: u32 = 20_000;

#[derive(Debug, Clone)]
pub struct Finding {
    pub id: FindingId,
    pub project: ProjectId,
    pub kind: Kind,
    /// Identifies the finding within its project and kind.
    pub key: String,
    /// The path of the site that the finding is named for.
    pub subject: String,
    /// The page that the subject certainly means, if there is one.
    pub target: Option<String>,
    /// Its state, and what was done about it.
    pub lifecycle: FindingState,
    /// The readers that it hurts, in thousandths. See `findings::kinds`.
    pub score: u64,
    /// Requests by humans, in the window of the settings.
    pub human: u64,
    pub ai: u64,
    pub evidence: Evidence,
    /// The job that is to fix it, with its pull request.
    pub job: Option<FindingJob>,
    pub found_at: Timestamp,
    /// The last change of the state.
    pub changed_at: Timestamp,
    /// Counts every change.
    pub version: u64,
}

impl Finding {
    /// Whether a person may create a job for it: nothing works on it, and it isn't fixed.
    pub fn waits_for_job(&self) -> bool {
        match self.lifecycle.state {
            State::Open | State::Persists => true,
            // Until the next refresh, a finding whose job ended without a pull request is still proposed. A person may
            // have dismissed one whose job still runs.
            State::Proposed | State::Dismissed => self.job.as_ref().is_none_or(FindingJob::is_over),
            State::InReview | State::Shipped | State::Resolved => false,
        }
    }
}

/// The job of a finding, as far as the finding's state depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingJob {
    pub id: JobId,
    pub status: Status,
    pub pr_link: Option<String>,
    pub pr_state: Option<PullState>,
    pub merged_at: Option<Timestamp>,
}

impl FindingJob {
    /// Whether neither the job nor its pull request can fix the finding any more.
    fn is_over(&self) -> bool {
        self.status != Status::Active && (self.pr_link.is_none() || self.pr_state == Some(PullState::Closed))
    }
}

/// The next content of a finding.
#[derive(Debug, Clone)]
pub struct FindingUpdate {
    pub kind: Kind,
    pub key: String,
    pub subject: String,
    pub target: Option<String>,
    pub lifecycle: FindingState,
    pub score: u64,
    pub human: u64,
    pub ai: u64,
    pub evidence: Evidence,
    /// The version that the update is based on; 0: the finding is new.
    pub version: u64,
    /// Whether the finding lets go of its job.
    pub drops_job: bool,
}

/// The order of a list of findings, always from the largest value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FindingSort {
    #[default]
    Score,
    Human,
    Ai,
    Total,
    Newest,
}

impl FindingSort {
    pub const NAMES: [&'static str; 5] = ["score", "human", "ai", "total", "newest"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Human => "human",
            Self::Ai => "ai",
            Self::Total => "total",
            Self::Newest => "newest",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Score, Self::Human, Self::Ai, Self::Total, Self::Newest];
        all.into_iter().find(|sort| sort.as_str() == name)
    }
}

/// The readers that a finding must have hurt to be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HurtReaders {
    Human,
    Ai,
}

/// Which findings to list, and which page of them.
#[derive(Debug, Clone, Default)]
pub struct FindingFilter {
    pub state: Option<State>,
    pub kind: Option<Kind>,
    pub readers: Option<HurtReaders>,
    pub period: Option<FindingPeriod>,
    pub sort: FindingSort,
    pub limit: u32,
    pub offset: u64,
}

/// What must have happened to a finding from `from`, and before `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingPeriod {
    pub what: FindingEvent,
    pub from: Timestamp,
    pub to: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingEvent {
    Found,
    /// The last change of the state.
    Changed,
}

/// A project's findings of one kind in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCount {
    pub kind: Kind,
    pub state: State,
    pub count: u64,
}

/// Work that any server does for a project from time to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// Reads the docs of the project at their latest commit.
    ScanSite,
    /// Brings the findings up to date.
    RefreshFindings,
}

impl Chore {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ScanSite => "scan",
            Self::RefreshFindings => "findings",
        }
    }
}

/// A chore that this server took. Its writes fail when another server has taken it since.
#[derive(Debug, Clone)]
pub struct ChoreLease {
    pub project: ProjectId,
    pub chore: Chore,
    pub(crate) fence: u32,
}

/// What the docs of a project contain, as of a commit. The text is for the one who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteScan {
    pub commit: String,
    pub scan: String,
    pub scanned_at: Timestamp,
}

/// Findings, and the chores that keep them. Both databases pass `tests/it/findings.rs`.
#[async_trait]
pub trait Findings: Send + Sync {
    async fn finding(&self, project: &ProjectId, id: &FindingId) -> Result<Option<Finding>>;
    async fn findings(&self, project: &ProjectId, filter: &FindingFilter) -> Result<Page<Finding>>;
    /// The findings of these ids, in any order. Unknown ids, and those of other projects, are left out.
    async fn findings_by_id(&self, project: &ProjectId, ids: &[FindingId]) -> Result<Vec<Finding>>;
    /// The findings that a job is to fix.
    async fn findings_of_job(&self, project: &ProjectId, job: &JobId) -> Result<Vec<Finding>>;
    /// How many findings there are on all pages of the filter.
    async fn count_findings(&self, project: &ProjectId, filter: &FindingFilter) -> Result<u64>;

    async fn finding_counts(&self, project: &ProjectId) -> Result<Vec<FindingCount>>;
    /// All findings of a kind whose key comes after `key`, in byte order of their keys, at most `limit`.
    async fn findings_after(
        &self,
        project: &ProjectId,
        kind: Kind,
        key: &str,
        limit: u32,
    ) -> Result<Vec<Finding>>;
    /// Dismisses a finding, and records who did it. `None` when there is no such finding. A finding that a job is
    /// about to fix can be dismissed, too. Dismissing it again changes nothing.
    async fn dismiss_finding(
        &self,
        project: &ProjectId,
        id: &FindingId,
        reason: &str,
        actor: &Actor,
    ) -> Result<Option<Finding>>;

    async fn finding_settings(&self, project: &ProjectId) -> Result<Settings>;
    async fn set_finding_settings(&self, project: &ProjectId, settings: &Settings) -> Result<()>;

    /// Takes this chore of the project for which it has been due the longest. After five minutes, another server can
    /// take it, and the writes of the first one fail.
    async fn next_chore(&self, chore: Chore) -> Result<Option<ChoreLease>>;
    /// Asks for scans of the project's site from now on. Without readers, nobody needs them.
    async fn request_scan(&self, project: &ProjectId) -> Result<()>;
    /// Makes a project's chores due now.
    async fn hasten_chores(&self, project: &ProjectId) -> Result<()>;
    /// Schedules the chore again after `wait`. False when another server took it meanwhile, or it was hastened.
    async fn finish_chore(&self, lease: &ChoreLease, wait: Duration) -> Result<bool>;
    /// Stores findings, in one transaction. A finding whose version is no longer the expected one keeps its content:
    /// a person or a job changed it meanwhile, and the next round sees that. False, without a change, when another
    /// server took the chore.
    async fn save_findings(&self, lease: &ChoreLease, updates: &[FindingUpdate]) -> Result<bool>;
    /// Stores what the docs contain. False when another server took the chore.
    async fn save_site_scan(&self, lease: &ChoreLease, commit: &str, scan: &str) -> Result<bool>;
    async fn site_scan(&self, project: &ProjectId) -> Result<Option<SiteScan>>;
}
