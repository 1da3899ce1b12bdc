//! Agent jobs: their states, their events, and how clients use them.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    Actor, ConversationEntry, FindingId, JobId, Progress, ProjectId, Prompt, PullState, Quotation, Receipt,
    Result, Terms,
};

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

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Completed, Self::Failed, Self::Archived].into_iter().find(|s| s.as_str() == text)
    }

    /// All transitions. Archived is final.
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
    /// Quotations of the prompt.
    pub context: Vec<Quotation>,
    /// The branch that the agent works on.
    pub branch: String,
    pub model: String,
    /// The branch to merge into: from the request, or found by the run.
    pub base_ref: Option<String>,
    /// Whether the request named the branch, which may have other people's commits.
    pub adopts: bool,
    pub draft: bool,
    /// Counts up with every follow-up after an end.
    pub run: u32,
    pub pr_link: Option<String>,
    /// The head branch of `pr_link`, if that is the pull request of another job, which has the same change.
    pub pr_head: Option<String>,
    /// The state of its pull request on any host, if known.
    pub pr_state: Option<PullState>,
    /// Lines that its change adds.
    pub added: u64,
    pub removed: u64,
    /// Tokens of all runs.
    pub tokens: u64,
    pub created_at: Timestamp,
    /// The actor of the request; `None`: it was not recorded.
    pub created_by: Option<Actor>,
    pub ended_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    pub attempt: u32,
}

impl Job {
    /// Whether `pr_link` is the pull request from the job's own branch.
    pub fn has_own_pull(&self) -> bool {
        self.pr_link.is_some() && self.pr_head.is_none()
    }

    /// The head branch of its pull request, or the branch that the job pushes to.
    pub fn pull_branch(&self) -> &str {
        self.pr_head.as_ref().unwrap_or(&self.branch)
    }
}

#[derive(Debug, Clone)]
pub struct NewJob {
    pub project: ProjectId,
    pub prompt: Prompt,
    pub model: String,
    /// The branch to start from and merge into; `None` is the project's branch.
    pub base_ref: Option<String>,
    /// An existing branch to work on, with its open pull request; `None` is a new branch.
    pub branch: Option<String>,
    pub draft: bool,
    /// The findings that the job is to fix. If there are some, at least one must wait for a job.
    pub findings: Vec<FindingId>,
}

impl NewJob {
    pub(crate) fn job(&self, now: Timestamp, actor: Option<&Actor>) -> Job {
        let (id, new) = (JobId::random(), self.clone());
        Job {
            branch: new.branch.clone().unwrap_or_else(|| format!("docwright/{id}")),
            id,
            project: new.project,
            status: Status::Active,
            prompt: new.prompt.text,
            context: new.prompt.context,
            model: new.model,
            base_ref: new.base_ref,
            adopts: new.branch.is_some(),
            draft: new.draft,
            run: 1,
            pr_link: None,
            pr_head: None,
            pr_state: None,
            added: 0,
            removed: 0,
            tokens: 0,
            created_at: now,
            created_by: actor.cloned(),
            ended_at: None,
            archived_at: None,
            attempt: 0,
        }
    }
}

/// An event of a job. Numbered from 1, without gaps.
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

    pub(crate) fn created() -> Self {
        Self::new("created", "The job was created")
    }

    pub(crate) fn follow_up(prompt: &str, context: &[Quotation]) -> Self {
        let event = Self::new("message", "A follow-up was asked for").with("prompt", prompt);
        let quoted: Vec<_> =
            context.iter().map(|Quotation { label, text }| json!({ "label": label, "text": text })).collect();
        if quoted.is_empty() { event } else { event.with("context", quoted) }
    }

    /// For a job that waits for its turn, and not for its host.
    pub(crate) fn waits() -> Self {
        Self::new("waiting", "Waiting for a free worker; other jobs may come first")
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }
}

#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub has_more: bool,
}

/// Which jobs to list, by their pull request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PullFilter {
    #[default]
    Any,
    /// Jobs without a pull request.
    Without,
    WithState(PullState),
}

/// Which jobs to list, and which page of them.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub pull: PullFilter,
    /// A substring of the prompt, ignoring the case of Latin letters; empty: any prompt.
    pub prompt_contains: String,
    pub limit: u32,
    pub offset: u64,
}

impl Filter {
    /// The argument of the query: the state of a pull request, or `none`.
    pub(crate) fn pull(&self) -> Option<&'static str> {
        match self.pull {
            PullFilter::Any => None,
            PullFilter::Without => Some("none"),
            PullFilter::WithState(state) => Some(state.as_str()),
        }
    }
}

/// The result of an archive request.
#[derive(Debug, Clone)]
pub enum Archived {
    Done(Box<Job>),
    /// A worker still has the job and was told to stop: try again.
    Waiting,
}

/// The number of jobs of all projects at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    pub active: u64,
    pub completed: u64,
    pub failed: u64,
    pub archived: u64,
    /// Active jobs that a live worker has leased.
    pub running: u64,
}

/// Jobs, as clients see them. A job of another project is not found. Both databases pass `tests/it`.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// Creates an `active` job with its first event. It is on the disk when this returns.
    async fn insert(&self, new: &NewJob, terms: &Terms) -> Result<Receipt>;
    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>>;
    /// The progress of the job. Concurrent calls share one read.
    async fn progress(&self, project: &ProjectId, id: &JobId) -> Result<Option<Progress>>;
    /// Newest first.
    async fn list(&self, project: &ProjectId, filter: &Filter) -> Result<Page<Job>>;
    /// The events after number `after`, in order.
    async fn events(&self, project: &ProjectId, id: &JobId, after: u64) -> Result<Option<Vec<Event>>>;
    /// The conversation of the job with its model, of all runs, in order.
    async fn conversation(&self, project: &ProjectId, id: &JobId) -> Result<Option<Vec<ConversationEntry>>>;
    /// The first entry of the conversation after this number: reads a long conversation without loading all of it.
    async fn entry_after(
        &self,
        project: &ProjectId,
        id: &JobId,
        number: u32,
    ) -> Result<Option<ConversationEntry>>;
    /// The change as a unified diff; empty when there is none. Without a pull request, the change of a failed run is
    /// answered until a run makes a change or completes.
    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>>;
    /// Adds a follow-up. It stays unread until a run answers it. An ended job becomes `active` again; an archived job
    /// refuses.
    async fn message(
        &self,
        project: &ProjectId,
        id: &JobId,
        prompt: &Prompt,
        terms: &Terms,
    ) -> Result<Option<Receipt>>;
    /// Stops the job for good. From the first call on, writes of its worker are refused.
    async fn archive(&self, project: &ProjectId, id: &JobId) -> Result<Option<Archived>>;
    /// For metrics.
    async fn counts(&self) -> Result<JobCounts>;
    /// Returns when a job may have a new event, or a key or a session may have ended. It can return without a reason.
    async fn wait_for_events(&self);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_transitions() {
        use Status::*;
        let all = [Active, Completed, Failed, Archived];
        let transitions: Vec<_> = all
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
        assert_eq!(transitions, expected);
    }
}
