//! The job queue: workers lease jobs, and a fencing token guards each write of a worker.

use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::Value;

use crate::suspects::SUSPECT_DEATHS;
use crate::{
    ConversationEntry, Job, JobId, MAX_DEATHS, NewEvent, Note, ProjectId, Quotation, Result, Tokens, WorkerId,
};

/// How long a worker counts as alive after its last heartbeat.
pub const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// The number of postponed jobs that return to the queue at once, and of queued jobs that get an event about the wait.
pub(crate) const WAKE_BATCH: u32 = 200;

/// The change of a run, stored before it is pushed: a worker that takes the job over continues from here instead of
/// running the agent again.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub head_commit: String,
    pub title: String,
    pub body: String,
    pub report: Value,
    pub diff: String,
}

impl Change {
    /// The numbers of lines that its diff adds and removes.
    pub(crate) fn lines(&self) -> (u64, u64) {
        let (mut added, mut removed, mut in_hunks) = (0, 0, false);
        for line in self.diff.lines() {
            match line.as_bytes().first() {
                Some(b'd') => in_hunks = false,
                Some(b'@') => in_hunks = true,
                Some(b'+') if in_hunks => added += 1,
                Some(b'-') if in_hunks => removed += 1,
                _ => {}
            }
        }
        (added, removed)
    }
}

/// The state that earlier runs and attempts stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resume {
    /// The commit that the job's first run started from.
    pub origin: Option<String>,
    /// The branch to merge into, and the commit that this run started from.
    pub base: Option<(String, String)>,
    /// The change of this run.
    pub change: Option<Change>,
    /// Whether the change is on its branch.
    pub pushed: bool,
    /// How often the job was put off since its last progress.
    pub put_off: u32,
}

/// The last change that a job stored, which may be of an earlier run.
#[derive(Debug, Clone, PartialEq)]
pub struct LastChange {
    pub run: u32,
    /// Whether it is known to be on its branch. Otherwise a worker may have stopped during the push.
    pub pushed: bool,
    pub change: Change,
}

/// The right to work on a job. A write with a lease fails when the lease is no longer current.
#[derive(Debug, Clone)]
pub struct Lease {
    pub job: Job,
    pub worker: WorkerId,
    pub(crate) fence: i64,
    pub resume: Resume,
    /// Workers that died in the current step of the run.
    pub(crate) deaths: u32,
}

impl Lease {
    /// Whether the job must run alone: its worker makes its other jobs wait before it starts this one, until
    /// [`Queue::is_suspect`] is false.
    pub fn is_suspect(&self) -> bool {
        self.deaths == SUSPECT_DEATHS
    }

    /// Whether the job is given up: its worker only searches for a pull request that the job may have opened, and ends
    /// the job.
    pub fn is_given_up(&self) -> bool {
        self.deaths >= MAX_DEATHS
    }
}

/// An unanswered follow-up. Numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub number: u32,
    pub prompt: String,
    /// Quotations of the prompt.
    pub context: Vec<Quotation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Completed {
        pr_link: Option<String>,
    },
    /// The job opened no pull request, because that of another job has the same change. `head` is its branch.
    AlreadyProposed {
        pr_link: String,
        head: String,
    },
    /// With the pull request that the job has all the same, if it is new.
    Failed {
        pr_link: Option<String>,
    },
}

impl Outcome {
    /// A failure that leaves the job's pull request as it is known.
    pub const FAILED: Self = Self::Failed { pr_link: None };

    pub(crate) fn pr_link(&self) -> Option<&str> {
        match self {
            Self::Completed { pr_link } | Self::Failed { pr_link } => pr_link.as_deref(),
            Self::AlreadyProposed { pr_link, .. } => Some(pr_link),
        }
    }

    /// The head branch of another job's pull request.
    pub(crate) fn pr_head(&self) -> Option<&str> {
        match self {
            Self::AlreadyProposed { head, .. } => Some(head),
            Self::Completed { .. } | Self::Failed { .. } => None,
        }
    }
}

/// The end of a run: stored as the run's last event, in the same transaction as the status.
#[derive(Debug, Clone)]
pub struct Ending {
    pub outcome: Outcome,
    pub message: String,
    pub report: Value,
    pub checks: Value,
    pub usage: Value,
    /// The change of a failed run, for people to see; `None` keeps that of an earlier run.
    pub diff: Option<String>,
}

impl Ending {
    /// The end of a job whose workers died. `pushed` is whether its change is on its branch; `None`: it has no change.
    pub fn gave_up(job: &Job, pushed: Option<bool>) -> Self {
        let advice = match (&job.pr_link, pushed) {
            (Some(link), _) => format!("then send the follow-up again. The job's pull request is {link}"),
            (None, None) => "then create a new job".to_owned(),
            (None, Some(pushed)) => format!("and on the repository host: {}", unknown_pull(job, pushed)),
        };
        Self {
            outcome: Outcome::FAILED,
            message: format!(
                "The job was given up: its worker stopped {MAX_DEATHS} times in the same step, the last time with no \
                 other job on it. Look in the server's log for the cause, {advice}"
            ),
            report: Value::Null,
            checks: serde_json::json!([]),
            usage: serde_json::json!({}),
            diff: None,
        }
    }

    pub(crate) fn event(self) -> NewEvent {
        let reason = match self.outcome {
            Outcome::Completed { .. } => "completed",
            Outcome::AlreadyProposed { .. } => "already_proposed",
            Outcome::Failed { .. } => "failed",
        };
        NewEvent::new("ended", self.message)
            .with("reason", reason)
            .with("usage", self.usage)
            .with("checks", self.checks)
            .with("report", self.report)
    }
}

/// Says where a change is that may have a pull request, and what to do before anybody opens a second one.
pub fn unknown_pull(job: &Job, pushed: bool) -> String {
    let branch = &job.branch;
    match pushed {
        true => format!(
            "the change is on the branch `{branch}`, but no pull request for it was found. Open one from that branch \
             if there is none"
        ),
        false => format!(
            "the change may be on the branch `{branch}`, but no pull request for it was found. Look for that branch \
             before you create a new job"
        ),
    }
}

/// How many leased jobs there can be at the same time. One more is not leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseLimits {
    /// Of one project, on all workers together.
    pub project: u32,
    /// Of one organization on the worker that leases, so that it has room for other organizations. PostgreSQL can exceed
    /// it by the leases that the worker makes at the same moment.
    pub organization: u32,
}

impl LeaseLimits {
    pub const NONE: Self = Self { project: u32::MAX, organization: u32::MAX };
}

/// The job queue. A write fails with [`crate::StoreError::LeaseLost`] when the lease is not current, its worker does not
/// count as alive, or the job is to be archived.
#[async_trait]
pub trait Queue: Send + Sync {
    /// The worker counts as alive for another [`LEASE`].
    async fn heartbeat(&self, worker: &WorkerId) -> Result<()>;
    /// Leases an active job that no live worker has, and whose branch no live worker uses. The organization with the
    /// fewest jobs that do local work is first; organizations take turns, and so do the projects of one; a project's jobs
    /// are leased in order of arrival. No project has more leased jobs than `limits` allow, and no organization more
    /// of this worker's. The attempt is counted before this returns.
    ///
    /// The death of a worker counts against each job that it had leased, in the step of the job's run, except jobs that
    /// only [waited](crate::Activity::Waiting). After two deaths in one step the job is a [suspect](Lease::is_suspect).
    /// It needs a worker that has been alive for [`crate::MIN_WORKER_AGE`]; that worker gets no other job until the
    /// run makes progress. Other jobs come first until the suspect has waited for [`crate::MAX_SUSPECT_WAIT`]. After
    /// [`MAX_DEATHS`] in one step the job fails. If it may have opened a pull request, it is leased before, [as given
    /// up](Lease::is_given_up), and again if that worker dies, too, up to [`crate::MAX_LOOKUP_DEATHS`] times. Then it
    /// fails, and a [sweep](crate::Sweeps) searches on.
    async fn lease_within(&self, worker: &WorkerId, limits: LeaseLimits) -> Result<Option<Lease>>;
    /// Leases a job without limits.
    async fn lease_next(&self, worker: &WorkerId) -> Result<Option<Lease>> {
        self.lease_within(worker, LeaseLimits::NONE).await
    }
    /// Adds an event to jobs that have been queued for `wait`, once each. Answers whether there may be more.
    async fn announce_waiting(&self, wait: Duration) -> Result<bool>;
    /// Stores all notes, in order, in one transaction. Answers the tokens of the job's project this month after the last
    /// [`Note::Entry`], or 0 without one. Stores nothing and fails with [`crate::StoreError::BadEntry`] when an entry is
    /// longer than [`crate::MAX_ENTRY_BYTES`] or nested too deeply to be decoded.
    async fn note(&self, lease: &Lease, notes: Vec<Note>) -> Result<u64>;
    async fn record(&self, lease: &Lease, events: Vec<NewEvent>) -> Result<()> {
        self.note(lease, events.into_iter().map(Note::Event).collect()).await.map(drop)
    }
    /// The unanswered follow-ups, oldest first.
    async fn unread(&self, lease: &Lease) -> Result<Vec<Message>>;
    async fn set_base(&self, lease: &Lease, base_ref: &str, commit: &str) -> Result<()> {
        self.note(lease, vec![Note::Base(base_ref.to_owned(), commit.to_owned())]).await.map(drop)
    }
    async fn set_change(&self, lease: &Lease, change: &Change, read: u32) -> Result<()> {
        self.note(lease, vec![Note::Change(Box::new(change.clone()), read)]).await.map(drop)
    }
    async fn say(&self, lease: &Lease, entry: &Value, tokens: Tokens) -> Result<u64> {
        self.note(lease, vec![Note::Entry(entry.clone(), tokens)]).await
    }
    /// Whether the leased job still must run alone.
    async fn is_suspect(&self, lease: &Lease) -> Result<bool>;
    /// The change that the job stored last, in this run or an earlier one.
    async fn last_change(&self, lease: &Lease) -> Result<Option<LastChange>>;
    /// The conversation of all runs, in order.
    async fn conversation(&self, lease: &Lease) -> Result<Vec<ConversationEntry>>;
    /// Deletes the current run's entries from this number on. Their tokens stay counted.
    async fn forget_from(&self, lease: &Lease, number: u32) -> Result<()>;
    /// The tokens that the project's jobs used this calendar month (UTC).
    async fn tokens_this_month(&self, project: &ProjectId) -> Result<u64>;
    /// Ends the job: stores status, link and the `ended` event in one transaction. The run has answered messages up to
    /// number `read`. If there is a later message, the job stays active, and the lease of its next run is answered.
    async fn finish(&self, lease: &Lease, ending: Ending, read: u32) -> Result<Option<Lease>>;
    /// Returns the job to the queue, such as when the server stops. The attempt is not counted. A job that is to be
    /// archived is archived now.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Returns the job to the queue after `wait`, such as when its host has a problem. The attempt is not counted. `why`
    /// is the event.
    async fn put_off(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()>;
    /// Returns the job to the queue after `wait` because of a problem of the machine. Unlike [`Self::put_off`], this is
    /// not counted, and so it is not limited.
    async fn delay(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()>;
    /// Returns all jobs of `worker` to the queue: it stopped them and could not report that. No death is counted.
    async fn release_all(&self, worker: &WorkerId) -> Result<()>;
    /// Ends all leases on SQLite: one server has the data directory, so all earlier workers are dead. Does nothing on
    /// PostgreSQL, where other servers may be alive and a lease ends by time.
    async fn void_leases(&self) -> Result<()>;
    /// The worker's jobs that it must stop.
    async fn jobs_to_stop(&self, worker: &WorkerId) -> Result<Vec<JobId>>;
    /// Returns when there may be a job to lease or to stop. It can return without a reason.
    async fn wait_for_work(&self);
}
