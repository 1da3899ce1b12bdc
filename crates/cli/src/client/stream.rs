//! A job's events as the server sends them, `text/event-stream`; taken up again after the last one
//! that came when the connection was cut.

use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::header::ACCEPT;
use reqwest::{Method, Response};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};
use wire::{AgentJob, JobEvent};

use super::{Client, job, refusal};
use crate::args::OneJob;

/// The server says something, if only that it is there, four times as often.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a server that was there may be away: a restart is no reason to give up.
const AWAY: Duration = Duration::from_secs(60);
/// A stream may take as long as a job does; a connection need not live for ever, though.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const PAUSE: Duration = Duration::from_millis(500);
/// Far more than an event can have.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// What a watcher is told.
pub(super) enum News {
    Event(JobEvent),
    /// The connection is lost, and sought again.
    Away,
}

/// Where a watcher is: the last event that came, and when the server was last heard.
struct Place {
    last: u64,
    heard: Option<Instant>,
}

/// Sends the events after number `last`, until the job has ended; answers it as it ended.
pub(super) async fn follow(
    client: &Client,
    which: &OneJob,
    last: u64,
    tell: Sender<News>,
) -> anyhow::Result<AgentJob> {
    let began = Instant::now();
    let mut place = Place { last, heard: None };
    let mut away = false;
    loop {
        // A stream ends when the job does, and when its server does.
        let job = match listen(client, which, &mut place, &tell).await {
            Ok(()) => job::show(client, which).await,
            Err(error) => Err(error),
        };
        let in_time = place.heard.unwrap_or(began).elapsed() < AWAY;
        let was_away = std::mem::replace(&mut away, job.is_err());
        match job {
            Ok(job) if job.status != "active" => return Ok(job),
            Err(error) if !in_time || !refusal::may_pass(&error, place.heard.is_some()) => return Err(error),
            Err(_) if !was_away => drop(tell.send(News::Away).await),
            _ => {}
        }
        sleep(PAUSE).await;
    }
}

/// One connection, until it ends. Being cut off is no error: whoever calls asks how the job is.
async fn listen(
    client: &Client,
    which: &OneJob,
    place: &mut Place,
    tell: &Sender<News>,
) -> anyhow::Result<()> {
    let request = client
        .request(Method::GET, &job::path(which, "/events"))
        .timeout(LONGEST)
        .header(ACCEPT, "text/event-stream")
        .header("last-event-id", place.last);
    let mut answer = client.send(request).await?;
    let mut buffer = Vec::new();
    place.heard = Some(Instant::now());
    while let Some(bytes) = next(&mut answer).await {
        place.heard = Some(Instant::now());
        buffer.extend_from_slice(&bytes);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            if let Some(event) = event(&line)? {
                place.last = event.number;
                let _ = tell.send(News::Event(event)).await;
            }
        }
        ensure!(buffer.len() <= MAX_LINE, "the server sends what no job says; is DOCWRIGHT_URL right?");
    }
    Ok(())
}

async fn next(answer: &mut Response) -> Option<Vec<u8>> {
    let chunk = timeout(SILENCE, answer.chunk()).await.ok()?.ok()??;
    Some(chunk.to_vec())
}

/// An event is one line of JSON after `data:`; ids and comments say nothing more.
fn event(line: &[u8]) -> anyhow::Result<Option<JobEvent>> {
    let Some(data) = line.strip_prefix(b"data:") else { return Ok(None) };
    let event = serde_json::from_slice(data);
    event.map(Some).context("the answer is not one of Docwright's; is DOCWRIGHT_URL right?")
}
