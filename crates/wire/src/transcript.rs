//! A job's transcript: one of these a line, in the order in which they were written down.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JobEvent;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TranscriptLine {
    Event(JobEvent),
    Message(JobMessage),
}

/// What was said to a model, or by it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobMessage {
    /// From 1, over all runs of the job.
    pub number: u32,
    pub run: u32,
    /// Null when it is not known any more.
    pub at: Option<String>,
    /// `user`, `assistant`, or `tool` for what came of the calls before.
    pub role: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<JobCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<JobResult>,
    /// What the answer took; of the assistant's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<JobUsage>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobCall {
    pub id: String,
    pub name: String,
    /// An object, or the text that should have been one.
    pub arguments: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobResult {
    /// Of the call.
    pub id: String,
    pub name: String,
    pub content: String,
    pub failed: bool,
}

/// In tokens.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
}
