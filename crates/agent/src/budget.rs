//! Counts what a run consumes, and ends it at its limits.

use std::time::Duration;

use tokio::time::Instant;

use crate::editor::AgentError;
use crate::model::Usage;

/// The limits of a run. Reaching any of them ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model.
    pub turns: u32,
    /// Tokens sent, including those in the provider's cache.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    pub time: Duration,
    /// Files changed.
    pub files: usize,
    /// Bytes written. A file counts each time that it's written.
    pub bytes: usize,
    /// Tokens of the whole project in a calendar month. `None` means no limit.
    pub month: Option<u64>,
    /// Tokens of one response.
    pub answer: u32,
    /// Bytes of a conversation. Beyond this, old results are dropped.
    pub context: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 60,
            input: 4_000_000,
            output: 200_000,
            time: Duration::from_secs(30 * 60),
            files: 200,
            bytes: 4 * 1024 * 1024,
            month: None,
            answer: 16_000,
            context: 400_000,
        }
    }
}

/// What a run may consume, and what it has consumed so far.
pub(crate) struct Budget {
    limits: Limits,
    start: Instant,
    /// Time since the start that isn't part of the run.
    paused: Duration,
    turns: u32,
    usage: Usage,
    month_tokens: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        let start = Instant::now();
        Self { limits, start, paused: Duration::ZERO, turns: 0, usage: Usage::default(), month_tokens: 0 }
    }

    /// Excludes time in which the run only waited for its turn.
    pub(crate) fn exclude(&mut self, wait: Duration) {
        self.paused += wait;
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed().saturating_sub(self.paused)
    }

    pub(crate) fn add_turn(&mut self, usage: Usage) {
        self.turns += 1;
        self.usage += usage;
    }

    /// Updates the tokens that the project used this month.
    pub(crate) fn update_month(&mut self, tokens: u64) {
        self.month_tokens = self.month_tokens.max(tokens);
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.limits.time.saturating_sub(self.elapsed())
    }

    /// Fails if a limit is reached. Called before each request to the model.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        let Limits { turns, input, output, time, month, .. } = self.limits;
        let reached = if self.turns >= turns {
            let requests = if turns == 1 { "request" } else { "requests" };
            format!("the limit of {turns} {requests} to the model")
        } else if self.usage.input >= input {
            format!("the limit of {input} tokens sent to the model")
        } else if self.usage.output >= output {
            format!("the limit of {output} tokens written by the model")
        } else if self.elapsed() >= time {
            self.time_limit()
        } else if let Some(month) = month.filter(|month| self.month_tokens >= *month) {
            return Err(AgentError::Ended(format!(
                "the project has used its {month} tokens for this month: raise tokens_a_month, or wait for the next month"
            )));
        } else {
            return Ok(());
        };
        Err(limit_reached(&reached))
    }

    pub(crate) fn out_of_time(&self) -> AgentError {
        limit_reached(&self.time_limit())
    }

    fn time_limit(&self) -> String {
        let minutes = self.limits.time.as_secs().div_ceil(60);
        format!("the limit of {minutes} {}", if minutes == 1 { "minute" } else { "minutes" })
    }
}

/// Caps the usage that a provider reports at what is possible: a token has at least one byte of the request (with a
/// margin of two), and a response ends at its limit.
pub(crate) fn cap_usage(reported: Usage, sent: usize, received: usize, max_output: u32) -> Usage {
    let input = reported.input.min(2 * sent as u64);
    let output = reported.output.min(u64::from(max_output).max(received as u64));
    Usage { input, output, cached: reported.cached.min(input) }
}

pub(crate) fn limit_reached(limit: &str) -> AgentError {
    AgentError::Ended(format!(
        "the run reached {limit} before it was done: the job's diff shows its changes so far"
    ))
}
