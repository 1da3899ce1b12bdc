//! Streams a job's transcript: its events and the conversation with its model, one line of JSON each.

use std::collections::VecDeque;
use std::io;

use agent::model::{self, Arguments, Message, Turn};
use axum::body::Body;
use futures_util::stream;
use serde_json::Value;
use store::{Actor, ConversationEntry, Event, JobId, NewAuditEntry, Project, ProjectId, StoreError};
use wire::{JobUsage, ModelMessage, ToolCall, ToolResult, TranscriptLine};

use crate::app::App;
use crate::bodies::BytePermit;
use crate::time::rfc3339;
use crate::watch::job_event;

/// Streams the lines as the client reads them. `None` when there is no such job. One entry is in memory at a
/// time, so the permit must be for [`store::MAX_ENTRY_BYTES`].
pub async fn stream_lines(
    app: App,
    permit: BytePermit,
    project: ProjectId,
    id: JobId,
) -> Result<Option<Body>, StoreError> {
    let Some(events) = app.jobs.events(&project, &id, 0).await? else { return Ok(None) };
    let last = events.last().map_or(0, |event| event.number);
    let events = events.into();
    let cursor = Cursor { _permit: permit, app, project, id, events, entry: None, number: 0, last };
    let lines = stream::unfold(cursor, |mut cursor| async move {
        let line = cursor.next().await.transpose()?;
        Some((line.map_err(io::Error::other), cursor))
    });
    Ok(Some(Body::from_stream(lines)))
}

/// Records the download in the audit log, once an hour for each actor and job, so that a key with the scope
/// `read` can't fill the log. If the disk takes no writes, the entry goes to the server's log, so that reads
/// still work.
pub async fn audit_download(
    app: &App,
    actor: &Actor,
    project: &Project,
    id: &JobId,
) -> Result<(), StoreError> {
    if !app.sign_in_limit.is_first_report(&format!("transcript {id} {actor}")) {
        return Ok(());
    }
    let entry = NewAuditEntry {
        organization: project.organization.clone(),
        who: actor.to_string(),
        what: "downloaded the transcript of the job".into(),
        about: format!("{} {id}", project.name),
    };
    match app.people.record_audit(&entry).await {
        Err(StoreError::Machine(trouble)) => {
            let NewAuditEntry { who, what, about, .. } = entry;
            tracing::warn!("cannot write to the audit log ({trouble}): {who} {what} {about}");
            Ok(())
        }
        result => result,
    }
}

/// The position in the transcript.
struct Cursor {
    _permit: BytePermit,
    app: App,
    project: ProjectId,
    id: JobId,
    events: VecDeque<Event>,
    /// The next entry of the conversation, and the number of the last one that was read.
    entry: Option<ConversationEntry>,
    number: u32,
    /// The number of the last event. Later events and the entries after them are left out.
    last: u64,
}

impl Cursor {
    async fn next(&mut self) -> Result<Option<String>, StoreError> {
        if self.entry.is_none() {
            let next = self.app.jobs.entry_after(&self.project, &self.id, self.number).await?;
            self.number = next.as_ref().map_or(self.number, |entry| entry.number);
            self.entry = next.filter(|entry| entry.after <= self.last);
        }
        let entry_after = self.entry.as_ref().map_or(u64::MAX, |entry| entry.after);
        let line = match self.events.pop_front_if(|event| event.number <= entry_after) {
            Some(event) => Some(TranscriptLine::Event(job_event(event))),
            None => self.entry.take().map(|entry| TranscriptLine::Message(model_message(entry))),
        };
        Ok(line.map(|line| self.render(&line)))
    }

    /// Removes API keys again, because a prompt may contain one. Responses are stored without keys.
    fn render(&self, line: &TranscriptLine) -> String {
        let line = serde_json::to_string(line).unwrap_or_default() + "\n";
        self.app.models.without_keys(&line).unwrap_or(line)
    }
}

fn model_message(
    ConversationEntry { run, number, entry, tokens, at, .. }: ConversationEntry,
) -> ModelMessage {
    let message = ModelMessage { number, run, at: at.map(rfc3339), ..ModelMessage::default() };
    match serde_json::from_value(entry) {
        Ok(Message::User(content)) => ModelMessage { role: "user".into(), content, ..message },
        Ok(Message::Assistant(Turn { text, calls, .. })) => ModelMessage {
            role: "assistant".into(),
            content: text,
            calls: calls.into_iter().map(tool_call).collect(),
            usage: Some(JobUsage {
                input_tokens: tokens.input,
                output_tokens: tokens.output,
                cached_tokens: tokens.cached,
            }),
            ..message
        },
        Ok(Message::Results(results)) => ModelMessage {
            role: "tool".into(),
            results: results.into_iter().map(tool_result).collect(),
            ..message
        },
        Err(_) => ModelMessage { role: "unknown".into(), ..message },
    }
}

fn tool_call(model::ToolCall { id, name, arguments }: model::ToolCall) -> ToolCall {
    let arguments = match arguments {
        Arguments::Json(object) => object,
        Arguments::Broken(text) => Value::String(text),
    };
    ToolCall { id, name, arguments }
}

fn tool_result(model::ToolResult { id, name, content, failed }: model::ToolResult) -> ToolResult {
    ToolResult { id, name, content, failed }
}
