//! How a run can end, and the words for it.

use agent::Report;
use forge::{PullRequest, State};
use serde_json::{Value, json};
use store::{Ending, Job, Outcome, StoreError};

/// Why a run did not come to its own end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The job is somebody else's now, or stopped for good: not one more write.
    LeaseLost,
    /// The server stops, or the store does not answer: the job goes back as it was.
    GiveBack(String),
    /// It cannot be done; the sentence is for whoever asked for it.
    Failed(String),
}

impl Stop {
    pub(super) fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost(_) => Self::LeaseLost,
            other => Self::GiveBack(other.to_string()),
        }
    }
}

impl From<forge::Error> for Stop {
    fn from(error: forge::Error) -> Self {
        match error {
            // Ours, not the repository's fault.
            forge::Error::Records(cause) => Self::GiveBack(cause.to_string()),
            busy @ forge::Error::NoRoom(_) => Self::GiveBack(busy.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

/// The agent finished. `report` is its own account.
pub(super) fn completed(pull: Option<PullRequest>, report: Value) -> Ending {
    let message = match &pull {
        // One that an earlier attempt opened may have been settled by a person since.
        Some(pull) => match pull.state {
            State::Open => format!("Pull request #{} is open", pull.number),
            State::Merged => format!("Pull request #{} was merged", pull.number),
            State::Closed => format!("Pull request #{} was closed", pull.number),
        },
        None => "Nothing had to be changed, so there is no pull request".to_owned(),
    };
    ending(Outcome::Completed { pr_link: pull.map(|pull| pull.url) }, message, report)
}

pub(super) fn failed(sentence: String) -> Ending {
    ending(Outcome::Failed, sentence, Value::Null)
}

fn ending(outcome: Outcome, message: String, report: Value) -> Ending {
    // The offline editor asks no model and runs no checks of its own.
    let usage = json!({ "inputTokens": 0, "outputTokens": 0 });
    Ending { outcome, message, report, checks: json!([]), usage }
}

/// The agent's account as it stands in the `ended` event.
pub(super) fn report(report: &Report) -> Value {
    json!({ "title": report.title, "summary": report.summary, "notes": report.notes })
}

pub(super) fn commit_message(report: &Report, job: &Job) -> String {
    format!("{}\n\nDocwright-Job: {}\n", report.title, job.id)
}

/// The embedded host has no drafts of its own; the word in front is understood everywhere.
pub(super) fn pull_title(report: &Report, job: &Job) -> String {
    if job.draft { format!("Draft: {}", report.title) } else { report.title.clone() }
}

/// What a reviewer reads: what was done, what is left to them, and what was asked.
pub(super) fn pull_body(report: &Report, prompt: &str, job: &Job) -> String {
    let mut body = report.summary.trim().to_owned();
    if !report.notes.is_empty() {
        body += "\n\n## Left to you\n";
        for note in &report.notes {
            body += &format!("\n- {note}");
        }
    }
    body += "\n\n## The prompt\n";
    for line in prompt.lines() {
        body += &format!("\n> {line}");
    }
    body + &format!("\n\nDocwright-Job: {}\n", job.id)
}
