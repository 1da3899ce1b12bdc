//! How a run can end, and the words for it.

use std::time::Duration;

use agent::model::{Prices, Usage};
use agent::{AgentError, Prompt, Report, plain_body, plain_quotation, plain_title};
use forge::{PullRequest, State};
use machine::Trouble;
use pages::{Edits, FilesError};
use serde_json::{Value, json};
use store::{Ending, Job, Outcome, StoreError};

use super::edit::Made;
use app::models::OFFLINE;

/// Files that are named in a pull request; a host shows them all.
const MAX_FILES: usize = 50;

/// Why a run did not come to its own end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The job is somebody else's now, or stopped for good: not one more write.
    LeaseLost,
    /// The server stops, or the store does not answer: the job goes back as it was.
    GiveBack(String),
    /// The host or the model is in trouble, or wants to be left alone for a while.
    Later { sentence: String, after: Option<Duration> },
    /// This machine is in trouble: the job waits until that is over, however long it takes.
    Machine(Trouble),
    /// It failed, and it is to be seen whether that is trouble of the machine in other words.
    Doubtful { sentence: String, spent: Option<Spent> },
    /// It cannot be done; the sentence is for whoever asked for it.
    Failed(String),
    /// The agent was ended before it was done; what it had made is worth a look.
    Ended { sentence: String, diff: String, spent: Spent },
}

/// What a run took in: follow-ups up to this number, and tokens, with their prices if those are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) read: u32,
    pub(super) usage: Usage,
    pub(super) prices: Option<Prices>,
}

impl Stop {
    pub(super) fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// What was spent by then is told of a failure, too.
    pub(super) fn after(self, spent: Spent) -> Self {
        match self {
            Self::Failed(sentence) => Self::Ended { sentence, diff: String::new(), spent },
            Self::Doubtful { sentence, .. } => Self::Doubtful { sentence, spent: Some(spent) },
            other => other,
        }
    }

    fn doubtful(sentence: impl Into<String>) -> Self {
        Self::Doubtful { sentence: sentence.into(), spent: None }
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost(_) => Self::LeaseLost,
            StoreError::Machine(trouble) => Self::Machine(trouble),
            // It would be made, and paid for, again and again.
            StoreError::BadEntry(_) => Self::Failed(format!("what was said cannot be kept: {error}")),
            other => Self::GiveBack(other.to_string()),
        }
    }
}

impl From<forge::Error> for Stop {
    fn from(error: forge::Error) -> Self {
        if let Some(trouble) = Trouble::find(&error) {
            return Self::Machine(trouble);
        }
        match error {
            // Ours, not the repository's fault.
            forge::Error::Records(cause) => Self::GiveBack(cause.to_string()),
            forge::Error::Temporary { sentence, retry_after: after } => Self::Later { sentence, after },
            // Somebody may remove the lock; a damaged cache is fetched anew.
            later @ (forge::Error::Locked { .. } | forge::Error::Damaged(_)) => {
                Self::Later { sentence: later.to_string(), after: None }
            }
            busy @ forge::Error::GitNotStarted(_) => Self::GiveBack(busy.to_string()),
            // What cannot be read looks like what is not there.
            doubtful @ (forge::Error::Repository(_)
            | forge::Error::NoSuchBranch(_)
            | forge::Error::Git(_)
            | forge::Error::Io(_)) => Self::doubtful(doubtful.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<AgentError> for Stop {
    fn from(error: AgentError) -> Self {
        if let Some(trouble) = Trouble::find(&error) {
            return Self::Machine(trouble);
        }
        match error {
            AgentError::Cancelled => Self::GiveBack("the server is stopping".into()),
            AgentError::Later { sentence, after } => {
                Self::Later { sentence: format!("waiting for the model: {sentence}"), after }
            }
            unread @ AgentError::Files(FilesError::Tree(_)) => Self::doubtful(unread.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

/// How the offline editor begins to say why.
const OFFLINE_UNCHANGED: &str = "Nothing was changed: ";

/// The agent found nothing to do. `pull`: what the job had and did not know of.
pub(super) fn unchanged(job: &Job, pull: Option<PullRequest>, report: Value) -> Ending {
    if let Some(pull) = pull {
        return completed(pull, report);
    }
    let why = report["summary"].as_str().and_then(|summary| summary.trim().strip_prefix(OFFLINE_UNCHANGED));
    let why = why.filter(|_| job.model == OFFLINE).map(|why| why.trim_end_matches('.').to_owned());
    let message = match job.pr_link {
        Some(_) => "Nothing more had to be changed; the pull request is as it was",
        None if why.is_some() => "Nothing was changed, so there is no pull request",
        None => "Nothing had to be changed, so there is no pull request",
    };
    let message = why.map_or_else(|| message.to_owned(), |why| format!("{message}: {why}"));
    done(message, None, report)
}

/// The agent finished. `report` is its own account, as [`report`] wrote it.
pub(super) fn completed(pull: PullRequest, report: Value) -> Ending {
    // One that an earlier attempt opened may have been settled by a person since.
    let message = match pull.state {
        State::Open => format!("Pull request #{} is open", pull.number),
        State::Merged => format!("Pull request #{} was merged", pull.number),
        State::Closed => format!("Pull request #{} was closed", pull.number),
    };
    done(message, Some(pull.url), report)
}

fn done(message: String, pr_link: Option<String>, mut report: Value) -> Ending {
    let mut take = |name: &str| report.as_object_mut().and_then(|all| all.remove(name)).unwrap_or_default();
    let (checks, usage) = (take("checks"), take("usage"));
    let outcome = Outcome::Completed { pr_link };
    Ending { outcome, message, report, checks, usage, diff: None }
}

pub(super) fn failed(sentence: String) -> Ending {
    ended(sentence, None, Spent::default())
}

/// `diff`: what had been made by then.
pub(super) fn ended(sentence: String, diff: Option<String>, spent: Spent) -> Ending {
    Ending {
        outcome: Outcome::Failed,
        message: sentence,
        report: Value::Null,
        checks: json!([]),
        usage: usage(spent),
        diff: diff.filter(|diff| !diff.is_empty()),
    }
}

fn usage(Spent { usage, prices, .. }: Spent) -> Value {
    let Usage { input, output, cached } = usage;
    let mut told = json!({ "inputTokens": input, "outputTokens": output, "cachedTokens": cached });
    if let Some(prices) = prices {
        told["cost"] = json!(prices.cost(usage));
    }
    told
}

/// The agent's account as it stands in the `ended` event; what else that event has is taken out of it
/// by [`completed`], and kept here because a run may be taken up after its change is made.
pub(super) fn report(report: &Report, spent: Spent) -> Value {
    json!({
        "title": report.title,
        "summary": report.summary,
        "notes": report.notes,
        "checks": report.checks,
        "usage": usage(spent),
    })
}

pub(super) fn commit_message(report: &Report, job: &Job) -> String {
    format!("{}\n\nDocwright-Job: {}\n", plain_title(&report.title), job.id)
}

/// What a reviewer reads: what was done and where, what is left to them, what the checks say, and what was asked.
pub(super) fn pull_body(made: &Made, prompt: &Prompt, job: &Job) -> String {
    let Made { report, edits, spent, .. } = made;
    let mut body = plain_body(report.summary.trim());
    let lists = [("Files", &files(edits)), ("Left to you", &report.notes), ("Checks", &report.checks)];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        body += &format!("\n\n## {title}\n");
        lines.iter().for_each(|line| body += &format!("\n- {}", plain_body(line)));
    }
    body += "\n\n## The prompt\n";
    for line in plain_body(&prompt.instruction_text()).lines() {
        body += &format!("\n> {line}");
    }
    for (source, text) in prompt.quotations() {
        body += &format!("\n\n{}", plain_quotation(source, text));
    }
    let Usage { input, output, .. } = spent.usage;
    if input + output > 0 {
        body += &format!("\n\nThe model read {input} tokens and wrote {output}.");
    }
    body + &format!("\n\nDocwright-Job: {}\n", job.id)
}

fn files(edits: &Edits) -> Vec<String> {
    let line = |(path, text): (&String, &Option<Vec<u8>>)| match text {
        Some(_) => format!("`{path}`"),
        None => format!("`{path}`, deleted"),
    };
    let mut lines: Vec<_> = edits.0.iter().take(MAX_FILES).map(line).collect();
    if edits.0.len() > MAX_FILES {
        lines.push(format!("and {} more", edits.0.len() - MAX_FILES));
    }
    lines
}
