//! Requests an answer from the model: keeps the request within the model's limits, and retries temporary errors.

use std::time::Duration;

use failpoints::with_failpoints;
use serde_json::{Map, json};
use tokio::time::{Instant, timeout};

use crate::budget::cap_usage;
use crate::call_reader::read_calls_in_text;
use crate::conversation::turn_size;
use crate::editor::{AgentError, StepKind};
use crate::model::{
    Message, ModelError, ModelRequest, Profile, Reply, SizeRefusal, StopReason, Tool, Turn, Usage,
};
use crate::opening::system_prompt;

use super::{MAX_STEP_CHARS, Run};

/// Requests for one answer, with exponential backoff between them.
const MAX_TRIES: u32 = 6;
/// Requests with lower and lower sizes.
const MAX_SIZE_TRIES: u32 = 12;
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// What the model answered.
pub(super) enum Answer {
    Turn(Turn, StopReason),
    /// The model did not finish in time. Contains the sentence about it.
    Unfinished(String),
}

impl Run<'_> {
    pub(super) async fn request_answer(&mut self) -> Result<Answer, AgentError> {
        let (mut backoff, mut tries, mut size_tries) = (FIRST_DELAY, 1, 0);
        loop {
            self.budget.check()?;
            if self.progress.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            let (sentence, retry_after) = match self.call_model().await? {
                Ok(answer) => return Ok(answer),
                Err(ModelError::TooLarge { sentence, .. }) if size_tries == MAX_SIZE_TRIES => {
                    return Err(AgentError::Ended(sentence));
                }
                Err(ModelError::TooLarge { sentence, refusal }) => {
                    self.lower_sizes(sentence, &refusal)?;
                    size_tries += 1;
                    continue;
                }
                Err(ModelError::Unfinished(sentence)) => {
                    self.budget.add_turn(Usage::default());
                    return Ok(Answer::Unfinished(sentence));
                }
                Err(ModelError::Permanent(sentence)) => return Err(AgentError::Ended(sentence)),
                Err(ModelError::Machine(trouble)) => return Err(AgentError::Machine(trouble)),
                Err(ModelError::Temporary { sentence, retry_after }) => (sentence, retry_after),
            };
            let delay = retry_after.unwrap_or(backoff);
            if !self.progress.may_wait(delay) {
                return Err(AgentError::Temporary { sentence, retry_after });
            }
            if tries == MAX_TRIES {
                return Err(AgentError::Ended(format!("{sentence}; all {MAX_TRIES} tries failed")));
            }
            self.progress.step(StepKind::Note, format!("Trying again: {sentence}"));
            self.wait(delay.min(MAX_DELAY).min(self.budget.time_left())).await;
            (backoff, tries) = (backoff * 2, tries + 1);
        }
    }

    /// Calls the model once, and stores its reply before anything else: what follows may wait for long.
    async fn call_model(&mut self) -> Result<Result<Answer, ModelError>, AgentError> {
        let asked_at = Instant::now();
        self.progress.begin_call().await;
        self.budget.exclude(asked_at.elapsed());
        let (started_at, profile) = (Instant::now(), self.agent.profile);
        let request = ModelRequest {
            system: system_prompt(profile),
            messages: &self.conversation.sent(),
            tools: &self.tools,
            max_output: self.sizes.max_output,
            // A small model that varies its answers makes more mistakes.
            temperature: (profile == Profile::Small).then_some(0.0),
        };
        let reply = timeout(
            self.budget.time_left(),
            with_failpoints("model", self.agent.model.reply(&request, &mut |_| {})),
        )
        .await;
        let recorded = match reply {
            Ok(Ok(reply)) => self.record_reply(reply, started_at.elapsed()).await.map(Ok),
            Ok(Err(error)) => Ok(Err(error)),
            Err(_) => Err(self.budget.out_of_time()),
        };
        let ended_at = Instant::now();
        self.progress.end_call().await;
        self.budget.exclude(ended_at.elapsed());
        recorded
    }

    /// Waits before the next request. What takes longer than `delay` isn't part of the run's time.
    async fn wait(&mut self, delay: Duration) {
        let began_at = Instant::now();
        self.progress.wait(delay).await;
        self.budget.exclude(began_at.elapsed().saturating_sub(delay));
    }

    /// Lowers the sizes after a refusal, or ends the run if nothing is left to lower.
    fn lower_sizes(&mut self, sentence: String, refusal: &SizeRefusal) -> Result<(), AgentError> {
        let (before, max_output) = (self.conversation.bytes(), self.sizes.max_output);
        loop {
            if !self.sizes.lower(refusal, before) {
                return Err(AgentError::Ended(sentence));
            }
            self.conversation.set_max_bytes(self.sizes.max_bytes);
            // A context that was unknown so far can still be larger than the estimate of the refused request.
            if self.conversation.bytes() < before || self.sizes.max_output < max_output {
                break;
            }
        }
        self.bench.set_max_shown(self.sizes.max_shown());
        self.progress.step(StepKind::Note, format!("Trying again with a smaller request: {sentence}"));
        Ok(())
    }

    /// Stores a reply, because it is paid for.
    async fn record_reply(&mut self, reply: Reply, duration: Duration) -> Result<Answer, AgentError> {
        let Reply { mut turn, usage, stop } = reply;
        // The provider accepted these sizes.
        self.agent.model.remember_limits(self.sizes.learned());
        let is_complete = stop != StopReason::TooLong;
        let has_native_calls = self.conversation.has_native_calls();
        read_calls_in_text(&mut turn, is_complete, has_native_calls, &self.tools, self.conversation.len());
        let sent = overhead(system_prompt(self.agent.profile), &self.tools) + self.conversation.bytes();
        let usage = cap_usage(usage, sent, turn_size(&turn), self.sizes.max_output);
        self.budget.add_turn(usage);
        let message = format!("Called the model: {} tokens in, {} tokens out", usage.input, usage.output);
        let details = [
            ("inputTokens", json!(usage.input)),
            ("outputTokens", json!(usage.output)),
            ("cachedTokens", json!(usage.cached)),
            ("milliseconds", json!(duration.as_millis() as u64)),
        ];
        let details =
            details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>();
        self.progress.step_with_details(StepKind::Model, message, details);
        if !turn.text.trim().is_empty() {
            self.progress.step(StepKind::ModelText, turn.text.trim().chars().take(MAX_STEP_CHARS).collect());
        }
        self.add_message(Message::Assistant(turn.clone()), usage).await?;
        match stop {
            StopReason::Refused => {
                Err(AgentError::Ended("the model refuses this task: change the prompt".into()))
            }
            _ => Ok(Answer::Turn(turn, stop)),
        }
    }
}

/// Bytes of a request besides the conversation.
pub(crate) fn overhead(system: &str, tools: &[Tool]) -> usize {
    /// The JSON around a tool, and the model's template for it.
    const PER_TOOL: usize = 100;
    let size = |tool: &Tool| tool.description.len() + tool.parameters.to_string().len() + PER_TOOL;
    system.len() + tools.iter().map(size).sum::<usize>()
}
