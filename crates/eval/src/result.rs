//! Defines the result of a task, and sums up the results of a model.

use serde::{Deserialize, Serialize};

use crate::compare::Matched;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model made exactly the expected change.
    Right,
    /// The model made another change, which would become a pull request.
    Different,
    /// The model changed nothing.
    Unchanged,
    /// The guard refused the change.
    Refused,
    /// The run failed: the sentence says why.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskResult {
    pub model: String,
    pub task: String,
    /// Identifies the task's content, so that a changed task is run again.
    pub fingerprint: String,
    pub outcome: Outcome,
    /// Why the run failed, or the title of the change.
    pub sentence: String,
    pub files: Matched,
    pub hunks: Matched,
    /// Problems of the docs that the change adds.
    pub problems: usize,
    pub refusals: usize,
    /// What the guard refuses in the change, a sentence each. Results of earlier versions have none.
    #[serde(default)]
    pub refusal_reasons: Vec<String>,
    pub failed_calls: u32,
    pub requests: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub cost: Option<f64>,
    pub seconds: f64,
}

/// The results of one model.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub tasks: usize,
    pub right: usize,
    pub different: usize,
    pub unchanged: usize,
    pub refused: usize,
    pub failed: usize,
    pub files: Matched,
    pub hunks: Matched,
    pub problems: usize,
    pub requests: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` if a task has no cost.
    pub cost: Option<f64>,
    pub seconds: f64,
}

impl Summary {
    pub fn of<'a>(results: impl IntoIterator<Item = &'a TaskResult>) -> Self {
        let mut sum = Self { cost: Some(0.0), ..Self::default() };
        for result in results {
            sum.tasks += 1;
            let count = match result.outcome {
                Outcome::Right => &mut sum.right,
                Outcome::Different => &mut sum.different,
                Outcome::Unchanged => &mut sum.unchanged,
                Outcome::Refused => &mut sum.refused,
                Outcome::Failed => &mut sum.failed,
            };
            *count += 1;
            add(&mut sum.files, result.files);
            add(&mut sum.hunks, result.hunks);
            sum.problems += result.problems;
            sum.requests += result.requests;
            sum.input_tokens += result.input_tokens;
            sum.output_tokens += result.output_tokens;
            sum.cost = sum.cost.zip(result.cost).map(|(sum, cost)| sum + cost);
            sum.seconds += result.seconds;
        }
        sum
    }
}

fn add(sum: &mut Matched, more: Matched) {
    sum.expected += more.expected;
    sum.matched += more.matched;
    sum.extra += more.extra;
}
