//! JSON types of a job's transcript: one line per event or message, in order.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JobEvent;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TranscriptLine {
    Event(JobEvent),
    Message(ModelMessage),
}

/// A message to or from a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelMessage {
    /// Counts from 1 over all runs of the job.
    pub number: u32,
    pub run: u32,
    /// Null when it is no longer known.
    pub at: Option<String>,
    /// `user`, `assistant`, or `tool` for the results of the preceding calls.
    pub role: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolResult>,
    /// Token usage. Only in messages of the assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<JobUsage>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// An object, or the text if it is not valid JSON.
    pub arguments: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolResult {
    /// The ID of the call.
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
