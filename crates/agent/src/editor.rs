//! Defines what an editor takes and returns: the task, the report, the errors, and the trait [`Progress`] that
//! records its steps.

use std::time::Duration;

use async_trait::async_trait;
use machine::Trouble;
use pages::redirects::History;
use pages::{Edits, Files, FilesError};
use serde_json::{Map, Value};

use crate::guard::{Allow, Refusal};
use crate::model::{Message, Usage};
use crate::prompt::Prompt;

/// What an editor has to do.
#[derive(Debug, Clone, Default)]
pub struct Task<'a> {
    /// The instructions and quotations of this run.
    pub prompt: Prompt,
    /// The repository's own instructions to agents, by path.
    pub instructions: &'a [(String, String)],
    /// The conversation so far: of earlier runs, and of interrupted attempts at this run.
    pub conversation: &'a [PastMessage],
    /// Files that the editor may change although the guard refuses them by default.
    pub allow: Allow,
    /// The folder of the docs. Without it, the docs are the whole repository.
    pub docs_path: Option<&'a str>,
    /// Renamed and removed pages, from which the offline editor proposes redirects.
    pub history: Option<&'a History>,
}

/// A stored message of a conversation.
#[derive(Debug, Clone)]
pub struct PastMessage {
    /// The message belongs to an interrupted attempt at this run, so its edits must be replayed. The edits of an
    /// earlier run are already in the base.
    pub this_run: bool,
    pub message: Message,
    pub usage: Usage,
}

/// What an editor reports about its change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The title of the pull request, in the imperative, at most 72 characters.
    pub title: String,
    /// What the change does, in Markdown.
    pub summary: String,
    /// What a person has to decide, one sentence each.
    pub notes: Vec<String>,
    /// Problems that the change causes and the editor did not fix, one sentence each.
    pub checks: Vec<String>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The editor does not understand the prompt, and edited nothing. Contains a sentence for the user.
    #[error("{0}")]
    Unsupported(String),
    /// The run reached a limit, or the model cannot be used. The job shows the edits so far.
    #[error("{0}")]
    Ended(String),
    #[error("the job was canceled")]
    Cancelled,
    /// The provider of the model fails for now, and [`Progress::may_wait`] does not allow to wait here. A later
    /// attempt continues with the stored conversation. `retry_after` is the provider's own delay.
    #[error("{sentence}")]
    Temporary { sentence: String, retry_after: Option<Duration> },
    /// This machine is in trouble. A later attempt continues with the stored conversation.
    #[error("{0}")]
    Machine(#[source] Trouble),
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// The kind of a step. Its name is the kind of the job's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The editor read pages.
    Read,
    /// The editor changed a page.
    Edit,
    /// Information for a person.
    Note,
    /// The steps that the editor plans.
    Plan,
    /// A request to the model, with its tokens and its duration.
    Model,
    /// Text of the model.
    ModelText,
    /// A result of the checks or the guard.
    Check,
}

impl StepKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Note => "note",
            Self::Plan => "plan",
            Self::Model => "model",
            Self::ModelText => "said",
            Self::Check => "check",
        }
    }
}

/// Records the steps of an editor, and connects it with the job that it works for.
#[async_trait]
pub trait Progress: Send {
    fn step(&mut self, kind: StepKind, message: String) {
        self.step_with_details(kind, message, Map::new());
    }
    fn step_with_details(&mut self, kind: StepKind, message: String, details: Map<String, Value>);
    /// Editors ask this between files. After `true`, they stop with [`AgentError::Cancelled`].
    fn is_cancelled(&self) -> bool;
    /// Whether the editor may wait this long for its model. After `false`, it stops with [`AgentError::Temporary`].
    fn may_wait(&self, _delay: Duration) -> bool {
        true
    }
    /// Waits until the editor may call its model. Editors call this before each request. The wait isn't part of the
    /// run's time.
    async fn begin_call(&mut self) {}
    /// Waits until the editor may work again. Editors call this after each request. The wait isn't part of the run's
    /// time.
    async fn end_call(&mut self) {}
    /// Waits for `delay` before the next request, and then until the editor may work again.
    async fn wait(&mut self, delay: Duration) {
        tokio::time::sleep(delay).await;
    }
    /// Stores a message before the editor acts on it, so that no response is paid for twice. Results of tools can
    /// be computed again, so they may be stored a little later. Returns the project's tokens of this month.
    async fn store_message(&mut self, message: &Message, usage: Usage) -> Result<u64, AgentError>;
    /// Returns the follow-ups that arrived since the run began, each once.
    async fn take_follow_ups(&mut self) -> Result<Vec<Prompt>, AgentError>;
    /// Returns what the guard refuses in the change so far, so that the editor can undo it. The caller of the editor
    /// runs the guard again before it publishes.
    async fn refusals(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Refusal>, AgentError>;
}

/// Carries out a task on a tree of files.
#[async_trait]
pub trait Editor: Send + Sync {
    /// Edits `files` as the task requires. After an error, the edits so far must not be published.
    async fn edit(
        &self,
        task: &Task<'_>,
        files: &mut (dyn Files + Send),
        progress: &mut dyn Progress,
    ) -> Result<Report, AgentError>;
}
