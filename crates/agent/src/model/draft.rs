//! Collects a reply from the events of a stream, in any wire format.

use serde_json::Value;

use super::{Arguments, Reply, StopReason, ToolCall, Turn, Usage, sanitize_name};

/// The prefix of ids for calls to which the provider gave none, or one twice.
pub(super) const GENERATED_ID: &str = "docwright_";

#[derive(Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) calls: Vec<DraftCall>,
    pub(super) usage: Usage,
    pub(super) stop: Option<StopReason>,
}

#[derive(Default)]
pub(super) struct DraftCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Whether the stream has more events.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    Open,
    Done,
}

/// Decodes the events of one response in one wire format.
pub(super) trait StreamDecoder: Send {
    fn decode(&mut self, event: &Value, draft: &mut Draft) -> StreamState;
    /// What the provider needs back verbatim. `None` if text and calls are enough.
    fn opaque(self: Box<Self>, _calls: &[ToolCall]) -> Option<Value> {
        None
    }
}

impl Draft {
    /// The size of the reply in bytes.
    pub(super) fn size(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len());
        self.text.len() + calls.sum::<usize>()
    }

    pub(super) fn push_text(&mut self, text: &Value) {
        self.text.push_str(as_text(text));
    }

    /// `None` if the stream ended before the model did. `turn` is the number of messages so far: it makes generated ids
    /// unique in the conversation.
    pub(super) fn finish(self, turn: usize, decoder: Box<dyn StreamDecoder>) -> Option<Reply> {
        let stop = self.stop?;
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        let count = self.calls.len();
        for (at, call) in self.calls.into_iter().enumerate() {
            let needs_id = call.id.is_empty() || calls.iter().any(|other| other.id == call.id);
            let id = if needs_id { format!("{GENERATED_ID}{turn}_{at}") } else { call.id };
            let name = sanitize_name(&call.name);
            let is_complete = stop != StopReason::TooLong || at + 1 < count;
            calls.push(ToolCall { id, name, arguments: Arguments::parse(call.arguments, is_complete) });
        }
        let stop = if stop == StopReason::Done && !calls.is_empty() { StopReason::Calls } else { stop };
        let opaque = decoder.opaque(&calls);
        Some(Reply { turn: Turn { text: self.text, calls, opaque }, usage: self.usage, stop })
    }
}

/// The value's text, or an empty one.
pub(super) fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Sets `target` if the value is a number: later events of a stream omit numbers of earlier ones.
pub(super) fn set_if_number(target: &mut u64, value: &Value) {
    if let Some(number) = value.as_u64() {
        *target = number;
    }
}
