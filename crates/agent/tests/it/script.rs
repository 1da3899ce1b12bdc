//! A model that says what the test wrote down for it, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::agent::model::{
    Arguments, Call, Heard, Message, Model, ModelError, Reply, Stop, ToolCall, Turn, Usage,
};
use ::agent::{
    Agent, AgentError, Change, Limits, Objection, Policy, Progress, Prompt, Report, Said, StepKind, Task,
    judge,
};
use async_trait::async_trait;
use pages::{Edits, Files, MemoryTree, Overlay};
use serde_json::{Map, Value, json};

type Line = Result<Reply, ModelError>;

#[derive(Default)]
pub(crate) struct Script {
    lines: Mutex<VecDeque<Line>>,
    /// Said when there are no lines left.
    always: Option<fn() -> Line>,
    /// The conversation, as it was sent each time.
    pub(crate) sent: Mutex<Vec<Vec<Message>>>,
    /// What each tool takes, as it was told.
    pub(crate) tools: Mutex<String>,
}

impl Script {
    pub(crate) fn of(lines: impl IntoIterator<Item = Line>) -> Arc<Self> {
        Arc::new(Self { lines: Mutex::new(lines.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn always(line: fn() -> Line) -> Arc<Self> {
        Arc::new(Self { always: Some(line), ..Self::default() })
    }

    pub(crate) fn asked(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// What the model was told last, before its `n`th answer.
    pub(crate) fn last_told(&self, n: usize) -> String {
        told(self.sent.lock().unwrap()[n - 1].last().unwrap())
    }
}

pub(crate) fn told(message: &Message) -> String {
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
    async fn reply(&self, call: &Call<'_>, _: &mut Heard<'_>) -> Line {
        self.sent.lock().unwrap().push(call.messages.to_vec());
        let tools: Vec<_> = call.tools.iter().map(|tool| json!({ tool.name: tool.parameters })).collect();
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
    reply(Turn { text: String::new(), calls, opaque: None }, Stop::Calls)
}

pub(crate) fn call(name: &str, arguments: Value) -> Line {
    calls(&[(name, arguments)])
}

pub(crate) fn finish(title: &str) -> Line {
    call("finish", json!({ "title": title, "summary": "As asked." }))
}

pub(crate) fn says(text: &str) -> Line {
    reply(Turn { text: text.to_owned(), calls: Vec::new(), opaque: None }, Stop::Done)
}

pub(crate) fn reply(turn: Turn, stop: Stop) -> Line {
    Ok(Reply { turn, usage: Usage { input: 100, output: 10, cached: 0 }, stop })
}

/// What a worker would keep.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) steps: Vec<String>,
    pub(crate) said: Vec<Said>,
    pub(crate) month: u64,
    /// Follow-ups, each with the number of messages after which it comes.
    pub(crate) follow_ups: Vec<(usize, &'static str)>,
    /// After so many messages were kept, the process dies.
    pub(crate) dies_after: Option<usize>,
    /// Whoever runs it waits no longer than this for the model.
    pub(crate) waits: Option<Duration>,
    /// What the change is judged by.
    pub(crate) base: MemoryTree,
    pub(crate) prompt: Prompt,
    pub(crate) secrets: &'static [&'static str],
}

#[async_trait]
impl Progress for Kept {
    fn detailed(&mut self, kind: StepKind, message: String, _: Map<String, Value>) {
        self.steps.push(format!("{}: {message}", kind.as_str()));
    }

    fn cancelled(&self) -> bool {
        self.dies_after.is_some_and(|most| self.said.len() >= most)
    }

    fn waits(&self, long: Duration) -> bool {
        self.waits.is_none_or(|most| long <= most)
    }

    async fn keep(&mut self, message: &Message, usage: Usage) -> Result<u64, AgentError> {
        self.said.push(Said { this_run: true, message: message.clone(), usage });
        self.month += usage.input + usage.output;
        Ok(self.month)
    }

    async fn asked(&mut self) -> Result<Vec<Prompt>, AgentError> {
        let count = self.said.len();
        let (now, later) = std::mem::take(&mut self.follow_ups).into_iter().partition(|(at, _)| *at <= count);
        self.follow_ups = later;
        let now: Vec<(usize, &'static str)> = now;
        Ok(now.into_iter().map(|(_, prompt)| Prompt::instruction(prompt)).collect())
    }

    async fn objections(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Objection>, AgentError> {
        Ok(self.judge(edits, report))
    }
}

impl Kept {
    fn judge(&self, edits: &Edits, Report { title, summary, .. }: &Report) -> Vec<Objection> {
        let asked = &self.prompt.instructions();
        let change = Change {
            base: &self.base,
            vocabulary: &agent::Vocabulary::default(),
            edits: &edits.0,
            asked,
            title,
            summary,
        };
        judge(&change, &Policy { secrets: self.secrets, ..Policy::default() })
    }
}

pub(crate) struct Ran {
    pub(crate) outcome: Result<Report, AgentError>,
    pub(crate) kept: Kept,
    pub(crate) edits: Edits,
    pub(crate) diff: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn sentence(&self) -> String {
        self.outcome.as_ref().unwrap_err().to_string()
    }

    /// What the last wall would not let through.
    pub(crate) fn stopped(&self) -> Vec<String> {
        let report = self.outcome.as_ref().ok().cloned().unwrap_or_default();
        let fatal = self.kept.judge(&self.edits, &report).into_iter().filter(|objection| objection.fatal);
        fatal.map(|objection| objection.rule.as_str().to_owned()).collect()
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

pub(crate) async fn run(model: &Arc<Script>, limits: Limits) -> Ran {
    run_with(model, limits, &DOCS, Kept::default(), |_| {}).await
}

/// Runs the agent on these files; `shape` changes the task.
pub(crate) async fn run_with(
    model: &Arc<Script>,
    limits: Limits,
    files: &[(&str, &str)],
    mut kept: Kept,
    shape: impl FnOnce(&mut Task<'_>),
) -> Ran {
    use ::agent::Editor;
    let before = std::mem::take(&mut kept.said);
    kept.said = before.clone();
    let prompt = Prompt::instruction("Say how long the setup takes");
    let mut task = Task { prompt, before: &before, ..Task::default() };
    shape(&mut task);
    let tree = MemoryTree::new(files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec())));
    (kept.base, kept.prompt) = (tree.clone(), task.prompt.clone());
    let mut overlay = Overlay::new(tree, None).unwrap();
    let outcome = Agent::new(model.clone(), limits).edit(&task, &mut overlay, &mut kept).await;
    Ran { outcome, kept, edits: overlay.edits(), diff: overlay.diff().unwrap() }
}
