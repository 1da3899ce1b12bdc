//! Agent jobs: their states, their events, and the queue's promises.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    Actor, ConversationEntry, JobId, Progress, ProjectId, Prompt, PullState, Quotation, Receipt, Result,
    Terms,
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
    /// What was quoted beside the prompt.
    pub context: Vec<Quotation>,
    /// The branch that the agent works on.
    pub branch: String,
    pub model: String,
    /// The branch to merge into: the one asked for, or once the run has found it.
    pub base_ref: Option<String>,
    /// Whether the branch was named by the request, and may hold other people's work.
    pub adopts: bool,
    pub draft: bool,
    /// Counts up with every follow-up after an end.
    pub run: u32,
    pub pr_link: Option<String>,
    /// What is known of its pull request, of whatever host.
    pub pr_state: Option<PullState>,
    /// Lines of its change.
    pub added: u64,
    pub removed: u64,
    /// Tokens of all runs.
    pub tokens: u64,
    pub created_at: Timestamp,
    /// Who asked for it; `None`: it was not recorded.
    pub created_by: Option<Actor>,
    pub ended_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    pub attempt: u32,
}

#[derive(Debug, Clone)]
pub struct NewJob {
    pub project: ProjectId,
    pub prompt: Prompt,
    pub model: String,
    /// The branch to start from and merge into; `None` is the project's.
    pub base_ref: Option<String>,
    /// Work on this head, and adopt its open pull request; `None` is a branch of the job's own.
    pub branch: Option<String>,
    pub draft: bool,
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

    pub(crate) fn created() -> Self {
        Self::new("created", "The job was created")
    }

    pub(crate) fn follow_up(prompt: &str, context: &[Quotation]) -> Self {
        let event = Self::new("message", "A follow-up was asked for").with("prompt", prompt);
        let quoted: Vec<_> =
            context.iter().map(|Quotation { label, text }| json!({ "label": label, "text": text })).collect();
        if quoted.is_empty() { event } else { event.with("context", quoted) }
    }

    /// Of a job that is not put off by its host, but has to wait for its turn.
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

/// Which jobs to list, and which of those.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<Status>,
    /// What became of their pull request; `Some(None)`: those that have none.
    pub pull: Option<Option<PullState>>,
    /// Words in the prompt, in whatever case as far as they are Latin; none: any.
    pub words: String,
    pub limit: u32,
    pub offset: u64,
}

impl Filter {
    /// As it is asked of a database: the state of a pull request, or `none`.
    pub(crate) fn pull(&self) -> Option<&'static str> {
        self.pull.map(|state| state.map_or("none", PullState::as_str))
    }
}

/// What became of a wish to archive.
#[derive(Debug, Clone)]
pub enum Archived {
    Done(Box<Job>),
    /// A worker still has it and was told to let go: ask again.
    Waiting,
}

/// How many jobs there are, all projects together, at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    pub active: u64,
    pub completed: u64,
    pub failed: u64,
    pub archived: u64,
    /// Those of the active ones that somebody alive works on.
    pub running: u64,
}

/// Jobs, as clients see them. Every backend passes `tests/it`; a method's promise is written
/// here once and tested there once. What belongs to another project is `None`, like what is
/// not there.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// On disk when it is done, `active`, with its first event.
    async fn insert(&self, new: &NewJob, terms: &Terms) -> Result<Receipt>;
    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>>;
    /// How far the job is. All who ask at the same time share one read.
    async fn progress(&self, project: &ProjectId, id: &JobId) -> Result<Option<Progress>>;
    /// Newest first.
    async fn list(&self, project: &ProjectId, filter: &Filter) -> Result<Page<Job>>;
    /// The events after number `after`, in order.
    async fn events(&self, project: &ProjectId, id: &JobId, after: u64) -> Result<Option<Vec<Event>>>;
    /// What the job and its model said to each other, of every run, in order.
    async fn conversation(&self, project: &ProjectId, id: &JobId) -> Result<Option<Vec<ConversationEntry>>>;
    /// The first entry of the conversation after this number: to read a long one without holding all of it.
    async fn entry_after(
        &self,
        project: &ProjectId,
        id: &JobId,
        number: u32,
    ) -> Result<Option<ConversationEntry>>;
    /// The change as it stands, as a unified diff; empty when there is none. What a failed run had
    /// made stands in for it until a run makes a change or completes; what is published wins.
    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>>;
    /// A follow-up. It is kept unread until a run has answered it, and an ended job becomes
    /// `active` again; an archived one refuses.
    async fn message(
        &self,
        project: &ProjectId,
        id: &JobId,
        prompt: &Prompt,
        terms: &Terms,
    ) -> Result<Option<Receipt>>;
    /// Stops the job for good. From the first call on, no write of its worker is taken any more.
    async fn archive(&self, project: &ProjectId, id: &JobId) -> Result<Option<Archived>>;
    /// For whoever watches over the server.
    async fn counts(&self) -> Result<JobCounts>;
    /// Returns when a job may have got an event, or a key or a session may have ended; may return early or for nothing.
    async fn event_came(&self);
}

#[cfg(test)]
mod tests {
    use super::*;

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
