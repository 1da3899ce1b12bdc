//! Implements the editor that needs no model: it understands a few plain instructions and carries them out exactly.
//!
//! The same tree and prompt always produce the same bytes.

mod command;
mod history;
mod lexer;
mod links;
mod literal;
mod matcher;
mod modifiers;
mod parser;
mod phrases;
mod redirects;
mod replace;
mod report;
mod run;
mod scopes;
mod spelling;
mod verbs;
mod version;

use async_trait::async_trait;
use pages::Files;

use crate::editor::{AgentError, Editor, Progress, Report, Task};

use run::Run;

/// The editor named `offline`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

#[async_trait]
impl Editor for Offline {
    async fn edit(
        &self,
        task: &Task<'_>,
        files: &mut (dyn Files + Send),
        progress: &mut dyn Progress,
    ) -> Result<Report, AgentError> {
        // The whole prompt is parsed before anything is edited.
        let instructions = parser::parse(&task.prompt.instruction_text()).map_err(AgentError::Unsupported)?;
        let mut run = Run::start(task, files, progress)?;
        let outcomes = instructions
            .into_iter()
            .map(|instruction| run.run_instruction(instruction))
            .collect::<Result<_, _>>()?;
        Ok(report::report(outcomes, run.notes))
    }
}
