//! Turns a prompt and the files of a docs repository into edits and a report.
//!
//! An [`Editor`] does the work: [`Agent`] calls a model, [`Offline`] needs none. The crate knows no jobs, repositories
//! or pull requests: an editor changes [`pages::Files`], reports its steps to [`Progress`], and returns a [`Report`].
//! The guard ([`judge`]) decides whether a change can be published.

pub mod model;

mod budget;
mod call_reader;
mod conversation;
mod edit;
mod editor;
mod fence;
mod guard;
mod offline;
mod opening;
mod probe;
mod prompt;
mod run;
mod sent_prompts;
mod sizes;
mod tools;

pub use budget::Limits;
pub use edit::{EditError, Edited, MatchLevel, NearMatch, edit};
pub use editor::{AgentError, Editor, PastMessage, Progress, Report, StepKind, Task};
pub use guard::{
    Allow, Change, Policy, Refusal, Rule, Vocabulary, judge, plain_body, plain_quotation, plain_title,
    refusal_of_path,
};
pub use offline::Offline;
pub use opening::MAX_INSTRUCTIONS_BYTES;
pub use prompt::{Instructions, Prompt, PromptPart};
pub use run::Agent;
pub use sent_prompts::count_sent_prompts;
