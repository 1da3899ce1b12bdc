//! Runs the agent loop: request a turn from the model, run its tool calls, return their results. The loop ends when the
//! model finishes, a limit is reached, or the model makes no progress.

mod finish;
mod stall;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use failpoints::with_failpoints;
use pages::Files;
use serde_json::{Map, json};
use tokio::time::{Instant, timeout};

use crate::budget::{Budget, Limits, cap_usage};
use crate::conversation::{Conversation, turn_size};
use crate::editor::{AgentError, Editor, Progress, Report, StepKind, Task};
use crate::fence::escape_tags;
use crate::model::{
    Message, Model, ModelError, ModelRequest, Reply, StopReason, Tool, ToolCall, ToolResult, Turn, Usage,
};
use crate::opening::{MAX_INSTRUCTIONS_BYTES, SYSTEM, first_message, truncate_instructions};
use crate::tools::{CallOutcome, Workbench, short_reason, tools};

use finish::with_valid_title;
use stall::StallDetector;

/// Requests for one turn, with exponential backoff between them.
const MAX_TRIES: u32 = 6;
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);
const MAX_CALLS: usize = 32;
const MAX_STEP_CHARS: usize = 500;
/// Bytes of a request besides the conversation: the system prompt, the tools, and the JSON around them.
const REQUEST_OVERHEAD: usize = 16 * 1024;

/// The editor that calls a model.
pub struct Agent {
    model: Arc<dyn Model>,
    limits: Limits,
}

impl Agent {
    pub fn new(model: Arc<dyn Model>, limits: Limits) -> Self {
        Self { model, limits }
    }
}

#[async_trait]
impl Editor for Agent {
    async fn edit(
        &self,
        task: &Task<'_>,
        files: &mut (dyn Files + Send),
        progress: &mut dyn Progress,
    ) -> Result<Report, AgentError> {
        let mut run = Run {
            agent: self,
            bench: Workbench::new(files, self.limits),
            progress,
            conversation: Conversation::default(),
            tools: tools(),
            budget: Budget::new(self.limits),
            stall: StallDetector::default(),
            rejected_finishes: 0,
        };
        let mut turn = run.begin(task).await?;
        loop {
            if let Some(turn) = turn.take()
                && let Some(report) = run.run_calls(&turn).await?
            {
                return run.check_effect(with_valid_title(report, &task.prompt.instruction_text()));
            }
            run.read_follow_ups().await?;
            turn = Some(run.request_turn().await?);
        }
    }
}

struct Run<'a> {
    agent: &'a Agent,
    bench: Workbench<'a>,
    progress: &'a mut dyn Progress,
    conversation: Conversation,
    tools: Vec<Tool>,
    budget: Budget,
    stall: StallDetector,
    /// How often the model called `finish` and got problems or refusals back.
    rejected_finishes: u32,
}

impl Run<'_> {
    /// Replays the stored conversation, or sends the first message. Returns the last turn if its calls were not run.
    async fn begin(&mut self, task: &Task<'_>) -> Result<Option<Turn>, AgentError> {
        let mut pending = None;
        for past in task.conversation {
            if let (true, Some(turn)) = (past.this_run, pending.take()) {
                self.replay_edits(&turn)?;
            }
            if let (true, Message::Assistant(turn)) = (past.this_run, &past.message) {
                self.budget.add_turn(past.usage);
                pending = Some(turn.clone());
            }
            self.conversation.push(past.message.clone());
        }
        if !task.conversation.iter().any(|past| past.this_run) {
            let first = match self.conversation.messages.is_empty() {
                true => self.opening(task),
                false => task.prompt.render(),
            };
            self.add_message(Message::User(first), Usage::default()).await?;
        }
        Ok(pending)
    }

    fn opening(&mut self, task: &Task<'_>) -> String {
        for (path, _) in task.instructions.iter().filter(|(_, text)| truncate_instructions(text).1) {
            let kib = MAX_INSTRUCTIONS_BYTES / 1024;
            self.progress.step(StepKind::Note, format!("Read only the first {kib} KiB of {path}"));
        }
        first_message(task, self.bench.files())
    }

    /// Repeats the edits of an interrupted attempt. Their results are already in the conversation.
    fn replay_edits(&mut self, turn: &Turn) -> Result<(), AgentError> {
        for call in turn.calls.iter().take(MAX_CALLS) {
            self.bench.run(call)?;
        }
        Ok(())
    }

    /// Adds follow-ups that arrived during the run, before the next request.
    async fn read_follow_ups(&mut self) -> Result<(), AgentError> {
        for prompt in self.progress.take_follow_ups().await? {
            self.progress.step(StepKind::Note, "Read a follow-up".into());
            self.add_message(Message::User(prompt.render()), Usage::default()).await?;
        }
        Ok(())
    }

    async fn add_message(&mut self, message: Message, usage: Usage) -> Result<(), AgentError> {
        let month_tokens = self.progress.store_message(&message, usage).await?;
        self.budget.update_month(month_tokens);
        self.conversation.push(message);
        Ok(())
    }

    /// Requests one turn of the model, and retries temporary errors with backoff.
    async fn request_turn(&mut self) -> Result<Turn, AgentError> {
        let context = self.agent.limits.context;
        if self.conversation.bytes() > context {
            self.conversation.shorten(context / 2);
        }
        let (mut backoff, mut tries) = (FIRST_DELAY, 1);
        loop {
            self.budget.check()?;
            if self.progress.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            let (reply, duration) = self.call_model().await?;
            let (sentence, retry_after) = match reply {
                Ok(reply) => return self.record_reply(reply, duration).await,
                Err(ModelError::TooLong(sentence)) => {
                    self.shorten_or_end(sentence)?;
                    continue;
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

    /// Calls the model once. Returns its reply, and how long the call took.
    async fn call_model(&mut self) -> Result<(Result<Reply, ModelError>, Duration), AgentError> {
        let asked_at = Instant::now();
        self.progress.begin_call().await;
        self.budget.exclude(asked_at.elapsed());
        let started_at = Instant::now();
        let request = ModelRequest {
            system: SYSTEM,
            messages: &self.conversation.messages,
            tools: &self.tools,
            max_output: self.agent.limits.answer,
        };
        let reply = timeout(
            self.budget.time_left(),
            with_failpoints("model", self.agent.model.reply(&request, &mut |_| {})),
        )
        .await;
        let ended_at = Instant::now();
        self.progress.end_call().await;
        self.budget.exclude(ended_at.elapsed());
        let reply = reply.map_err(|_| self.budget.out_of_time())?;
        Ok((reply, ended_at - started_at))
    }

    /// Waits before the next request. What takes longer than `delay` isn't part of the run's time.
    async fn wait(&mut self, delay: Duration) {
        let began_at = Instant::now();
        self.progress.wait(delay).await;
        self.budget.exclude(began_at.elapsed().saturating_sub(delay));
    }

    fn shorten_or_end(&mut self, sentence: String) -> Result<(), AgentError> {
        match self.conversation.shorten(self.conversation.bytes() / 2) {
            true => Ok(()),
            false => Err(AgentError::Ended(sentence)),
        }
    }

    /// Stores a reply before the run acts on it, because the reply is paid for.
    async fn record_reply(&mut self, reply: Reply, duration: Duration) -> Result<Turn, AgentError> {
        let Reply { turn, usage, stop } = reply;
        let (sent, max_output) = (REQUEST_OVERHEAD + self.conversation.bytes(), self.agent.limits.answer);
        let usage = cap_usage(usage, sent, turn_size(&turn), max_output);
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
            StopReason::TooLong if turn.calls.is_empty() => self
                .remind("Your answer was cut off. Continue in smaller steps.")
                .await
                .map(|()| Turn::default()),
            _ => Ok(turn),
        }
    }

    async fn remind(&mut self, text: &str) -> Result<(), AgentError> {
        self.stall.count_failure()?;
        self.add_message(Message::User(text.to_owned()), Usage::default()).await
    }

    /// Runs the calls of a turn. Returns the report if the turn ends the run.
    async fn run_calls(&mut self, turn: &Turn) -> Result<Option<Report>, AgentError> {
        if turn.calls.is_empty() {
            return self.handle_text_only(turn).await;
        }
        let (mut results, mut report) = (Vec::new(), None);
        for (n, call) in turn.calls.iter().enumerate() {
            if self.progress.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            let outcome = match n < MAX_CALLS {
                true => self.bench.run(call)?,
                false => CallOutcome::Failed(format!("at most {MAX_CALLS} calls run per answer; call again")),
            };
            results.push(self.tool_result(call, outcome, &mut report).await?);
        }
        self.add_message(Message::Results(results), Usage::default()).await?;
        Ok(report)
    }

    async fn tool_result(
        &mut self,
        call: &ToolCall,
        outcome: CallOutcome,
        report: &mut Option<Report>,
    ) -> Result<ToolResult, AgentError> {
        let (content, failed) = match outcome {
            CallOutcome::Done { content, step } => {
                let changed = step.as_ref().is_some_and(|(kind, _)| *kind == StepKind::Edit);
                if let Some((kind, message)) = step {
                    self.progress.step(kind, message);
                }
                let is_repeated = self.stall.count_call(call, changed)?;
                (
                    if is_repeated {
                        format!("{content}\n\nYou have made this call before: go on, or call finish.")
                    } else {
                        content
                    },
                    false,
                )
            }
            CallOutcome::Failed(why) => {
                let note = format!("{} failed: {}", call.name, short_reason(&why));
                self.progress.step(StepKind::Note, note.chars().take(MAX_STEP_CHARS).collect());
                self.stall.count_failure()?;
                (why, true)
            }
            CallOutcome::Finish { title, summary } => self.finish(title, summary, report).await?,
        };
        // A result can quote the repository.
        let content = escape_tags(&content).into_owned();
        Ok(ToolResult { id: call.id.clone(), name: call.name.clone(), content, failed })
    }
}
