//! Turns a prompt and the files of a docs repository into edits and a report.
//!
//! An [`Editor`] does the work; [`Offline`] is the one that needs no model. It knows nothing of jobs,
//! repositories or pull requests: it edits [`Files`], tells its steps to [`Progress`], and says what it did.

mod offline;

use async_trait::async_trait;
use pages::{Files, FilesError};

pub use offline::Offline;

/// What is asked of an editor.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    pub prompt: &'a str,
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
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The prompt is beyond this editor; nothing was edited. Holds a sentence for the user.
    #[error("{0}")]
    Unsupported(String),
    #[error("the job was cancelled")]
    Cancelled,
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
}

impl StepKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Note => "note",
        }
    }
}

/// Told of each step as it happens.
pub trait Progress: Send {
    fn step(&mut self, kind: StepKind, message: String);
    /// Asked between files; an editor that hears `true` stops with [`AgentError::Cancelled`].
    fn cancelled(&self) -> bool;
}

/// Something that can carry out a task on a tree of files.
#[async_trait]
pub trait Editor: Send + Sync {
    /// The name that a job's `model` field shows.
    fn name(&self) -> &str;
    /// Edits `files` as the task asks. When it fails, what was edited so far is to be thrown away.
    async fn edit(
        &self,
        task: &Task<'_>,
        files: &mut (dyn Files + Send),
        progress: &mut dyn Progress,
    ) -> Result<Report, AgentError>;
}
