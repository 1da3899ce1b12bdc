//! Holds the conversation with the model, and keeps what is sent of it within the model's context.
//!
//! What is dropped depends only on the messages and the limit. So an interrupted run drops the same after its restart,
//! and the requests before and after share a prefix that the provider has in its cache.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::call_reader::TEXT_CALL_ID;
use crate::model::{Arguments, MAX_BROKEN_CHARS, Message, ToolCall, ToolResult, Turn};

/// The last messages keep their results, because the model works with them.
const RECENT_MESSAGES: usize = 6;
/// Dropping a shorter text saves too little.
const MIN_DROPPED_BYTES: usize = 400;
/// A model that sees less of a result works blind.
const MIN_KEPT_BYTES: usize = 300;
const DROPPED: &str = "[dropped to save space: call the tool again if you need this]";
const CUT: &str = "\n[cut to save space: ask for less at once]";

pub(crate) struct Conversation {
    messages: Vec<Message>,
    /// Messages that are sent in a shorter form, or not at all, by their position.
    shortened: BTreeMap<usize, Option<Message>>,
    /// Bytes that are sent.
    bytes: usize,
    max_bytes: usize,
}

impl Conversation {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { messages: Vec::new(), shortened: BTreeMap::new(), bytes: 0, max_bytes }
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.messages.push(message);
        self.fit_message(self.messages.len() - 1);
    }

    /// Applies another limit to the whole conversation.
    pub(crate) fn set_max_bytes(&mut self, max_bytes: usize) {
        (self.max_bytes, self.bytes) = (max_bytes, 0);
        self.shortened.clear();
        (0..self.messages.len()).for_each(|at| self.fit_message(at));
    }

    /// The messages as they are sent.
    pub(crate) fn sent(&self) -> Vec<&Message> {
        (0..self.messages.len()).filter_map(|at| self.sent_at(at)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether the model made a call as the API defines it.
    pub(crate) fn has_native_calls(&self) -> bool {
        let is_native = |call: &ToolCall| !call.id.starts_with(TEXT_CALL_ID);
        let has_native = |message: &Message| matches!(message, Message::Assistant(turn) if turn.calls.iter().any(is_native));
        self.messages.iter().any(has_native)
    }

    /// The size of what is sent.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn sent_at(&self, at: usize) -> Option<&Message> {
        self.shortened.get(&at).map_or(Some(&self.messages[at]), Option::as_ref)
    }

    /// Counts the message, and shortens what is before it if a request can follow and would be too long. It shortens
    /// to half of the limit, so that it's rarely necessary and the provider's cache stays valid in between.
    fn fit_message(&mut self, last: usize) {
        self.bytes += size(&self.messages[last]);
        if self.bytes <= self.max_bytes || matches!(self.messages[last], Message::Assistant(_)) {
            return;
        }
        let old = (last + 1).saturating_sub(RECENT_MESSAGES);
        for (range, shorter) in [
            (0..old, drop_results as fn(&Message) -> Option<Message>),
            (0..old, drop_arguments),
            (old..last, drop_results),
            (old..last, drop_arguments),
        ] {
            if self.bytes > self.max_bytes {
                self.shorten(range, shorter);
            }
        }
        if self.bytes > self.max_bytes {
            self.omit_exchanges(0..old);
        }
        let excess = self.bytes.saturating_sub(self.max_bytes);
        if let (Message::Results(results), 1..) = (&self.messages[last], excess) {
            let kept = size(&self.messages[last]).saturating_sub(excess) / results.len().max(1);
            let kept = kept.max(MIN_KEPT_BYTES);
            self.replace(last, Some(cut_results(results, kept)));
        }
    }

    /// Shortens messages, oldest first, until half of the limit is sent. The task, the model's text and plans, and every
    /// call stay in their order: a model that forgets what it did does it again.
    fn shorten(&mut self, range: std::ops::Range<usize>, shorter: fn(&Message) -> Option<Message>) {
        for at in range {
            if self.bytes <= self.max_bytes / 2 {
                return;
            }
            if let Some(message) = self.sent_at(at).and_then(shorter) {
                self.replace(at, Some(message));
            }
        }
    }

    /// Omits calls together with their results, oldest first. This is the last resort, because the model forgets what it
    /// did.
    fn omit_exchanges(&mut self, range: std::ops::Range<usize>) {
        for at in range {
            let is_next_result = matches!(self.messages.get(at + 1), Some(Message::Results(_)));
            if self.bytes > self.max_bytes / 2 && matches!(self.messages[at], Message::Assistant(_)) {
                self.replace(at, None);
                if is_next_result {
                    self.replace(at + 1, None);
                }
            }
        }
    }

    fn replace(&mut self, at: usize, message: Option<Message>) {
        self.bytes -= self.sent_at(at).map_or(0, size);
        self.bytes += message.as_ref().map_or(0, size);
        self.shortened.insert(at, message);
    }
}

fn drop_results(message: &Message) -> Option<Message> {
    let Message::Results(results) = message else { return None };
    let mut results = results.clone();
    for result in results.iter_mut().filter(|result| result.content.len() > MIN_DROPPED_BYTES) {
        result.content = DROPPED.to_owned();
    }
    Some(Message::Results(results))
}

/// Drops reasoning, and long texts from the arguments of calls, such as that of a page that the model wrote.
fn drop_arguments(message: &Message) -> Option<Message> {
    let Message::Assistant(turn) = message else { return None };
    // A provider that needs its own parts back gets all of them.
    let mut turn = turn.clone();
    if turn.verbatim_parts().is_some() {
        return None;
    }
    turn.opaque = None;
    for call in &mut turn.calls {
        match &mut call.arguments {
            Arguments::Json(Value::Object(fields)) => {
                let is_long =
                    |value: &&mut Value| value.as_str().is_some_and(|text| text.len() > MIN_DROPPED_BYTES);
                fields.values_mut().filter(is_long).for_each(|value| *value = DROPPED.into());
            }
            Arguments::Json(_) | Arguments::Broken(_) => {}
        }
    }
    Some(Message::Assistant(turn))
}

fn cut_results(results: &[ToolResult], max_bytes: usize) -> Message {
    let cut =
        |result: &ToolResult| ToolResult { content: cut_text(&result.content, max_bytes), ..result.clone() };
    Message::Results(results.iter().map(cut).collect())
}

/// Keeps the beginning of a text, and says so.
pub(crate) fn cut_text(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(max_bytes.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..kept])
}

fn size(message: &Message) -> usize {
    match message {
        Message::User(text) => text.len(),
        Message::Assistant(turn) => turn_size(turn),
        Message::Results(results) => results.iter().map(|ToolResult { content, .. }| content.len()).sum(),
    }
}

pub(crate) fn turn_size(turn: &Turn) -> usize {
    if let Some(parts) = turn.verbatim_parts() {
        return parts.to_string().len();
    }
    let calls = turn.calls.iter().map(|call| call.name.len() + argument_size(&call.arguments));
    let reasoning = turn.opaque.as_ref().map_or(0, |opaque| opaque.to_string().len());
    turn.text.len() + reasoning + calls.sum::<usize>()
}

fn argument_size(arguments: &Arguments) -> usize {
    match arguments {
        Arguments::Json(value) => value.to_string().len(),
        Arguments::Broken(text) => text.len().min(MAX_BROKEN_CHARS),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ToolCall;

    fn exchange(n: usize) -> [Message; 2] {
        let id = format!("call_{n}");
        let arguments = Arguments::Json(json!({ "path": "a.md", "text": "written ".repeat(100) }));
        let call = ToolCall { id: id.clone(), name: "write".into(), arguments };
        let content = format!("{n} {}", "shown ".repeat(300));
        [
            Message::Assistant(Turn { text: "I go on.".into(), calls: vec![call], opaque: None }),
            Message::Results(vec![ToolResult { id, name: "write".into(), content, failed: false }]),
        ]
    }

    fn messages(exchanges: usize) -> Vec<Message> {
        let task = Message::User("The task.".into());
        std::iter::once(task).chain((0..exchanges).flat_map(exchange)).collect()
    }

    fn conversation(messages: &[Message], max_bytes: usize) -> Conversation {
        let mut conversation = Conversation::new(max_bytes);
        messages.iter().cloned().for_each(|message| conversation.push(message));
        conversation
    }

    fn sent(conversation: &Conversation) -> Vec<Message> {
        conversation.sent().into_iter().cloned().collect()
    }

    /// Whatever the limit, what is sent fits, begins with the task, and has the results of each call.
    #[test]
    fn what_is_sent_fits_the_limit() {
        let all = messages(20);
        for max_bytes in [3_000, 6_000, 12_000, 30_000, 100_000] {
            let conversation = conversation(&all, max_bytes);
            let sent = sent(&conversation);
            assert_eq!(sent.iter().map(size).sum::<usize>(), conversation.bytes(), "{max_bytes}");
            assert!(conversation.bytes() <= max_bytes, "{max_bytes}: {}", conversation.bytes());
            assert_eq!(sent[0], all[0]);
            for pair in sent[1..].chunks(2) {
                let [Message::Assistant(turn), Message::Results(results)] = pair else { panic!("{pair:?}") };
                assert_eq!(turn.calls[0].id, results[0].id);
            }
            assert_eq!(sent.last().unwrap(), all.last().unwrap(), "{max_bytes}");
        }
    }

    /// A restart, and a limit that is learned later, lead to the same requests.
    #[test]
    fn what_is_dropped_depends_only_on_the_messages_and_the_limit() {
        let all = messages(20);
        for length in 1..=all.len() {
            let mut learned = conversation(&all[..length], 100_000);
            learned.set_max_bytes(9_000);
            let restarted = conversation(&all[..length], 9_000);
            assert_eq!(sent(&learned), sent(&restarted), "{length}");
        }
    }

    /// Between two droppings, a request only adds to the one before.
    #[test]
    fn requests_share_a_prefix() {
        let all = messages(40);
        let mut conversation = Conversation::new(30_000);
        let (mut before, mut rewritten) = (Vec::new(), 0);
        for message in all {
            conversation.push(message);
            let now = sent(&conversation);
            rewritten += usize::from(!now.starts_with(&before));
            before = now;
        }
        assert!(rewritten < 12, "{rewritten} of 81");
    }

    #[test]
    fn one_result_that_is_too_long_is_cut() {
        let result =
            |content: String| ToolResult { id: "1".into(), name: "read".into(), content, failed: false };
        let all = [Message::User("The task.".into()), Message::Results(vec![result("ä".repeat(9_000))])];
        let conversation = conversation(&all, 5_000);
        assert!(conversation.bytes() <= 5_000);
        let Message::Results(sent) = conversation.sent()[1] else { panic!() };
        assert!(sent[0].content.ends_with(CUT));
    }
}
