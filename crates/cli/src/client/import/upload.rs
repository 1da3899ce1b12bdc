//! Uploads the batches of one file, and retries each until the server has it.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use sha2::{Digest, Sha256};
use traffic::Progress;
use wire::{ImportProgress, IngestResult};

use super::batch::Batch;
use super::lines::hex;
use super::to_progress;
use crate::client::{Client, errors};

/// How long a server may be busy or unreachable.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Uploader<'a> {
    client: &'a Client,
    /// The project, as one segment of a path.
    project: String,
    /// The server's identifier of the file; empty before the first request.
    file: String,
}

impl<'a> Uploader<'a> {
    pub(super) fn new(client: &'a Client, project: String) -> Self {
        Self { client, project, file: String::new() }
    }

    /// How far the server has read a file with this fingerprint. Several files can begin with the same lines: each
    /// call is about the next one, whose identifier is the hash of the previous identifier.
    pub(super) async fn next_progress(&mut self, fingerprint: &str) -> anyhow::Result<Progress> {
        self.file = match self.file.as_str() {
            "" => fingerprint.to_owned(),
            previous => hex(Sha256::new_with_prefix(previous)),
        };
        self.progress().await
    }

    async fn progress(&self) -> anyhow::Result<Progress> {
        let path = format!("/v1/analytics/{}/imports/{}", self.project, self.file);
        Ok(to_progress(self.client.get::<ImportProgress>(&path, &[]).await?))
    }

    pub(super) async fn upload(&mut self, batch: &Batch) -> anyhow::Result<IngestResult> {
        let (started, mut is_retry) = (Instant::now(), false);
        loop {
            let error = match self.send(batch).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            if errors::is_conflict(&error) {
                // The response to an earlier try may have been lost. Then the server has the batch.
                let known = if is_retry { Some(self.progress().await?) } else { None };
                return match known == batch.to {
                    true => Ok(assume_accepted(batch)),
                    false => Err(anyhow!(
                        "another import of this file runs at the same time: wait until it ends, then run this one again"
                    )),
                };
            }
            if !errors::is_transient(&error, true) || started.elapsed() > RETRY_TIMEOUT {
                return Err(error);
            }
            tokio::time::sleep(errors::retry_delay(&error)).await;
            is_retry = true;
        }
    }

    async fn send(&self, batch: &Batch) -> anyhow::Result<IngestResult> {
        let request = self.client.request(Method::POST, &format!("/v1/analytics/{}/events", self.project));
        let request = request.header(CONTENT_TYPE, "application/x-ndjson").body(batch.body.clone());
        let Some(to) = &batch.to else { return self.client.send_for_json(request).await };
        let (from, end) = (batch.from.to_string(), to.bytes.to_string());
        let range = [("file", &self.file), ("from", &from), ("to", &end), ("hash", &to.hash)];
        self.client.send_for_json(request.query(&range)).await
    }
}

/// The response that was lost is the only one that says how many events were rejected.
fn assume_accepted(batch: &Batch) -> IngestResult {
    IngestResult { accepted: batch.numbers.len() as u64, duplicates: 0, rejected: Vec::new() }
}
