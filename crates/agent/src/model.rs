//! Calls a model: takes a conversation, and returns text and tool calls.
//!
//! Four wire formats are supported, each in its own file. [`client`] does what is independent of the format: it
//! restricts addresses, limits the time and the size of a response, and turns failures into sentences. It never
//! retries: the caller decides that, by the kind of [`ModelError`].

mod anthropic;
mod chat;
mod client;
mod described_limits;
mod draft;
#[cfg(test)]
mod fuzz_tests;
mod gemini;
mod provider_error;
mod responses;
mod settings;
mod size;
mod sse;
mod wire_format;

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machine::Trouble;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call_reader::parse_object;

pub use crate::probe::{Findings, Probe, probe};
pub use net::Secret;
pub use settings::{Limits, Prices, Profile, Provider, Settings};
pub use size::{SizeRefusal, TokenLimits};

/// Receives text as it streams.
pub type OnText<'a> = dyn FnMut(&str) + Send + 'a;

#[async_trait]
pub trait Model: Send + Sync {
    /// Requests one turn. `on_text` receives the text as it streams.
    async fn reply(&self, request: &ModelRequest<'_>, on_text: &mut OnText<'_>) -> Result<Reply, ModelError>;

    /// The limits of the model, by the settings and what the provider says about it. `None` if the provider has not been
    /// asked yet.
    fn known_limits(&self) -> Option<TokenLimits> {
        Some(TokenLimits::default())
    }

    /// The same, and asks the provider if necessary.
    async fn token_limits(&self) -> TokenLimits {
        self.known_limits().unwrap_or_default()
    }

    /// Remembers a limit that a refusal revealed, so that the next run doesn't have to find it again.
    fn remember_limits(&self, _limits: TokenLimits) {}
}

/// Checks the settings and creates a client. Sends nothing. The error is a sentence.
pub fn open(settings: &Settings) -> Result<Arc<dyn Model>, String> {
    Ok(Arc::new(client::Client::new(settings)?))
}

/// The content of one request to a model. The model's tool calls are in the [`Reply`].
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    pub system: &'a str,
    pub messages: &'a [&'a Message],
    pub tools: &'a [Tool],
    /// Tokens that the response may have, including reasoning.
    pub max_output: u32,
    /// `None` means the provider's default.
    pub temperature: Option<f32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    User(String),
    Assistant(Turn),
    /// One for each call of the previous turn, in the same order.
    Results(Vec<ToolResult>),
}

/// A response of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// What the provider needs back verbatim, such as signed reasoning, under the name of its wire format. Other
    /// formats ignore it.
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
    /// The model sent something else. The text is stored to show it to the model.
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
    pub stop: StopReason,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Done,
    Calls,
    /// The response reached `max_output`. Its last call may be incomplete.
    TooLong,
    /// The model or a filter of its provider refuses to answer.
    Refused,
}

/// Tokens. `input` counts all that was sent, `cached` the part of it that was in the provider's cache.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

impl AddAssign for Usage {
    /// Providers report these numbers, so they can have any value.
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached = self.cached.saturating_add(more.cached);
    }
}

/// Why there is no reply. Contains a sentence for a person, which never contains the API key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A wrong key, an unknown model, not an API, a bad request: a retry doesn't help.
    #[error("{0}")]
    Permanent(String),
    /// Too many requests, a failing provider, a stream that is cut off or silent, no connection: a retry can help.
    #[error("{sentence}")]
    Temporary { sentence: String, retry_after: Option<Duration> },
    /// The request exceeds the model's context window, or asks for a longer response than the model writes.
    #[error("{sentence}")]
    TooLarge { sentence: String, refusal: SizeRefusal },
    /// The model was still writing when the time for one response was over. A retry takes as long, a smaller step
    /// doesn't.
    #[error("{0}")]
    Unfinished(String),
    /// This machine is in trouble, for example by too many open files. The request was not sent, or its response was
    /// lost.
    #[error("{0}")]
    Machine(#[source] Trouble),
}

impl ModelError {
    fn temporary(sentence: String) -> Self {
        Self::Temporary { sentence, retry_after: None }
    }
}

/// How much of invalid arguments the model gets back.
pub(crate) const MAX_BROKEN_CHARS: usize = 500;

impl Arguments {
    /// `is_complete` is false if the response was cut off within the arguments.
    fn parse(text: String, is_complete: bool) -> Self {
        match parse_object(&text, is_complete) {
            Some(object) => Self::Json(object),
            None => Self::Broken(text),
        }
    }

    /// The arguments as an object, because providers accept only objects.
    fn to_object(&self) -> Value {
        match self {
            Self::Json(object) => object.clone(),
            Self::Broken(text) => {
                json!({ "not_json": text.chars().take(MAX_BROKEN_CHARS).collect::<String>() })
            }
        }
    }
}

impl Turn {
    /// Forgets the provider's own parts of the turn after calls were added to it. What is only text, such as reasoning,
    /// stays.
    pub(crate) fn forget_parts_without_calls(&mut self) {
        if self.verbatim_parts().is_some() {
            self.opaque = None;
        }
    }

    /// The parts that a provider gets back verbatim instead of the text and the calls.
    pub(crate) fn verbatim_parts(&self) -> Option<&Value> {
        self.opaque.as_ref()?.as_object()?.values().find(|parts| parts.is_array())
    }

    fn opaque_of(&self, format: &str) -> Option<&Value> {
        self.opaque.as_ref()?.get(format)
    }

    /// The turn as parts of a request: the provider's own parts verbatim, or else the text, if there is any, and the
    /// calls.
    fn parts(&self, format: &str, text: fn(&str) -> Value, call: fn(&ToolCall) -> Value) -> Vec<Value> {
        if let Some(parts) = self.opaque_of(format).and_then(Value::as_array) {
            return parts.clone();
        }
        let text_part = (self.calls.is_empty() || !self.text.trim().is_empty()).then(|| text(&self.text));
        text_part.into_iter().chain(self.calls.iter().map(call)).collect()
    }
}

/// Merges successive messages of the same role, because providers expect roles to alternate. For example, text of the
/// user after tool results goes into the same message.
fn merge_by_role<'a>(
    messages: &'a [&'a Message],
    parts: impl Fn(&'a Message) -> (&'static str, Vec<Value>),
) -> Vec<(&'static str, Vec<Value>)> {
    let mut merged: Vec<(&str, Vec<Value>)> = Vec::new();
    for (role, parts) in messages.iter().copied().map(parts) {
        match merged.last_mut() {
            Some((last, before)) if *last == role => before.extend(parts),
            _ => merged.push((role, parts)),
        }
    }
    merged
}

/// Replaces the characters of a name or id that some provider refuses.
pub(crate) fn sanitize_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let name: String = name.chars().take(64).map(plain).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Replaces empty text, because providers refuse it.
fn non_empty(text: &str) -> &str {
    if text.trim().is_empty() { "(nothing)" } else { text }
}
