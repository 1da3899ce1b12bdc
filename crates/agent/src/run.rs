//! Runs the agent loop: request a turn from the model, run its tool calls, return their results. The loop ends when the
//! model finishes, a limit is reached, or the model makes no progress.

mod finish;
mod patience;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use pages::Files;

use crate::budget::{Budget, Limits};
use crate::call_reader::find_tool;
use crate::conversation::{Conversation, cut_text};
use crate::editor::{AgentError, Editor, PastMessage, Progress, Report, StepKind, Task};
use crate::fence::escape_tags;
use crate::model::{Arguments, Message, Model, Profile, StopReason, Tool, ToolCall, ToolResult, Turn, Usage};
use crate::opening::{first_message, instruction_limit, named_pages, system_prompt, truncate_instructions};
use crate::sizes::Sizes;
use crate::tools::{CallOutcome, Workbench, short_reason, tools_for};

use finish::with_valid_title;
use patience::{Patience, TOO_SLOW, Unusable};
use request::Answer;

pub(crate) use request::overhead as request_overhead;

/// Calls of one answer that are run. The model gets the others back.
const MAX_CALLS: usize = 32;
const MAX_STEP_CHARS: usize = 500;
/// Each call gets at least this much of its result.
const MIN_RESULT_BYTES: usize = 200;

/// The editor that calls a model.
pub struct Agent {
    model: Arc<dyn Model>,
    limits: Limits,
    profile: Profile,
}

impl Agent {
    pub fn new(model: Arc<dyn Model>, limits: Limits) -> Self {
        Self { model, limits, profile: Profile::default() }
    }

    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
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
        let mut run = Run::new(self, files, progress).await?;
        let mut answer = run.begin(task).await?;
        loop {
            if let Some(answer) = answer.take()
                && let Some(report) = run.act(answer).await?
            {
                return run.check_effect(with_valid_title(report, &task.prompt.instruction_text()));
            }
            run.read_follow_ups().await?;
            answer = Some(run.request_answer().await?);
        }
    }
}

struct Run<'a> {
    agent: &'a Agent,
    bench: Workbench<'a>,
    progress: &'a mut dyn Progress,
    conversation: Conversation,
    tools: Vec<Tool>,
    sizes: Sizes,
    budget: Budget,
    patience: Patience,
    /// How often the model called `finish` and got problems or refusals back.
    rejected_finishes: u32,
    /// What the guard refused when the model called `finish`, one sentence.
    refusal: Option<String>,
    /// Whether the model called a tool in this run.
    has_calls: bool,
    /// Whether an edit of the current answer failed.
    failed_in_answer: bool,
}

impl<'a> Run<'a> {
    async fn new(
        agent: &'a Agent,
        files: &'a mut (dyn Files + Send),
        progress: &'a mut dyn Progress,
    ) -> Result<Self, AgentError> {
        let tools = tools_for(agent.profile);
        let overhead = request_overhead(system_prompt(agent.profile), &tools);
        let known = match agent.model.known_limits() {
            Some(known) => known,
            // A provider can take as long for this as for any other call.
            None => {
                progress.begin_call().await;
                let known = agent.model.token_limits().await;
                progress.end_call().await;
                known
            }
        };
        let sizes = Sizes::new(&agent.limits, known, agent.profile, overhead);
        Ok(Self {
            agent,
            bench: Workbench::new(files, agent.limits, agent.profile, sizes.max_shown()),
            progress,
            conversation: Conversation::new(sizes.max_bytes),
            tools,
            sizes,
            budget: Budget::new(agent.limits),
            patience: Patience::default(),
            rejected_finishes: 0,
            refusal: None,
            has_calls: false,
            failed_in_answer: false,
        })
    }

    /// Replays the stored conversation, or sends the first message. Returns the last answer if its calls were not run.
    async fn begin(&mut self, task: &Task<'_>) -> Result<Option<Answer>, AgentError> {
        // The last turn, as long as its calls have no results.
        let mut open: Option<(Turn, bool)> = None;
        for past in task.conversation {
            match (&past.message, open.take()) {
                (Message::Results(results), Some((turn, true))) => self.replay_answer(&turn, results)?,
                (Message::Results(_), _) => {}
                (_, Some((turn, _))) => self.close_calls(&turn),
                (_, None) => {}
            }
            if past.this_run {
                self.replay_message(past);
            }
            if let Message::Assistant(turn) = &past.message {
                open = Some((turn.clone(), past.this_run));
            }
            self.conversation.push(past.message.clone());
        }
        if let Some((turn, true)) = open {
            // Whether it was cut off is not stored. Its calls were read when it arrived.
            return Ok(Some(Answer::Turn(turn, StopReason::Calls)));
        }
        open.iter().for_each(|(turn, _)| self.close_calls(turn));
        if !task.conversation.iter().any(|past| past.this_run) {
            let first = match self.conversation.is_empty() {
                true => self.opening(task),
                false => task.prompt.render(),
            };
            self.add_message(Message::User(first), Usage::default()).await?;
        }
        Ok(None)
    }

    /// Restores the counts of an interrupted attempt.
    fn replay_message(&mut self, past: &PastMessage) {
        match &past.message {
            Message::Assistant(turn) => {
                self.budget.add_turn(past.usage);
                self.patience.replay_turn(turn);
            }
            // The request was made and paid for, although there is no turn.
            Message::User(text) if text == TOO_SLOW => {
                self.budget.add_turn(past.usage);
                self.patience.replay_turn(&Turn::default());
            }
            Message::User(_) => {}
            Message::Results(results) => self.replay_finish(results),
        }
    }

    /// Repeats the edits of an interrupted attempt. Their results are already in the conversation, and what failed then
    /// fails now, even if the model's limits are others by now.
    fn replay_answer(&mut self, turn: &Turn, results: &[ToolResult]) -> Result<(), AgentError> {
        for (call, result) in turn.calls.iter().zip(results).take(MAX_CALLS) {
            match result.failed {
                true => self.bench.record(call, &CallOutcome::Failed(result.content.clone())),
                false => self.bench.replay(call)?,
            }
        }
        self.has_calls |= !results.is_empty();
        self.patience.replay_results(results.iter().any(|result| !result.failed));
        Ok(())
    }

    /// Adds results to calls that were never run, because their run ended. A provider refuses calls without results.
    fn close_calls(&mut self, turn: &Turn) {
        let result = |call: &ToolCall| ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            content: "not run, because the run ended".into(),
            failed: true,
        };
        let results: Vec<_> = turn.calls.iter().map(result).collect();
        if !results.is_empty() {
            self.conversation.push(Message::Results(results));
        }
    }

    fn opening(&mut self, task: &Task<'_>) -> String {
        let limit = instruction_limit(self.sizes.max_bytes);
        for (path, _) in task.instructions.iter().filter(|(_, text)| truncate_instructions(text, limit).1) {
            let kib = limit / 1024;
            self.progress.step(StepKind::Note, format!("Read only the first {kib} KiB of {path}"));
        }
        let first = first_message(task, self.bench.files(), limit);
        match self.agent.profile {
            Profile::Full => first,
            Profile::Small => first + &named_pages(task, self.bench.files()),
        }
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

    /// Acts on an answer. Returns the report if the answer ends the run.
    async fn act(&mut self, answer: Answer) -> Result<Option<Report>, AgentError> {
        let (turn, stop) = match answer {
            Answer::Unfinished(sentence) => return self.handle_unusable(Unusable::TooSlow, sentence).await,
            Answer::Turn(turn, stop) => (turn, stop),
        };
        if !turn.calls.is_empty() {
            return self.run_calls(&turn, stop).await;
        }
        let why = match stop {
            StopReason::TooLong => Unusable::CutOff,
            _ if turn.text.trim().is_empty() => Unusable::Empty,
            _ => Unusable::OnlyText,
        };
        self.handle_unusable(why, turn.text).await
    }

    /// Runs the calls of a turn. Returns the report if the turn ends the run.
    async fn run_calls(&mut self, turn: &Turn, stop: StopReason) -> Result<Option<Report>, AgentError> {
        let (mut results, mut report, mut has_success) = (Vec::new(), None, false);
        let mut space = self.sizes.max_results();
        (self.has_calls, self.failed_in_answer) = (true, false);
        let last = turn.calls.len() - 1;
        self.bench.prefetch(&turn.calls[..turn.calls.len().min(MAX_CALLS)])?;
        for n in self.order(turn) {
            let call = &turn.calls[n];
            if self.progress.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            let is_broken = matches!(call.arguments, Arguments::Broken(_));
            let outcome = match n {
                _ if report.is_some() => CallOutcome::NotRun("the work has ended with finish".into()),
                MAX_CALLS.. => self.too_many_calls(call),
                _ if n == last && stop == StopReason::TooLong && is_broken => self.cut_off_call(call),
                _ => self.bench.run(call)?,
            };
            let mut result = self.tool_result(call, outcome, &mut report).await?;
            has_success |= !result.failed;
            self.failed_in_answer |= result.failed && self.bench.is_edit(call);
            let cut = cut_text(&result.content, space.max(MIN_RESULT_BYTES));
            if cut.len() < result.content.len() {
                self.bench.forget_read(call);
            }
            space = space.saturating_sub(cut.len());
            result.content = cut;
            results.push((n, result));
        }
        results.sort_by_key(|(n, _)| *n);
        let results = results.into_iter().map(|(_, result)| result).collect();
        self.add_message(Message::Results(results), Usage::default()).await?;
        if report.is_some() {
            return Ok(report);
        }
        match self.patience.end_answer(has_success) {
            Ok(()) => Ok(None),
            Err(stalled) => self.end_stalled(stalled).map(Some),
        }
    }

    /// The order in which the calls run: as the model wrote them, but a `finish` before edits runs after them, because
    /// they would be lost.
    fn order(&self, turn: &Turn) -> Vec<usize> {
        let is_finish =
            |call: &ToolCall| find_tool(&self.tools, &call.name).is_some_and(|tool| tool.name == "finish");
        let is_early = |n: &usize| {
            is_finish(&turn.calls[*n]) && turn.calls[n + 1..].iter().any(|call| self.bench.is_edit(call))
        };
        let (late, on_time): (Vec<_>, Vec<_>) = (0..turn.calls.len()).partition(is_early);
        on_time.into_iter().chain(late).collect()
    }

    fn too_many_calls(&mut self, call: &ToolCall) -> CallOutcome {
        let why = format!("at most {MAX_CALLS} calls run per answer; call again");
        self.bench.record(call, &CallOutcome::Malformed(why.clone()));
        CallOutcome::NotRun(why)
    }

    fn cut_off_call(&mut self, call: &ToolCall) -> CallOutcome {
        let limit = self.sizes.max_output;
        let outcome = CallOutcome::Malformed(format!(
            "your answer was cut off at {limit} tokens, so this call is incomplete; send it again in smaller steps"
        ));
        self.bench.record(call, &outcome);
        outcome
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
                let content = match self.patience.count_call(call, changed) {
                    true => format!("{content}\n\nYou have made this call before: go on, or call finish."),
                    false => content,
                };
                (content, false)
            }
            CallOutcome::NotRun(why) => (why, true),
            CallOutcome::Failed(why) | CallOutcome::Malformed(why) => {
                let note = format!("{} failed: {}", call.name, short_reason(&why));
                self.progress.step(StepKind::Note, note.chars().take(MAX_STEP_CHARS).collect());
                (why, true)
            }
            CallOutcome::Finish { title, summary } => self.finish(title, summary, report).await?,
        };
        // A result can quote the repository.
        let content = escape_tags(&content).into_owned();
        Ok(ToolResult { id: call.id.clone(), name: call.name.clone(), content, failed })
    }
}
