//! Tests the crate. This file has the helpers for the offline editor on small trees: a prompt, its patch, and its
//! report.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agent;
mod attacks;
mod edit;
mod edit_corpus;
mod guard;
mod hostile;
mod links;
mod misbehaviors;
mod model;
mod offline;
mod prompt;
mod redirects;
mod replace;
mod replays;
mod script;
mod sent_prompts;
mod versions;

use std::time::{Duration, Instant};

use ::agent::model::{Message, Usage};
use ::agent::{AgentError, Editor, Offline, Progress, Prompt, Refusal, Report, StepKind, Task};
use async_trait::async_trait;
use pages::{Edits, MemoryTree, Overlay};
use serde_json::{Map, Value};

/// Records the steps, and cancels the job after some of them.
#[derive(Default)]
struct Steps {
    recorded: Vec<String>,
    cancel_after: Option<usize>,
}

#[async_trait]
impl Progress for Steps {
    fn step_with_details(&mut self, kind: StepKind, message: String, _: Map<String, Value>) {
        self.recorded.push(format!("{}: {message}", kind.as_str()));
    }

    fn is_cancelled(&self) -> bool {
        self.cancel_after.is_some_and(|limit| self.recorded.len() >= limit)
    }

    async fn store_message(&mut self, _: &Message, _: Usage) -> Result<u64, AgentError> {
        Ok(0)
    }

    async fn take_follow_ups(&mut self) -> Result<Vec<Prompt>, AgentError> {
        Ok(Vec::new())
    }

    async fn refusals(&mut self, _: &Edits, _: &Report) -> Result<Vec<Refusal>, AgentError> {
        Ok(Vec::new())
    }
}

struct Edited {
    report: Report,
    steps: Vec<String>,
    diff: String,
}

impl Edited {
    /// Only the changed lines.
    fn lines(&self) -> String {
        let changed = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++");
        let shown = self.diff.lines().filter(changed).map(|line| match line.strip_prefix("--- a/") {
            Some(file) => format!("{file}\n"),
            None => format!("{line}\n"),
        });
        shown.collect()
    }
}

async fn try_edit(
    files: &[(&str, &str)],
    prompt: &str,
    steps: &mut Steps,
) -> Result<(Report, String), AgentError> {
    let mut overlay = Overlay::new(MemoryTree::new(files.iter().copied()), None).unwrap();
    let task = Task { prompt: Prompt::instruction(prompt), ..Task::default() };
    let report = Offline.edit(&task, &mut overlay, steps).await?;
    Ok((report, overlay.diff().unwrap()))
}

async fn edit(files: &[(&str, &str)], prompt: &str) -> Edited {
    let mut steps = Steps::default();
    let (report, diff) = try_edit(files, prompt, &mut steps).await.unwrap();
    Edited { report, steps: steps.recorded, diff }
}

/// Whether four times the text takes less than ten times the time. A ratio, because machines differ, and five tries,
/// because they are busy. Quadratic time would be sixteen times the time.
fn is_linear(bytes: usize, run: impl Fn(usize)) -> bool {
    let time = |bytes: usize| {
        let start = Instant::now();
        run(bytes);
        start.elapsed()
    };
    (0..5).any(|_| time(bytes) < time(bytes / 4).max(Duration::from_millis(20)) * 10)
}
