//! A model behind a narrow door: a conversation goes in, text and tool calls come out.
//!
//! Four wire formats are spoken, each in a file of its own; [`client`] does for all of them what has
//! nothing to do with the format: where a request may go, how long an answer may take and how much it
//! may hold, and what a failure means to a person. Nothing is tried twice here: that is the caller's
//! to decide, by the kind of [`ModelError`].

mod anthropic;
mod chat;
mod client;
mod draft;
mod events;
mod gemini;
mod probe;
mod refusal;
mod responses;
mod settings;
#[cfg(test)]
mod strange_tests;

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machine::Trouble;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use net::Secret;
pub use probe::{Probe, probe};
pub use settings::{Limits, Prices, Provider, Settings};

/// Is told of text as it streams.
pub type Heard<'a> = dyn FnMut(&str) + Send + 'a;

#[async_trait]
pub trait Model: Send + Sync {
    /// One turn. `heard` is told of text as it comes, so that a watcher sees life.
    async fn reply(&self, call: &Call<'_>, heard: &mut Heard<'_>) -> Result<Reply, ModelError>;
}

/// Checks the settings and makes a client of them; nothing is sent yet. The error is a sentence.
pub fn open(settings: &Settings) -> Result<Arc<dyn Model>, String> {
    Ok(Arc::new(client::Client::new(settings)?))
}

/// Everything that a model is told for one turn.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub system: &'a str,
    pub messages: &'a [Message],
    pub tools: &'a [Tool],
    /// Tokens that the answer may have, thinking included.
    pub max_output: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    User(String),
    Assistant(Turn),
    /// One for each call of the turn before, in the same order.
    Results(Vec<ToolResult>),
}

/// What the model said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// What the provider wants back verbatim, such as signed thinking, under the name of its wire
    /// format: another format does not look at it.
    pub opaque: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Arguments {
    /// Always an object.
    Json(Value),
    /// The model sent something else, which is kept to tell it so.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub id: String,
    pub name: String,
    pub content: String,
    pub failed: bool,
}

#[derive(Debug, Clone)]
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    /// A JSON schema of an object.
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub turn: Turn,
    pub usage: Usage,
    pub stop: Stop,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Done,
    Calls,
    /// It reached `max_output`; the last call, if there is one, may be half a call.
    TooLong,
    /// The model or a filter of its provider will not answer.
    Refused,
}

/// Tokens. `input` is all of what was sent, `cached` the part of it that the provider still knew.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

impl AddAssign for Usage {
    /// Numbers are a provider's word, and may be any.
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached = self.cached.saturating_add(more.cached);
    }
}

/// Why there is no reply: a sentence for a person, without the key, and what can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Wrong key, no such model, not an API, a bad request: the same again will not help.
    #[error("{0}")]
    Final(String),
    /// Too many requests, trouble at the provider's, a cut or silent stream, no connection.
    #[error("{sentence}")]
    Again { sentence: String, after: Option<Duration> },
    /// The conversation is more than the model can read.
    #[error("{0}")]
    TooLong(String),
    /// This machine is in trouble, as by too many open files; the model was not asked, or its answer not heard.
    #[error("{0}")]
    Machine(#[source] Trouble),
}

impl ModelError {
    fn again(sentence: String) -> Self {
        Self::Again { sentence, after: None }
    }
}

/// How much of a call that is no JSON is shown to the model again.
const BROKEN_CHARS: usize = 500;

impl Arguments {
    /// No arguments at all are an empty object: many models send nothing then.
    fn parse(text: String) -> Self {
        match serde_json::from_str(&text) {
            Ok(object @ Value::Object(_)) => Self::Json(object),
            Ok(Value::Null) => Self::Json(json!({})),
            _ if text.trim().is_empty() => Self::Json(json!({})),
            _ => Self::Broken(text),
        }
    }

    /// As it can be sent back: providers take objects alone.
    fn sendable(&self) -> Value {
        match self {
            Self::Json(object) => object.clone(),
            Self::Broken(text) => json!({ "not_json": text.chars().take(BROKEN_CHARS).collect::<String>() }),
        }
    }
}

impl Turn {
    /// What was kept for this wire format.
    fn opaque_of(&self, format: &str) -> Option<&Value> {
        self.opaque.as_ref()?.get(format)
    }

    /// What is sent back: what the provider wants verbatim, or else the text, if there is any, and the calls.
    fn parts(&self, format: &str, text: fn(&str) -> Value, call: fn(&ToolCall) -> Value) -> Vec<Value> {
        if let Some(parts) = self.opaque_of(format).and_then(Value::as_array) {
            return parts.clone();
        }
        let said = (self.calls.is_empty() || !self.text.trim().is_empty()).then(|| text(&self.text));
        said.into_iter().chain(self.calls.iter().map(call)).collect()
    }
}

/// The parts of each message under the name of its role. Roles take turns, so what the user says after results stands
/// in the same message.
fn by_role<'a>(
    messages: &'a [Message],
    parts: impl Fn(&'a Message) -> (&'static str, Vec<Value>),
) -> Vec<(&'static str, Vec<Value>)> {
    let mut sent: Vec<(&str, Vec<Value>)> = Vec::new();
    for (role, parts) in messages.iter().map(parts) {
        match sent.last_mut() {
            Some((last, before)) if *last == role => before.extend(parts),
            _ => sent.push((role, parts)),
        }
    }
    sent
}

/// A name or id with the letters alone that every provider takes.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let name: String = name.chars().take(64).map(plain).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Providers refuse empty text; a reader of the conversation is better told, too.
fn or_nothing(text: &str) -> &str {
    if text.trim().is_empty() { "(nothing)" } else { text }
}
