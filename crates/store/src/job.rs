//! Agent jobs: their states, their events, and the queue's promises.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::{JobId, ProjectId, Result, WorkerId};

pub const MAX_PROMPT_CHARS: usize = 100_000;
/// How long a worker is believed to be alive after its last heartbeat.
pub const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// A job that took down its worker this many times is failed for good.
pub const MAX_ATTEMPTS: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("prompt must not be empty")]
    Empty,
    #[error("prompt must be at most 100,000 characters, got {0}")]
    TooLong(usize),
}

impl Prompt {
    pub fn parse(text: &str) -> Result<Self, PromptError> {
        match text.trim() {
            unseen if unseen.chars().all(says_nothing) => Err(PromptError::Empty),
            // A character takes four bytes at most, so a short text need not be counted.
            long if long.len() > MAX_PROMPT_CHARS && long.chars().count() > MAX_PROMPT_CHARS => {
                Err(PromptError::TooLong(long.chars().count()))
            }
            prompt => Ok(Self(prompt.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Space, control characters and those that take no room: nobody meant to ask that.
fn says_nothing(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Active,
    Completed,
    Failed,
    Archived,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Archived => "archived",
        }
    }

    pub(crate) fn from_db(text: &str) -> Option<Self> {
        [Self::Active, Self::Completed, Self::Failed, Self::Archived].into_iter().find(|s| s.as_str() == text)
    }

    /// The only moves there are. Archived is final.
    pub fn may_become(self, next: Self) -> bool {
        use Status::{Active, Archived, Completed, Failed};
        matches!(
            (self, next),
            (Active, Completed | Failed | Archived) | (Completed | Failed, Active | Archived)
        )
    }
}

#[derive(Debug, Clone)]
pub struct Job {
    pub id: JobId,
    pub project: ProjectId,
    pub status: Status,
    pub prompt: String,
    /// The branch that the agent works on.
    pub branch: String,
    pub model: String,
    /// The branch to merge into, once the run has found it.
    pub base_ref: Option<String>,
    pub pr_link: Option<String>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    pub attempt: u32,
}

#[derive(Debug, Clone)]
pub struct NewJob {
    pub project: ProjectId,
    pub prompt: Prompt,
    pub model: String,
}

/// Something that happened to a job. Numbered from 1, without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub number: u64,
    pub at: Timestamp,
    pub kind: String,
    pub data: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub kind: &'static str,
    pub data: Map<String, Value>,
}

impl NewEvent {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, data: Map::from_iter([("message".to_owned(), Value::String(message.into()))]) }
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }
}

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

/// What an earlier attempt left behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resume {
    /// The branch and the commit that the run started from.
    pub base: Option<(String, String)>,
    pub change: Option<Change>,
}

/// The right to work on a job. Every write that takes one fails once it is no longer current.
#[derive(Debug, Clone)]
pub struct Lease {
    pub job: Job,
    pub worker: WorkerId,
    pub(crate) fence: i64,
    pub resume: Resume,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Completed { pr_link: Option<String> },
    Failed,
}

/// How a run ended; written as the run's last event in the same transaction as the status.
#[derive(Debug, Clone)]
pub struct Ending {
    pub outcome: Outcome,
    pub message: String,
    pub report: Value,
    pub checks: Value,
    pub usage: Value,
}

impl Ending {
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

#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub has_more: bool,
}

/// The job queue. Every backend passes `tests/it`; a method's promise is written here once
/// and tested there once. What belongs to another project is `None`, like what is not there.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// On disk when it returns, `active`, with its first event.
    async fn insert(&self, new: &NewJob) -> Result<Job>;
    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>>;
    /// Newest first.
    async fn list(&self, project: &ProjectId, limit: u32, offset: u64) -> Result<Page<Job>>;
    /// The events after number `after`, in order.
    async fn events(&self, project: &ProjectId, id: &JobId, after: u64) -> Result<Option<Vec<Event>>>;
    /// The change as it stands, as a unified diff; empty when there is none.
    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>>;

    /// The worker process is alive for another [`LEASE`].
    async fn beat(&self, worker: &WorkerId) -> Result<()>;
    /// Leases the oldest active job that nobody alive works on. The attempt is counted before
    /// it returns; a job that has used up its attempts is failed instead, with a sentence.
    async fn lease_next(&self, worker: &WorkerId) -> Result<Option<Lease>>;
    async fn record(&self, lease: &Lease, events: Vec<NewEvent>) -> Result<()>;
    /// Notes what the run starts from, before it starts.
    async fn set_base(&self, lease: &Lease, base_ref: &str, commit: &str) -> Result<()>;
    /// Notes the change, before it is pushed.
    async fn set_change(&self, lease: &Lease, change: &Change) -> Result<()>;
    /// Ends the run: status, link and the `ended` event in one step.
    async fn finish(&self, lease: &Lease, ending: Ending) -> Result<()>;
    /// Gives the job back unharmed, as a server does that is asked to stop: the attempt is
    /// not held against the job.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Frees every lease. For the one server that holds the data directory: whoever had a
    /// lease is dead.
    async fn void_leases(&self) -> Result<()>;
    /// Returns when there may be work; may return early or for nothing.
    async fn work_came(&self);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts() {
        #[track_caller]
        fn check(text: &str, expected: Result<&str, PromptError>) {
            assert_eq!(Prompt::parse(text).as_ref().map(Prompt::as_str), expected.as_ref().copied());
        }
        check("  Fix links\n", Ok("Fix links"));
        check(" \n\t ", Err(PromptError::Empty));
        check("\u{200b}\0 \u{feff}", Err(PromptError::Empty));
        let longest = "é".repeat(MAX_PROMPT_CHARS);
        check(&longest, Ok(&longest));
        check(&format!("{longest}x"), Err(PromptError::TooLong(MAX_PROMPT_CHARS + 1)));
    }

    #[test]
    fn status_moves_only_as_documented() {
        use Status::*;
        let all = [Active, Completed, Failed, Archived];
        let moves: Vec<_> = all
            .iter()
            .flat_map(|from| all.iter().map(move |to| (from, to)))
            .filter(|(from, to)| from.may_become(**to))
            .map(|(from, to)| format!("{} -> {}", from.as_str(), to.as_str()))
            .collect();
        let expected = [
            "active -> completed",
            "active -> failed",
            "active -> archived",
            "completed -> active",
            "completed -> archived",
            "failed -> active",
            "failed -> archived",
        ];
        assert_eq!(moves, expected);
    }
}
