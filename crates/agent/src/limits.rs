//! How much a run may take, and how much it took.

use std::time::Duration;

use tokio::time::Instant;

use crate::AgentError;
use crate::model::Usage;

/// Where a run ends, whatever the model says. Each alone is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Questions to the model.
    pub turns: u32,
    /// Tokens sent, those that the provider still knew included.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    pub time: Duration,
    /// Files changed.
    pub files: usize,
    /// Bytes written, counting a file each time.
    pub bytes: usize,
    /// Tokens of the whole project in a calendar month; `None`: no limit.
    pub month: Option<u64>,
    /// Tokens of one answer.
    pub answer: u32,
    /// Bytes of a conversation that are sent before what is old in it is cut down.
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

/// What a run has taken so far.
pub(crate) struct Spent {
    limits: Limits,
    began: Instant,
    turns: u32,
    usage: Usage,
    month: u64,
}

impl Spent {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, began: Instant::now(), turns: 0, usage: Usage::default(), month: 0 }
    }

    /// One question, and what it took.
    pub(crate) fn asked(&mut self, usage: Usage) {
        self.turns += 1;
        self.usage += usage;
    }

    /// What the project has used this month, as it was last told.
    pub(crate) fn seen(&mut self, month: u64) {
        self.month = self.month.max(month);
    }

    /// What is left of the time.
    pub(crate) fn time_left(&self) -> Duration {
        self.limits.time.saturating_sub(self.began.elapsed())
    }

    /// Asked before each question to the model.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        let Limits { turns, input, output, time, month, .. } = self.limits;
        let reached = if self.turns >= turns {
            format!("the limit of {turns} questions to the model")
        } else if self.usage.input >= input {
            format!("the limit of {input} tokens sent to the model")
        } else if self.usage.output >= output {
            format!("the limit of {output} tokens written by the model")
        } else if self.began.elapsed() >= time {
            self.too_late()
        } else if let Some(month) = month.filter(|month| self.month >= *month) {
            return Err(AgentError::Ended(format!(
                "the project has used its {month} tokens of this month; raise tokens_a_month, or wait for the next month"
            )));
        } else {
            return Ok(());
        };
        Err(ended(&reached))
    }

    pub(crate) fn out_of_time(&self) -> AgentError {
        ended(&self.too_late())
    }

    fn too_late(&self) -> String {
        format!("the limit of {} minutes", self.limits.time.as_secs().div_ceil(60))
    }
}

/// What a provider says that an answer took, as far as it can be: a token is a byte or more of what was sent, and an
/// answer ends where it was told to.
pub(crate) fn plausible(said: Usage, sent: usize, received: usize, answer: u32) -> Usage {
    let input = said.input.min(2 * sent as u64);
    let output = said.output.min(u64::from(answer).max(received as u64));
    Usage { input, output, cached: said.cached.min(input) }
}

pub(crate) fn ended(reached: &str) -> AgentError {
    AgentError::Ended(format!(
        "the run reached {reached} before it was done; what it had changed by then is in the job's diff"
    ))
}
