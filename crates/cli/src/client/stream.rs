//! Follows the event stream of a job (`text/event-stream`), and resumes after the last event when the connection breaks.

use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::header::ACCEPT;
use reqwest::{Method, Response};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use wire::{AgentJob, JobEvent};

use super::{Client, errors, job};
use crate::args::JobArgs;

/// The server sends an event or a keep-alive four times as often.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to try to reconnect: a server can restart.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// A stream lasts as long as its job, but a connection must end at some time.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(24 * 60 * 60);
const RECONNECT_DELAY: Duration = Duration::from_millis(500);
/// Far more than an event can have.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// What happens while a job is watched.
pub(super) enum Update {
    Event(JobEvent),
    /// The connection broke; the client tries to reconnect.
    Disconnected,
}

struct Position {
    last_event: u64,
    /// When the server last sent something.
    last_contact: Option<Instant>,
}

/// Sends the events after number `last_event` to `updates` until the job ends, and returns the ended job.
pub(super) async fn follow(
    client: &Client,
    job: &JobArgs,
    last_event: u64,
    updates: Sender<Update>,
) -> anyhow::Result<AgentJob> {
    let started = Instant::now();
    let mut position = Position { last_event, last_contact: None };
    let mut is_disconnected = false;
    loop {
        // A stream ends when the job ends, and also when the server stops.
        let result = match read_stream(client, job, &mut position, &updates).await {
            Ok(()) => job::fetch(client, job).await,
            Err(error) => Err(error),
        };
        let in_time = position.last_contact.unwrap_or(started).elapsed() < RECONNECT_TIMEOUT;
        let was_disconnected = std::mem::replace(&mut is_disconnected, result.is_err());
        match result {
            Ok(job) if job.status != "active" => return Ok(job),
            Err(error) if !in_time || !errors::is_transient(&error, position.last_contact.is_some()) => {
                return Err(error);
            }
            Err(_) if !was_disconnected => drop(updates.send(Update::Disconnected).await),
            _ => {}
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Reads one connection until it ends. A broken connection is not an error: the caller then asks for the job's status.
async fn read_stream(
    client: &Client,
    job: &JobArgs,
    position: &mut Position,
    updates: &Sender<Update>,
) -> anyhow::Result<()> {
    let request = client
        .request(Method::GET, &job::path(job, "/events"))
        .timeout(MAX_CONNECTION_TIME)
        .header(ACCEPT, "text/event-stream")
        .header("last-event-id", position.last_event);
    let mut response = client.send(request).await?;
    let mut buffer = Vec::new();
    position.last_contact = Some(Instant::now());
    while let Some(bytes) = next_chunk(&mut response).await {
        position.last_contact = Some(Instant::now());
        buffer.extend_from_slice(&bytes);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            if let Some(event) = parse_event(&line)? {
                position.last_event = event.number;
                let _ = updates.send(Update::Event(event)).await;
            }
        }
        ensure!(buffer.len() <= MAX_LINE_BYTES, "{}", errors::NOT_DOCWRIGHT);
    }
    Ok(())
}

async fn next_chunk(response: &mut Response) -> Option<Vec<u8>> {
    let chunk = timeout(IDLE_TIMEOUT, response.chunk()).await.ok()?.ok()??;
    Some(chunk.to_vec())
}

/// An event is one line of JSON after `data:`. Lines with ids and comments have no other information.
fn parse_event(line: &[u8]) -> anyhow::Result<Option<JobEvent>> {
    let Some(data) = line.strip_prefix(b"data:") else { return Ok(None) };
    let event = serde_json::from_slice(data);
    event.map(Some).context(errors::NOT_DOCWRIGHT)
}
