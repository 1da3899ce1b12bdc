//! Turns a prompt and the files of a docs repository into edits and a report.
//!
//! An [`Editor`] does the work: [`Agent`] asks a model, [`Offline`] needs none. It knows nothing of jobs,
//! repositories or pull requests: it edits [`Files`], tells its steps to [`Progress`], and says what it did.

pub mod model;

mod edit;
mod fence;
mod guard;
mod limits;
mod offline;
mod prompt;
mod repository;
mod run;
mod talk;
mod told;
mod tools;

/// Under this name in every module.
mod pattern {
    pub(crate) use pages::pattern;
}

use std::time::Duration;

use async_trait::async_trait;
use machine::Trouble;
use model::{Message, Usage};
use pages::{Edits, Files, FilesError};
use serde_json::{Map, Value};

pub use edit::{Edited, Missed, Near, Rung, edit};
pub use guard::{
    Allow, Change, Objection, Policy, Rule, Vocabulary, judge, plain_body, plain_quotation, plain_title,
    refusal_of_path,
};
pub use limits::Limits;
pub use offline::Offline;
pub use prompt::{Instructions, Prompt, PromptPart};
pub use repository::MAX_INSTRUCTIONS;
pub use run::Agent;
pub use told::told;

/// What is asked of an editor.
#[derive(Debug, Clone, Default)]
pub struct Task<'a> {
    /// What people ask for in this run, and what they quote.
    pub prompt: Prompt,
    /// The repository's own instructions to agents, by path.
    pub instructions: &'a [(String, String)],
    /// What was said before: in earlier runs, and in an attempt at this one that was cut off.
    pub before: &'a [Said],
    /// Files that may be changed although they are refused by default.
    pub allow: Allow,
    /// The folder that the docs are in; the whole repository without one.
    pub docs_path: Option<&'a str>,
}

/// One message of a conversation that was kept.
#[derive(Debug, Clone)]
pub struct Said {
    /// In this run, whose edits are to be made again, and not in an earlier one, whose edits are there.
    pub this_run: bool,
    pub message: Message,
    pub usage: Usage,
}

/// What an editor has to say about its work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// In the imperative, at most 72 characters: the title of the pull request.
    pub title: String,
    /// What was done, in Markdown.
    pub summary: String,
    /// What was not certain and is left to a person, one sentence each.
    pub notes: Vec<String>,
    /// What the change made worse and the editor could not mend, one sentence each.
    pub checks: Vec<String>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The prompt is beyond this editor; nothing was edited. Holds a sentence for the user.
    #[error("{0}")]
    Unsupported(String),
    /// A limit was reached, or the model cannot be used. What was edited so far is worth a look.
    #[error("{0}")]
    Ended(String),
    #[error("the job was cancelled")]
    Cancelled,
    /// The model cannot be asked for a while, and whoever runs the editor does not wait for it here: the same
    /// once more, with what was kept, goes on from there. `after` is how long the provider wants to be left alone.
    #[error("{sentence}")]
    Later { sentence: String, after: Option<Duration> },
    /// The machine is in trouble: the same once more, with what was kept, goes on from there.
    #[error("{0}")]
    Machine(#[source] Trouble),
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// What a step of an editor was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Pages were read.
    Read,
    /// A page was changed.
    Edit,
    /// Something was found that is left to a person.
    Note,
    /// What the editor means to do.
    Plan,
    /// The model was asked, and what that took.
    Model,
    /// The model said something.
    Said,
    /// The change was checked.
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
            Self::Said => "said",
            Self::Check => "check",
        }
    }
}

/// Told of each step as it happens.
#[async_trait]
pub trait Progress: Send {
    fn step(&mut self, kind: StepKind, message: String) {
        self.detailed(kind, message, Map::new());
    }
    /// A step with more to say about it than a sentence.
    fn detailed(&mut self, kind: StepKind, message: String, details: Map<String, Value>);
    /// Asked between files; an editor that hears `true` stops with [`AgentError::Cancelled`].
    fn cancelled(&self) -> bool;
    /// Whether the editor may wait so long for its model; one that hears `false` stops with [`AgentError::Later`].
    fn waits(&self, _long: Duration) -> bool {
        true
    }
    /// Keeps what was said, before anything is done about it, so that nobody pays for it twice; results, which
    /// can be made again, may be kept a little later. Answers the tokens that the project has used this month.
    async fn keep(&mut self, message: &Message, usage: Usage) -> Result<u64, AgentError>;
    /// What people have asked since the run began and nobody has answered yet, each once.
    async fn asked(&mut self) -> Result<Vec<Prompt>, AgentError>;
    /// What [`judge`] has against the change as it stands, by what the operator allows and people have
    /// asked for. An editor that hears it can mend it; whoever publishes judges again.
    async fn objections(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Objection>, AgentError>;
}

/// Something that can carry out a task on a tree of files.
#[async_trait]
pub trait Editor: Send + Sync {
    /// Edits `files` as the task asks. When it fails, what was edited so far is not to be published.
    async fn edit(
        &self,
        task: &Task<'_>,
        files: &mut (dyn Files + Send),
        progress: &mut dyn Progress,
    ) -> Result<Report, AgentError>;
}
