//! The loop: ask the model, do what it calls for, tell it what came of that; until it is done, or a
//! limit is reached, or it goes round in circles.

mod finish;
mod patience;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use failpoints::with_failpoints;
use pages::Files;
use serde_json::{Map, json};
use tokio::time::{Instant, sleep, timeout};

use crate::fence::fenced;
use crate::limits::{Limits, Spent, plausible};
use crate::model::{Call, Message, Model, ModelError, Reply, Stop, Tool, ToolCall, ToolResult, Turn, Usage};
use crate::repository::{MAX_INSTRUCTIONS, SYSTEM, heeded, opening};
use crate::talk::{Talk, turn_size};
use crate::tools::{Done, Workbench, reason, tools};
use crate::{AgentError, Editor, Progress, Report, StepKind, Task};

use finish::titled;
use patience::Patience;

/// How often a provider in trouble is asked again, and how long at first is waited before that.
const TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const MAX_CALLS: usize = 32;
const MAX_SHOWN: usize = 500;
/// Bytes of a question beside the conversation: the rules, the tools, and what holds it together.
const OVERHEAD: usize = 16 * 1024;

/// The editor that asks a model.
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
            talk: Talk::default(),
            tools: tools(),
            spent: Spent::new(self.limits),
            patience: Patience::default(),
            rounds: 0,
        };
        let mut turn = run.begin(task).await?;
        loop {
            if let Some(turn) = turn.take()
                && let Some(report) = run.act(&turn).await?
            {
                return run.worth(titled(report, &task.prompt.instruction_text()));
            }
            run.hear().await?;
            turn = Some(run.ask().await?);
        }
    }
}

struct Run<'a> {
    agent: &'a Agent,
    bench: Workbench<'a>,
    progress: &'a mut dyn Progress,
    talk: Talk,
    tools: Vec<Tool>,
    spent: Spent,
    patience: Patience,
    rounds: u32,
}

impl Run<'_> {
    /// Takes up what was said before, or says the first word. Answers a turn that nobody acted on yet.
    async fn begin(&mut self, task: &Task<'_>) -> Result<Option<Turn>, AgentError> {
        let mut unanswered = None;
        for said in task.before {
            if let (true, Some(turn)) = (said.this_run, unanswered.take()) {
                self.repeat(&turn)?;
            }
            if let (true, Message::Assistant(turn)) = (said.this_run, &said.message) {
                self.spent.asked(said.usage);
                unanswered = Some(turn.clone());
            }
            self.talk.push(said.message.clone());
        }
        if !task.before.iter().any(|said| said.this_run) {
            let first = match self.talk.messages.is_empty() {
                true => self.open(task),
                false => task.prompt.render(),
            };
            self.say(Message::User(first), Usage::default()).await?;
        }
        Ok(unanswered)
    }

    fn open(&mut self, task: &Task<'_>) -> String {
        for (path, _) in task.instructions.iter().filter(|(_, said)| heeded(said).1) {
            let most = MAX_INSTRUCTIONS / 1024;
            self.progress
                .step(StepKind::Note, format!("Read the first {most} KiB of {path}, which is longer"));
        }
        opening(task, self.bench.files())
    }

    /// Makes the edits of a cut-off attempt once more; what was told of them is known.
    fn repeat(&mut self, turn: &Turn) -> Result<(), AgentError> {
        for call in turn.calls.iter().take(MAX_CALLS) {
            self.bench.carry_out(call)?;
        }
        Ok(())
    }

    /// A message that came while the run went on is read before the next question.
    async fn hear(&mut self) -> Result<(), AgentError> {
        for prompt in self.progress.asked().await? {
            self.progress.step(StepKind::Note, "Read a follow-up".into());
            self.say(Message::User(prompt.render()), Usage::default()).await?;
        }
        Ok(())
    }

    async fn say(&mut self, message: Message, usage: Usage) -> Result<(), AgentError> {
        let month = self.progress.keep(&message, usage).await?;
        self.spent.seen(month);
        self.talk.push(message);
        Ok(())
    }

    /// One answer of the model, however often it has to be asked for it.
    async fn ask(&mut self) -> Result<Turn, AgentError> {
        let context = self.agent.limits.context;
        if self.talk.bytes() > context {
            self.talk.shorten(context / 2);
        }
        let (mut wait, mut tries) = (FIRST_WAIT, 1);
        loop {
            self.spent.check()?;
            if self.progress.cancelled() {
                return Err(AgentError::Cancelled);
            }
            let began = Instant::now();
            match self.call().await? {
                Ok(reply) => return self.heard(reply, began.elapsed()).await,
                Err(ModelError::TooLong(sentence)) => self.shorten_or(sentence)?,
                Err(ModelError::Final(sentence)) => return Err(AgentError::Ended(sentence)),
                Err(ModelError::Machine(trouble)) => return Err(AgentError::Machine(trouble)),
                Err(ModelError::Again { sentence, after }) if !self.progress.waits(after.unwrap_or(wait)) => {
                    return Err(AgentError::Later { sentence, after });
                }
                Err(ModelError::Again { sentence, .. }) if tries == TRIES => {
                    return Err(AgentError::Ended(format!("{sentence}; it was tried {TRIES} times")));
                }
                Err(ModelError::Again { sentence, after }) => {
                    self.progress.step(StepKind::Note, format!("Asking again: {sentence}"));
                    sleep(after.unwrap_or(wait).min(LONGEST_WAIT).min(self.spent.time_left())).await;
                    (wait, tries) = (wait * 2, tries + 1);
                }
            }
        }
    }

    async fn call(&mut self) -> Result<Result<Reply, ModelError>, AgentError> {
        let call = Call {
            system: SYSTEM,
            messages: &self.talk.messages,
            tools: &self.tools,
            max_output: self.agent.limits.answer,
        };
        let reply = timeout(
            self.spent.time_left(),
            with_failpoints("model", self.agent.model.reply(&call, &mut |_| {})),
        )
        .await;
        reply.map_err(|_| self.spent.out_of_time())
    }

    fn shorten_or(&mut self, sentence: String) -> Result<(), AgentError> {
        match self.talk.shorten(self.talk.bytes() / 2) {
            true => Ok(()),
            false => Err(AgentError::Ended(sentence)),
        }
    }

    /// Kept before anything is done about it: it is paid for.
    async fn heard(&mut self, reply: Reply, took: Duration) -> Result<Turn, AgentError> {
        let Reply { turn, usage, stop } = reply;
        let (sent, answer) = (OVERHEAD + self.talk.bytes(), self.agent.limits.answer);
        let usage = plausible(usage, sent, turn_size(&turn), answer);
        self.spent.asked(usage);
        let message = format!("Asked the model: {} tokens in, {} out", usage.input, usage.output);
        let figures = [
            ("inputTokens", json!(usage.input)),
            ("outputTokens", json!(usage.output)),
            ("cachedTokens", json!(usage.cached)),
            ("milliseconds", json!(took.as_millis() as u64)),
        ];
        let figures =
            figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>();
        self.progress.detailed(StepKind::Model, message, figures);
        if !turn.text.trim().is_empty() {
            self.progress.step(StepKind::Said, turn.text.trim().chars().take(MAX_SHOWN).collect());
        }
        self.say(Message::Assistant(turn.clone()), usage).await?;
        match stop {
            Stop::Refused => {
                Err(AgentError::Ended("the model will not do this; ask for it in other words".into()))
            }
            Stop::TooLong if turn.calls.is_empty() => self
                .nudge("Your answer was cut off. Go on, in smaller steps.")
                .await
                .map(|()| Turn::default()),
            _ => Ok(turn),
        }
    }

    async fn nudge(&mut self, words: &str) -> Result<(), AgentError> {
        self.patience.lost()?;
        self.say(Message::User(words.to_owned()), Usage::default()).await
    }

    /// Does what the turn calls for. Answers the report, when that was the end.
    async fn act(&mut self, turn: &Turn) -> Result<Option<Report>, AgentError> {
        if turn.calls.is_empty() {
            return self.no_calls(turn).await;
        }
        let (mut results, mut report) = (Vec::new(), None);
        for (n, call) in turn.calls.iter().enumerate() {
            if self.progress.cancelled() {
                return Err(AgentError::Cancelled);
            }
            let done = match n < MAX_CALLS {
                true => self.bench.carry_out(call)?,
                false => Done::Failed(format!("at most {MAX_CALLS} calls at once; call again")),
            };
            results.push(self.result(call, done, &mut report).await?);
        }
        self.say(Message::Results(results), Usage::default()).await?;
        Ok(report)
    }

    async fn result(
        &mut self,
        call: &ToolCall,
        done: Done,
        report: &mut Option<Report>,
    ) -> Result<ToolResult, AgentError> {
        let (content, failed) = match done {
            Done::Told { content, step } => {
                let changed = step.as_ref().is_some_and(|(kind, _)| *kind == StepKind::Edit);
                if let Some((kind, message)) = step {
                    self.progress.step(kind, message);
                }
                let warned = self.patience.called(call, changed)?;
                (
                    if warned {
                        format!("{content}\n\nYou have asked this before: go on, or call finish.")
                    } else {
                        content
                    },
                    false,
                )
            }
            Done::Failed(why) => {
                let told = format!("{} was refused: {}", call.name, reason(&why));
                self.progress.step(StepKind::Note, told.chars().take(MAX_SHOWN).collect());
                self.patience.lost()?;
                (why, true)
            }
            Done::Finish { title, summary } => self.finish(title, summary, report).await?,
        };
        // Whatever it says, it may quote the repository.
        let content = fenced(&content).into_owned();
        Ok(ToolResult { id: call.id.clone(), name: call.name.clone(), content, failed })
    }
}
