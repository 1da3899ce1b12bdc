//! Holds the conversation with the model, and drops old tool results when it grows too long.

use crate::model::{Arguments, Message, ToolResult, Turn};

/// The last messages keep their results, because the model works with them.
const RECENT_MESSAGES: usize = 6;
/// Dropping a shorter result saves too little.
const MIN_DROPPED_BYTES: usize = 400;
const DROPPED: &str = "[dropped to save space: call the tool again if you need this]";

#[derive(Default)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Message>,
    bytes: usize,
}

impl Conversation {
    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += size(&message);
        self.messages.push(message);
    }

    /// Drops old results, oldest first, until less than `max_bytes` are left. The task, the model's text and plans,
    /// and every call stay in their order: a model that forgets what it did does it again. Returns whether anything
    /// was dropped.
    pub(crate) fn shorten(&mut self, max_bytes: usize) -> bool {
        let before = self.bytes;
        let old = self.messages.len().saturating_sub(RECENT_MESSAGES);
        for message in &mut self.messages[..old] {
            if self.bytes < max_bytes {
                break;
            }
            let Message::Results(results) = message else { continue };
            for result in results.iter_mut().filter(|result| result.content.len() > MIN_DROPPED_BYTES) {
                self.bytes = self.bytes - result.content.len() + DROPPED.len();
                result.content = DROPPED.to_owned();
            }
        }
        self.bytes < before
    }

    /// Whether the model has ever called a tool.
    pub(crate) fn has_calls(&self) -> bool {
        let calls = |message: &Message| matches!(message, Message::Assistant(turn) if !turn.calls.is_empty());
        self.messages.iter().any(calls)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::User(text) => text.len(),
        Message::Assistant(turn) => turn_size(turn),
        Message::Results(results) => results.iter().map(|ToolResult { content, .. }| content.len()).sum(),
    }
}

pub(crate) fn turn_size(turn: &Turn) -> usize {
    let calls = turn.calls.iter().map(|call| call.name.len() + argument_size(&call.arguments));
    turn.text.len() + calls.sum::<usize>()
}

fn argument_size(arguments: &Arguments) -> usize {
    match arguments {
        Arguments::Json(value) => value.to_string().len(),
        Arguments::Broken(text) => text.len(),
    }
}
