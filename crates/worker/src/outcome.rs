//! Defines how a run can end, and writes the sentences, reports and pull request bodies about it.

use std::time::Duration;

use agent::model::{Prices, Usage};
use agent::{AgentError, Prompt, Report, plain_body, plain_quotation, plain_title};
use forge::{PullRequest, State};
use machine::Trouble;
use pages::{Edits, FilesError};
use serde_json::{Value, json};
use store::{Ending, Job, Outcome, StoreError};

use super::edit::EditResult;
use app::models::OFFLINE;

/// Files that a pull request body lists. The host shows all of them.
const MAX_LISTED_FILES: usize = 50;

/// Why a run stopped before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// Another worker has the job, or it was archived. The run must not write anything.
    LeaseLost,
    /// The server stops, or the store doesn't answer. The job returns to the queue unchanged.
    Release(String),
    /// The host or the model is in trouble, or limits requests. The job is retried later.
    Postpone { sentence: String, retry_after: Option<Duration> },
    /// Another job is about to open a pull request with the same change. The job waits for its end.
    Wait(String),
    /// This machine is in trouble. The job waits until that ends, however long it takes.
    Machine(Trouble),
    /// The run failed, and the cause may be trouble of the machine. [`super::recheck`] decides.
    Unclassified { sentence: String, spent: Option<Spent> },
    /// The run failed. The sentence is for the person who created the job.
    Failed(String),
    /// The agent was aborted. The diff shows its edits so far.
    Aborted { sentence: String, diff: String, spent: Spent },
}

/// What a run consumed: the follow-ups up to a number, and tokens, with their prices if they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) read_up_to: u32,
    pub(super) usage: Usage,
    pub(super) prices: Option<Prices>,
}

impl Stop {
    pub(super) fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// Adds what the run spent to a failure.
    pub(super) fn with_spent(self, spent: Spent) -> Self {
        match self {
            Self::Failed(sentence) => Self::Aborted { sentence, diff: String::new(), spent },
            Self::Unclassified { sentence, .. } => Self::Unclassified { sentence, spent: Some(spent) },
            other => other,
        }
    }

    fn unclassified(sentence: impl Into<String>) -> Self {
        Self::Unclassified { sentence: sentence.into(), spent: None }
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost(_) => Self::LeaseLost,
            StoreError::Machine(trouble) => Self::Machine(trouble),
            // A retry would request and pay for the same response again.
            StoreError::BadEntry(_) => {
                Self::Failed(format!("the model's response cannot be stored: {error}"))
            }
            other => Self::Release(other.to_string()),
        }
    }
}

impl From<forge::Error> for Stop {
    fn from(error: forge::Error) -> Self {
        if let Some(trouble) = Trouble::find(&error) {
            return Self::Machine(trouble);
        }
        match error {
            // An error of the store, not of the repository.
            forge::Error::Records(cause) => Self::Release(cause.to_string()),
            forge::Error::Temporary { sentence, retry_after } => Self::Postpone { sentence, retry_after },
            // A person can remove the lock. A damaged cache is fetched again.
            later @ (forge::Error::Locked { .. } | forge::Error::Damaged(_)) => {
                Self::Postpone { sentence: later.to_string(), retry_after: None }
            }
            busy @ forge::Error::GitNotStarted(_) => Self::Release(busy.to_string()),
            // An unreadable file looks like a missing one.
            unclassified @ (forge::Error::Repository(_)
            | forge::Error::NoSuchBranch(_)
            | forge::Error::Git(_)
            | forge::Error::Io(_)) => Self::unclassified(unclassified.to_string()),
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
            AgentError::Cancelled => Self::Release("the server is stopping".into()),
            AgentError::Temporary { sentence, retry_after } => {
                Self::Postpone { sentence: format!("waiting for the model: {sentence}"), retry_after }
            }
            unread @ AgentError::Files(FilesError::Tree(_)) => Self::unclassified(unread.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

/// The beginning of the offline editor's summary when it changed nothing. The reason follows.
const OFFLINE_UNCHANGED: &str = "Nothing was changed: ";

/// The ending of a run without edits. `pull` is a pull request that an earlier run opened and couldn't
/// record, or that of the branch that the job adopts.
pub(super) fn unchanged_ending(job: &Job, pull: Option<PullRequest>, report: Value) -> Ending {
    if let Some(pull) = pull.as_ref().filter(|pull| !job.adopts || pull.state != State::Open) {
        return completed_ending(pull.clone(), report);
    }
    let adopted = pull.as_ref().map(|pull| format!("pull request #{} stays as it was", pull.number));
    // The first line only: lists of redirects can follow it.
    let first_line = report["summary"].as_str().and_then(|summary| summary.trim().lines().next());
    let why = first_line.and_then(|line| line.strip_prefix(OFFLINE_UNCHANGED));
    let why = why.filter(|_| job.model == OFFLINE).map(|why| why.trim_end_matches('.').to_owned());
    let message = match (&job.pr_link, adopted) {
        (Some(_), _) => "No further changes were needed; the pull request stays as it was".to_owned(),
        (None, Some(stays)) if why.is_some() => format!("Nothing was changed; {stays}"),
        (None, Some(stays)) => format!("No further changes were needed; {stays}"),
        (None, None) if why.is_some() => "Nothing was changed, so there is no pull request".to_owned(),
        (None, None) => "No changes were needed, so there is no pull request".to_owned(),
    };
    let message = why.map_or_else(|| message.clone(), |why| format!("{message}: {why}"));
    successful_ending(message, pull.map(|pull| pull.url), report)
}

/// The ending of a run with a pull request. `report` comes from [`report_json`].
pub(super) fn completed_ending(pull: PullRequest, report: Value) -> Ending {
    successful_ending(pull_sentence(&pull), Some(pull.url), report)
}

/// The ending of a run whose change is in the open pull request of another job.
pub(super) fn already_proposed_ending(pull: PullRequest, report: Value) -> Ending {
    let message =
        format!("Pull request #{} is open with the same change, so no other one was opened", pull.number);
    let outcome = Outcome::AlreadyProposed { pr_link: pull.url, head: pull.head };
    Ending { outcome, ..successful_ending(message, None, report) }
}

/// A person may already have merged or closed a pull request of an earlier attempt.
pub(super) fn pull_sentence(pull: &PullRequest) -> String {
    match pull.state {
        State::Open if pull.has_conflicts => format!(
            "Pull request #{} is open, but it conflicts with `{}`: resolve the conflicts before you merge it",
            pull.number, pull.base
        ),
        State::Open => format!("Pull request #{} is open", pull.number),
        State::Merged => format!("Pull request #{} was merged", pull.number),
        State::Closed => format!("Pull request #{} was closed", pull.number),
    }
}

fn successful_ending(message: String, pr_link: Option<String>, mut report: Value) -> Ending {
    let mut take = |name: &str| report.as_object_mut().and_then(|all| all.remove(name)).unwrap_or_default();
    let (checks, usage) = (take("checks"), take("usage"));
    let outcome = Outcome::Completed { pr_link };
    Ending { outcome, message, report, checks, usage, diff: None }
}

pub(super) fn failed_ending(sentence: String) -> Ending {
    aborted_ending(sentence, None, Spent::default())
}

/// `diff` shows the edits so far.
pub(super) fn aborted_ending(sentence: String, diff: Option<String>, spent: Spent) -> Ending {
    Ending {
        outcome: Outcome::FAILED,
        message: sentence,
        report: Value::Null,
        checks: json!([]),
        usage: usage_json(spent),
        diff: diff.filter(|diff| !diff.is_empty()),
    }
}

fn usage_json(Spent { usage, prices, .. }: Spent) -> Value {
    let Usage { input, output, cached } = usage;
    let mut json = json!({ "inputTokens": input, "outputTokens": output, "cachedTokens": cached });
    if let Some(prices) = prices {
        json["cost"] = json!(prices.cost(usage));
    }
    json
}

/// The agent's report for the `ended` event. It includes the event's fields `checks` and `usage`, which
/// [`successful_ending`] moves out of it, because another attempt may finish the run after its commit.
pub(super) fn report_json(report: &Report, spent: Spent) -> Value {
    json!({
        "title": report.title,
        "summary": report.summary,
        "notes": report.notes,
        "checks": report.checks,
        "usage": usage_json(spent),
    })
}

pub(super) fn commit_message(report: &Report, job: &Job) -> String {
    format!("{}\n\nDocwright-Job: {}\n", plain_title(&report.title), job.id)
}

/// The body of the pull request: the summary, the files, notes for the reviewer, the checks and the prompt.
pub(super) fn pull_body(result: &EditResult, prompt: &Prompt, job: &Job) -> String {
    let EditResult { report, edits, spent, .. } = result;
    let mut body = plain_body(report.summary.trim());
    let lists =
        [("Files", &list_files(edits)), ("For you to review", &report.notes), ("Checks", &report.checks)];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        body += &format!("\n\n## {title}\n");
        lines.iter().for_each(|line| body += &format!("\n- {}", plain_body(line)));
    }
    body += "\n\n## Prompt\n";
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

fn list_files(edits: &Edits) -> Vec<String> {
    let line = |(path, text): (&String, &Option<Vec<u8>>)| match text {
        Some(_) => format!("`{path}`"),
        None => format!("`{path}` (deleted)"),
    };
    let mut lines: Vec<_> = edits.0.iter().take(MAX_LISTED_FILES).map(line).collect();
    if edits.0.len() > MAX_LISTED_FILES {
        lines.push(format!("and {} more files", edits.0.len() - MAX_LISTED_FILES));
    }
    lines
}
