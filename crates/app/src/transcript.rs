//! A job's transcript: its events and what was said to its model and by it, a line of JSON each.

use std::collections::VecDeque;
use std::io;

use agent::model::{Arguments, Message, ToolCall, ToolResult, Turn};
use axum::body::Body;
use futures_util::stream;
use serde_json::Value;
use store::{Actor, ConversationEntry, Event, JobId, NewAuditEntry, Project, ProjectId, StoreError};
use wire::{JobCall, JobMessage, JobResult, JobUsage, TranscriptLine};

use crate::app::App;
use crate::bodies::Taken;
use crate::time::rfc3339;
use crate::watch::job_event;

/// The lines as they are read; `None` when there is no such job. One entry at a time is in memory, however slowly it is
/// read, and may be as long as [`store::MAX_ENTRY_BYTES`]: the caller has the room for that.
pub async fn lines(app: App, room: Taken, project: ProjectId, id: JobId) -> Result<Option<Body>, StoreError> {
    let Some(events) = app.jobs.events(&project, &id, 0).await? else { return Ok(None) };
    let last = events.last().map_or(0, |event| event.number);
    let told = Told { _room: room, app, project, id, events: events.into(), said: None, number: 0, last };
    let lines = stream::unfold(told, |mut told| async move {
        let line = told.next().await.transpose()?;
        Some((line.map_err(io::Error::other), told))
    });
    Ok(Some(Body::from_stream(lines)))
}

/// Says in the audit log who downloads it: once an hour for each reader and job, so that a key that only reads
/// cannot fill the log. On a disk that takes no writes the server's log says it instead: reads go on.
pub async fn note_download(
    app: &App,
    actor: &Actor,
    project: &Project,
    id: &JobId,
) -> Result<(), StoreError> {
    if !app.tries.is_first_report(&format!("transcript {id} {actor}")) {
        return Ok(());
    }
    let deed = NewAuditEntry {
        organization: project.organization.clone(),
        who: actor.to_string(),
        what: "downloaded the transcript of the job".into(),
        about: format!("{} {id}", project.name),
    };
    match app.people.record_audit(&deed).await {
        Err(StoreError::Machine(trouble)) => {
            let NewAuditEntry { who, what, about, .. } = deed;
            tracing::warn!("the audit log cannot be written ({trouble}); it would say: {who} {what} {about}");
            Ok(())
        }
        noted => noted,
    }
}

/// How far the transcript is told.
struct Told {
    _room: Taken,
    app: App,
    project: ProjectId,
    id: JobId,
    events: VecDeque<Event>,
    /// The next entry of the conversation, and the number of the last one that was looked at.
    said: Option<ConversationEntry>,
    number: u32,
    /// The last event there is; what was said after later ones is not told, like those.
    last: u64,
}

impl Told {
    async fn next(&mut self) -> Result<Option<String>, StoreError> {
        if self.said.is_none() {
            let next = self.app.jobs.entry_after(&self.project, &self.id, self.number).await?;
            self.number = next.as_ref().map_or(self.number, |said| said.number);
            self.said = next.filter(|said| said.after <= self.last);
        }
        let entry_after = self.said.as_ref().map_or(u64::MAX, |said| said.after);
        let line = match self.events.pop_front_if(|event| event.number <= entry_after) {
            Some(event) => Some(TranscriptLine::Event(job_event(event))),
            None => self.said.take().map(|said| TranscriptLine::Message(message(said))),
        };
        Ok(line.map(|line| self.written(&line)))
    }

    /// What a model says is kept without keys; a person may have put one into a prompt.
    fn written(&self, line: &TranscriptLine) -> String {
        let line = serde_json::to_string(line).unwrap_or_default() + "\n";
        self.app.models.without_keys(&line).unwrap_or(line)
    }
}

fn message(ConversationEntry { run, number, entry, tokens, at, .. }: ConversationEntry) -> JobMessage {
    let told = JobMessage { number, run, at: at.map(rfc3339), ..JobMessage::default() };
    match serde_json::from_value(entry) {
        Ok(Message::User(content)) => JobMessage { role: "user".into(), content, ..told },
        Ok(Message::Assistant(Turn { text, calls, .. })) => JobMessage {
            role: "assistant".into(),
            content: text,
            calls: calls.into_iter().map(call).collect(),
            usage: Some(JobUsage {
                input_tokens: tokens.input,
                output_tokens: tokens.output,
                cached_tokens: tokens.cached,
            }),
            ..told
        },
        Ok(Message::Results(results)) => {
            JobMessage { role: "tool".into(), results: results.into_iter().map(result).collect(), ..told }
        }
        Err(_) => JobMessage { role: "unknown".into(), ..told },
    }
}

fn call(ToolCall { id, name, arguments }: ToolCall) -> JobCall {
    let arguments = match arguments {
        Arguments::Json(object) => object,
        Arguments::Broken(text) => Value::String(text),
    };
    JobCall { id, name, arguments }
}

fn result(ToolResult { id, name, content, failed }: ToolResult) -> JobResult {
    JobResult { id, name, content, failed }
}
