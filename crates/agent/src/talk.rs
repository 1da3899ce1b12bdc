//! The conversation with the model: what was said, and what is left out when it grows too long.

use crate::model::{Arguments, Message, ToolResult, Turn};

/// Results that are never left out, counted from the end: the model is working with them.
const FRESH: usize = 6;
/// A result that is shorter than this is not worth leaving out.
const SHORT: usize = 400;
const LEFT_OUT: &str = "[left out, to save room: ask again if you need it]";

#[derive(Default)]
pub(crate) struct Talk {
    pub(crate) messages: Vec<Message>,
    bytes: usize,
}

impl Talk {
    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += size(&message);
        self.messages.push(message);
    }

    /// Cuts old results down until less than `most` bytes are left, oldest first. The task, what the
    /// model said and planned, and every call with its place stay: a model that forgets what it did
    /// does it again. Answers whether it helped.
    pub(crate) fn shorten(&mut self, most: usize) -> bool {
        let before = self.bytes;
        let old = self.messages.len().saturating_sub(FRESH);
        for message in &mut self.messages[..old] {
            if self.bytes < most {
                break;
            }
            let Message::Results(results) = message else { continue };
            for result in results.iter_mut().filter(|result| result.content.len() > SHORT) {
                self.bytes = self.bytes - result.content.len() + LEFT_OUT.len();
                result.content = LEFT_OUT.to_owned();
            }
        }
        self.bytes < before
    }

    /// Whether the model has ever used a tool.
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
