//! Jobs, as workers see them: leased, fenced, and never lost.

use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::Value;

use crate::{
    ConversationEntry, Job, JobId, MAX_DEATHS, NewEvent, Note, ProjectId, Quotation, Result, Tokens, WorkerId,
};

/// How long a worker is believed to be alive after its last heartbeat.
pub const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// How many jobs that were put off are put back in line at once, and how many that wait are told so.
pub(crate) const WAKE_BATCH: u32 = 200;

/// The change that a run made, kept before anything of it is pushed: whoever takes the job
/// up goes on from here instead of asking the agent again.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub head_commit: String,
    pub title: String,
    pub body: String,
    pub report: Value,
    pub diff: String,
}

impl Change {
    /// How many lines its diff adds and removes.
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

/// What earlier runs and attempts left behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resume {
    /// The commit that the job's first run started from.
    pub origin: Option<String>,
    /// The branch to merge into, and the commit that this run started from.
    pub base: Option<(String, String)>,
    /// What this run has made so far.
    pub change: Option<Change>,
    /// Whether that is on its branch already.
    pub pushed: bool,
    /// How often the job was put off since it last got on.
    pub put_off: u32,
}

/// The right to work on a job. Every write that takes one fails once it is no longer current.
#[derive(Debug, Clone)]
pub struct Lease {
    pub job: Job,
    pub worker: WorkerId,
    pub(crate) fence: i64,
    pub resume: Resume,
    /// Workers that died in the present step of the run.
    pub(crate) deaths: u32,
}

impl Lease {
    /// Whether the job is to be given up: its worker only looks for a pull request that the job may have opened, and
    /// ends it.
    pub fn is_given_up(&self) -> bool {
        self.deaths >= MAX_DEATHS
    }
}

/// A follow-up that waits for its answer; numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub number: u32,
    pub prompt: String,
    /// What was quoted beside the prompt.
    pub context: Vec<Quotation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Completed { pr_link: Option<String> },
    Failed,
}

impl Outcome {
    pub(crate) fn pr_link(&self) -> Option<&str> {
        match self {
            Self::Completed { pr_link } => pr_link.as_deref(),
            Self::Failed => None,
        }
    }
}

/// How a run ended; written as the run's last event in the same transaction as the status.
#[derive(Debug, Clone)]
pub struct Ending {
    pub outcome: Outcome,
    pub message: String,
    pub report: Value,
    pub checks: Value,
    pub usage: Value,
    /// What a run that failed had made, for people to see; `None` leaves what an earlier one left.
    pub diff: Option<String>,
}

impl Ending {
    /// Of a job that kills its workers.
    pub fn gave_up() -> Self {
        Self {
            outcome: Outcome::Failed,
            message: format!(
                "The job was given up: its worker stopped {MAX_DEATHS} times in the same step, the last time with no \
                 other job on it. Look in the server's log for the cause, then create a new job"
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
            Outcome::Failed => "failed",
        };
        NewEvent::new("ended", self.message)
            .with("reason", reason)
            .with("usage", self.usage)
            .with("checks", self.checks)
            .with("report", self.report)
    }
}

/// The job queue. Every write fails with [`crate::StoreError::LeaseLost`] once the lease is not
/// the current one, its worker is not believed alive, or the job is to be archived.
#[async_trait]
pub trait Queue: Send + Sync {
    /// The worker process is alive for another [`LEASE`].
    async fn beat(&self, worker: &WorkerId) -> Result<()>;
    /// Leases an active job that nobody alive works on, and whose branch nobody alive works on
    /// either. The organization with the fewest running jobs is first; organizations take turns, and so do the
    /// projects of one; a project's jobs come in the order in which they were asked for. No project has more than
    /// `project_limit` at once. The attempt is counted before it returns.
    ///
    /// A worker that died counts against each job that it had, in the step that the job's run was in. After two
    /// deaths in one step the job is a suspect: it is leased by a worker that has been alive for [`crate::STEADY`]
    /// and has no other job, which gets none beside it until the run gets on. Others come first until the suspect
    /// has waited for [`crate::MAX_SUSPECT_WAIT`]. After [`MAX_DEATHS`] in one step the job is leased once more if it
    /// may have opened a pull request, as one that [is given up](Lease::is_given_up); otherwise it is failed, with a
    /// sentence.
    async fn lease_within(&self, worker: &WorkerId, project_limit: u32) -> Result<Option<Lease>>;
    /// The same, however many jobs of one project run.
    async fn lease_next(&self, worker: &WorkerId) -> Result<Option<Lease>> {
        self.lease_within(worker, u32::MAX).await
    }
    /// Tells jobs that have waited for a worker for so long that they wait, each once. Answers
    /// whether there may be more of them.
    async fn tell_waiting(&self, wait: Duration) -> Result<bool>;
    /// Keeps all of these, in their order, in one step. Answers the tokens of the job's project this month after
    /// the last [`Note::Entry`] among them, or 0 without one. An entry of the conversation that is longer than
    /// [`crate::MAX_ENTRY_BYTES`], or nested too deeply to be read back, is a [`crate::StoreError::BadEntry`], and
    /// nothing is kept.
    async fn note(&self, lease: &Lease, notes: Vec<Note>) -> Result<u64>;
    async fn record(&self, lease: &Lease, events: Vec<NewEvent>) -> Result<()> {
        self.note(lease, events.into_iter().map(Note::Event).collect()).await.map(drop)
    }
    /// The follow-ups that no change has answered yet, oldest first.
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
    /// All that was said, of every run, in order.
    async fn conversation(&self, lease: &Lease) -> Result<Vec<ConversationEntry>>;
    /// Drops the current run's entries from this number on; what they cost stays counted.
    async fn forget_from(&self, lease: &Lease, number: u32) -> Result<()>;
    /// The tokens that the project's jobs used this calendar month (UTC).
    async fn month(&self, project: &ProjectId) -> Result<u64>;
    /// Ends the job: status, link and the `ended` event in one step. Messages up to number
    /// `read` are answered by it. While a later one waits, the job stays active instead, and the
    /// lease of its next run, which is for that, is answered.
    async fn finish(&self, lease: &Lease, ending: Ending, read: u32) -> Result<Option<Lease>>;
    /// Gives the job back unharmed, as a server does that is asked to stop: the attempt is
    /// not held against the job. One that is to be archived is archived now.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Gives the job back for a while, as one whose host is in trouble: nobody is given it for as
    /// long as `wait`, and the attempt is not held against it. `why` is for those who watch.
    async fn put_off(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()>;
    /// The same for trouble of the machine: it does not count among the times that the job was put off, which are
    /// bounded.
    async fn delay(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()>;
    /// Gives back all that `worker` still has, which let go of it and could not say so. No death is counted.
    async fn release_all(&self, worker: &WorkerId) -> Result<()>;
    /// Frees every lease, on SQLite, for the one server that holds the data directory: whoever had
    /// a lease is dead. On PostgreSQL other servers may be alive, and nothing happens: there a lease
    /// ends by time alone.
    async fn void_leases(&self) -> Result<()>;
    /// Those of the worker's jobs that it must let go of.
    async fn to_stop(&self, worker: &WorkerId) -> Result<Vec<JobId>>;
    /// Returns when there may be work, or something to let go of; may return for nothing.
    async fn work_came(&self);
}
