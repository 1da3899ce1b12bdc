//! Sends batches of one file, each until the server has it.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use sha2::{Digest, Sha256};
use traffic::Progress;
use wire::{ImportProgress, IngestResult};

use super::batch::Batch;
use super::lines::hex;
use super::progress;
use crate::client::{Client, refusal};

/// How long a server may be busy or away.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Sending<'a> {
    client: &'a Client,
    /// The project, as one segment of a path.
    project: String,
    /// By which the server knows the file; empty until somebody asked.
    file: String,
}

impl<'a> Sending<'a> {
    pub(super) fn new(client: &'a Client, project: String) -> Self {
        Self { client, project, file: String::new() }
    }

    /// How far a file that begins like this was read. Asked again, it is about the next one of
    /// those that begin alike: each has a name that is made of the one before it.
    pub(super) async fn progress_of(&mut self, fingerprint: &str) -> anyhow::Result<Progress> {
        self.file = match self.file.as_str() {
            "" => fingerprint.to_owned(),
            before => hex(Sha256::new_with_prefix(before)),
        };
        self.progress().await
    }

    async fn progress(&self) -> anyhow::Result<Progress> {
        let path = format!("/v1/analytics/{}/imports/{}", self.project, self.file);
        Ok(progress(self.client.get::<ImportProgress>(&path, &[]).await?))
    }

    pub(super) async fn deliver(&mut self, batch: &Batch) -> anyhow::Result<IngestResult> {
        let (since, mut again) = (Instant::now(), false);
        loop {
            let refused = match self.send(batch).await {
                Ok(taken) => return Ok(taken),
                Err(refused) => refused,
            };
            if refusal::is_conflict(&refused) {
                // Its answer may have been lost on the way: then the server has it, and says so.
                let known = if again { Some(self.progress().await?) } else { None };
                return match known == batch.to {
                    true => Ok(all_of(batch)),
                    false => Err(anyhow!("somebody else imports this file at the same time")),
                };
            }
            if !refusal::may_pass(&refused, true) || since.elapsed() > PATIENCE {
                return Err(refused);
            }
            tokio::time::sleep(refusal::wait(&refused)).await;
            again = true;
        }
    }

    async fn send(&self, batch: &Batch) -> anyhow::Result<IngestResult> {
        let request = self.client.request(Method::POST, &format!("/v1/analytics/{}/events", self.project));
        let request = request.header(CONTENT_TYPE, "application/x-ndjson").body(batch.body.clone());
        let Some(to) = &batch.to else { return self.client.ask(request).await };
        let (from, end) = (batch.from.to_string(), to.bytes.to_string());
        let part = [("file", &self.file), ("from", &from), ("to", &end), ("hash", &to.hash)];
        self.client.ask(request.query(&part)).await
    }
}

/// How many of them were refused, nobody knows any more.
fn all_of(batch: &Batch) -> IngestResult {
    IngestResult { accepted: batch.numbers.len() as u64, duplicates: 0, rejected: Vec::new() }
}
