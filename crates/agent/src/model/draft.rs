//! A reply in the making, whichever format it comes in.

use serde_json::Value;

use super::{Arguments, Reply, Stop, ToolCall, Turn, Usage, plain_name};

/// Ids that we had to think up begin so; a provider that gave none is sent none.
pub(super) const OWN_ID: &str = "docwright_";

#[derive(Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) calls: Vec<DraftCall>,
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
}

#[derive(Default)]
pub(super) struct DraftCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Whether there is more to come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Done,
}

/// What one format makes of the events of one answer.
pub(super) trait Ear: Send {
    fn hear(&mut self, event: &Value, draft: &mut Draft) -> Flow;
    /// What the provider wants back verbatim; `None` when text and calls say it all.
    fn opaque(self: Box<Self>, _calls: &[ToolCall]) -> Option<Value> {
        None
    }
}

impl Draft {
    /// Bytes that are kept for the reply.
    pub(super) fn kept(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len());
        self.text.len() + calls.sum::<usize>()
    }

    pub(super) fn say(&mut self, text: &Value) {
        self.text.push_str(text.as_str().unwrap_or_default());
    }

    /// `None` when the stream ended before the model did. `turn` is how many messages there were
    /// before: ids are to be unique in the whole conversation.
    pub(super) fn finish(self, turn: usize, ear: Box<dyn Ear>) -> Option<Reply> {
        let stop = self.stop?;
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls.into_iter().enumerate() {
            let taken = call.id.is_empty() || calls.iter().any(|other| other.id == call.id);
            let id = if taken { format!("{OWN_ID}{turn}_{at}") } else { call.id };
            let name = plain_name(&call.name);
            calls.push(ToolCall { id, name, arguments: Arguments::parse(call.arguments) });
        }
        let stop = if stop == Stop::Done && !calls.is_empty() { Stop::Calls } else { stop };
        let opaque = ear.opaque(&calls);
        Some(Reply { turn: Turn { text: self.text, calls, opaque }, usage: self.usage, stop })
    }
}

/// The text there, or none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The number there, if there is one: later events of a stream leave out what earlier ones told.
pub(super) fn set(target: &mut u64, value: &Value) {
    if let Some(number) = value.as_u64() {
        *target = number;
    }
}
