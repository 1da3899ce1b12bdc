//! Records what an editor does, and runs the guard as a job would.

use agent::model::{Message, Usage};
use agent::{AgentError, Change, Policy, Progress, Prompt, Refusal, Report, StepKind, Vocabulary, judge};
use async_trait::async_trait;
use pages::{Edits, Tree};
use serde_json::{Map, Value};

pub(crate) struct Observer<'a> {
    pub(crate) tree: &'a dyn Tree,
    pub(crate) docs_path: Option<&'a str>,
    pub(crate) prompt: &'a Prompt,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) usage: Usage,
    pub(crate) requests: u32,
    pub(crate) failed_calls: u32,
}

#[async_trait]
impl Progress for Observer<'_> {
    fn step_with_details(&mut self, kind: StepKind, message: String, _: Map<String, Value>) {
        match kind {
            StepKind::Model => self.requests += 1,
            StepKind::Note if message.contains(" failed: ") => self.failed_calls += 1,
            _ => {}
        }
    }

    fn is_cancelled(&self) -> bool {
        false
    }

    async fn store_message(&mut self, _: &Message, usage: Usage) -> Result<u64, AgentError> {
        self.usage += usage;
        Ok(0)
    }

    async fn take_follow_ups(&mut self) -> Result<Vec<Prompt>, AgentError> {
        Ok(Vec::new())
    }

    async fn refusals(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Refusal>, AgentError> {
        Ok(self.judge(edits, report))
    }
}

impl Observer<'_> {
    pub(crate) fn judge(&self, edits: &Edits, report: &Report) -> Vec<Refusal> {
        let change = Change {
            base: self.tree,
            vocabulary: &self.vocabulary,
            edits: &edits.0,
            instructions: &self.prompt.instructions(),
            title: &agent::plain_title(&report.title),
            summary: &report.summary,
        };
        judge(&change, &Policy { docs_path: self.docs_path, ..Policy::default() })
    }
}
