//! Provides a scripted model that records its requests, and a progress that records messages and steps.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::agent::model::{
    Arguments, Message, Model, ModelError, ModelRequest, OnText, Reply, StopReason, ToolCall, Turn, Usage,
};
use ::agent::{
    Agent, AgentError, Change, Limits, PastMessage, Policy, Progress, Prompt, Refusal, Report, StepKind,
    Task, judge,
};
use async_trait::async_trait;
use pages::{Edits, Files, MemoryTree, Overlay};
use serde_json::{Map, Value, json};

type Line = Result<Reply, ModelError>;

#[derive(Default)]
pub(crate) struct Script {
    lines: Mutex<VecDeque<Line>>,
    /// The line when no others are left.
    always: Option<fn() -> Line>,
    /// The conversation of each request.
    pub(crate) sent: Mutex<Vec<Vec<Message>>>,
    /// The schemas of the tools in the last request.
    pub(crate) tools: Mutex<String>,
}

impl Script {
    pub(crate) fn of(lines: impl IntoIterator<Item = Line>) -> Arc<Self> {
        Arc::new(Self { lines: Mutex::new(lines.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn always(line: fn() -> Line) -> Arc<Self> {
        Arc::new(Self { always: Some(line), ..Self::default() })
    }

    pub(crate) fn request_count(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// The text of the last message before the model's `n`th answer.
    pub(crate) fn last_sent(&self, n: usize) -> String {
        text_of(self.sent.lock().unwrap()[n - 1].last().unwrap())
    }
}

pub(crate) fn text_of(message: &Message) -> String {
    match message {
        Message::User(text) => text.clone(),
        Message::Assistant(turn) => turn.text.clone(),
        Message::Results(results) => {
            let line = |result: &::agent::model::ToolResult| {
                format!("{}{}", if result.failed { "FAILED " } else { "" }, result.content)
            };
            results.iter().map(line).collect::<Vec<_>>().join("\n--\n")
        }
    }
}

#[async_trait]
impl Model for Script {
    async fn reply(&self, request: &ModelRequest<'_>, _: &mut OnText<'_>) -> Line {
        self.sent.lock().unwrap().push(request.messages.iter().map(|&message| message.clone()).collect());
        let tools: Vec<_> = request.tools.iter().map(|tool| json!({ tool.name: tool.parameters })).collect();
        *self.tools.lock().unwrap() = json!(tools).to_string();
        let next = self.lines.lock().unwrap().pop_front();
        match (next, self.always) {
            (Some(line), _) => line,
            (None, Some(line)) => line(),
            (None, None) => std::future::pending().await,
        }
    }
}

/// One turn with these calls.
pub(crate) fn calls(all: &[(&str, Value)]) -> Line {
    let call = |(n, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("call_{n}"),
        name: (*name).to_owned(),
        arguments: Arguments::Json(arguments.clone()),
    };
    let calls = all.iter().enumerate().map(call).collect();
    reply(Turn { text: String::new(), calls, opaque: None }, StopReason::Calls)
}

pub(crate) fn call(name: &str, arguments: Value) -> Line {
    calls(&[(name, arguments)])
}

pub(crate) fn minute(new: &str) -> Value {
    json!({ "path": "docs/setup.md", "old": "It takes a minute.", "new": new })
}

pub(crate) fn finish(title: &str) -> Line {
    call("finish", json!({ "title": title, "summary": "As asked." }))
}

pub(crate) fn says(text: &str) -> Line {
    reply(Turn { text: text.to_owned(), calls: Vec::new(), opaque: None }, StopReason::Done)
}

pub(crate) fn reply(turn: Turn, stop: StopReason) -> Line {
    Ok(Reply { turn, usage: Usage { input: 100, output: 10, cached: 0 }, stop })
}

/// Records what a worker would store.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) steps: Vec<String>,
    pub(crate) messages: Vec<PastMessage>,
    pub(crate) month: u64,
    /// Follow-ups, each with the number of messages after which it arrives.
    pub(crate) follow_ups: Vec<(usize, &'static str)>,
    /// The process dies after this many stored messages.
    pub(crate) dies_after: Option<usize>,
    /// The longest delay that the editor may wait for its model.
    pub(crate) max_wait: Option<Duration>,
    /// How long each call waits for its turn, before it begins and again after it ended.
    pub(crate) call_wait: Duration,
    /// The base and the prompt for the guard.
    pub(crate) base: MemoryTree,
    pub(crate) prompt: Prompt,
    pub(crate) secrets: &'static [&'static str],
}

#[async_trait]
impl Progress for Recorder {
    fn step_with_details(&mut self, kind: StepKind, message: String, _: Map<String, Value>) {
        self.steps.push(format!("{}: {message}", kind.as_str()));
    }

    fn is_cancelled(&self) -> bool {
        self.dies_after.is_some_and(|limit| self.messages.len() >= limit)
    }

    fn may_wait(&self, delay: Duration) -> bool {
        self.max_wait.is_none_or(|limit| delay <= limit)
    }

    async fn begin_call(&mut self) {
        tokio::time::sleep(self.call_wait).await;
    }

    async fn end_call(&mut self) {
        tokio::time::sleep(self.call_wait).await;
    }

    async fn store_message(&mut self, message: &Message, usage: Usage) -> Result<u64, AgentError> {
        self.messages.push(PastMessage { this_run: true, message: message.clone(), usage });
        self.month += usage.input + usage.output;
        Ok(self.month)
    }

    async fn take_follow_ups(&mut self) -> Result<Vec<Prompt>, AgentError> {
        let count = self.messages.len();
        let (now, later) = std::mem::take(&mut self.follow_ups).into_iter().partition(|(at, _)| *at <= count);
        self.follow_ups = later;
        let now: Vec<(usize, &'static str)> = now;
        Ok(now.into_iter().map(|(_, prompt)| Prompt::instruction(prompt)).collect())
    }

    async fn refusals(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Refusal>, AgentError> {
        Ok(self.judge(edits, report))
    }
}

impl Recorder {
    fn judge(&self, edits: &Edits, Report { title, summary, .. }: &Report) -> Vec<Refusal> {
        let instructions = &self.prompt.instructions();
        let change = Change {
            base: &self.base,
            vocabulary: &agent::Vocabulary::default(),
            edits: &edits.0,
            instructions,
            title,
            summary,
        };
        judge(&change, &Policy { secrets: self.secrets, ..Policy::default() })
    }
}

pub(crate) struct RunResult {
    pub(crate) outcome: Result<Report, AgentError>,
    pub(crate) recorder: Recorder,
    pub(crate) edits: Edits,
    pub(crate) diff: String,
}

impl RunResult {
    #[track_caller]
    pub(crate) fn sentence(&self) -> String {
        self.outcome.as_ref().unwrap_err().to_string()
    }

    /// The rules of the guard's fatal refusals.
    pub(crate) fn fatal_rules(&self) -> Vec<String> {
        let report = self.outcome.as_ref().ok().cloned().unwrap_or_default();
        let fatal = self.recorder.judge(&self.edits, &report).into_iter().filter(|refusal| refusal.fatal);
        fatal.map(|refusal| refusal.rule.as_str().to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn report(&self) -> &Report {
        self.outcome.as_ref().unwrap()
    }
}

pub(crate) const DOCS: [(&str, &str); 3] = [
    ("docs/index.md", "# Kettle\n\nSee the [setup](setup.md).\n"),
    ("docs/setup.md", "# Setup\n\n## Install\n\nRun `kettle init`.\nIt takes a minute.\n"),
    ("docs/faq.md", "# Questions\n\nNone yet.\n"),
];

pub(crate) async fn run(model: &Arc<Script>, limits: Limits) -> RunResult {
    run_with(model, limits, &DOCS, Recorder::default(), |_| {}).await
}

/// Runs the agent on these files; `shape` changes the task.
pub(crate) async fn run_with(
    model: &Arc<Script>,
    limits: Limits,
    files: &[(&str, &str)],
    recorder: Recorder,
    shape: impl FnOnce(&mut Task<'_>),
) -> RunResult {
    run_agent(&Agent::new(model.clone(), limits), files, recorder, shape).await
}

pub(crate) async fn run_agent(
    agent: &Agent,
    files: &[(&str, &str)],
    mut recorder: Recorder,
    shape: impl FnOnce(&mut Task<'_>),
) -> RunResult {
    use ::agent::Editor;
    let before = recorder.messages.clone();
    let prompt = Prompt::instruction("Say how long the setup takes");
    let mut task = Task { prompt, conversation: &before, ..Task::default() };
    shape(&mut task);
    let tree = MemoryTree::new(files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec())));
    (recorder.base, recorder.prompt) = (tree.clone(), task.prompt.clone());
    let mut overlay = Overlay::new(tree, None).unwrap();
    let outcome = agent.edit(&task, &mut overlay, &mut recorder).await;
    RunResult { outcome, recorder, edits: overlay.edits(), diff: overlay.diff().unwrap() }
}
