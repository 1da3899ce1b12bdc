//! Fetches files by their object ids, in one request.

use std::collections::HashSet;
use std::path::Path;

use gix::ObjectId;

use super::fetch::{PackfileLimits, RESPONSE_OVERHEAD_BYTES, skip_to_packfile, store_packfile};
use super::packet::{Packet, Request};
use super::transport::{self, Service};
use crate::fetch_state::FetchState;
use crate::snapshot::open_repository;
use crate::{Error, HttpRemote, Result, blobs};

/// What became of a request for files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// All files are in the cache.
    Received,
    /// The host does not send at least one of them. It may refuse ids in general, or no longer have the file.
    Refused,
    /// Together, the files are larger than a batch may be.
    TooLarge,
}

/// Fetches the files, which must be different, into the cache at `dir`. The caller must hold the cache's lock.
pub(super) async fn fetch_batch(dir: &Path, remote: &HttpRemote, ids: &[ObjectId]) -> Result<Batch> {
    let max = remote.max_batch;
    let max_bytes = max.saturating_add(RESPONSE_OVERHEAD_BYTES);
    let mut response = transport::post(remote, Service::UploadPack, request(ids), max_bytes).await?;
    match response.next_packet_or_refusal().await? {
        None => return Ok(Batch::Refused),
        Some(Packet::Data(line)) if line == b"packfile\n" => {}
        Some(Packet::Data(_)) => skip_to_packfile(&mut response).await?,
        Some(_) => return Err(response.protocol_error()),
    }
    let limits = PackfileLimits::for_files(max, ids.len());
    let stored = store_packfile(dir, &mut response, limits, &["--stdin", "--promisor"]).await;
    let bytes = match stored {
        Err(Error::TooLarge(_)) => return Ok(Batch::TooLarge),
        stored => stored?,
    };
    if !blobs::missing(&open_repository(dir)?.to_thread_local(), ids.to_vec()).is_empty() {
        return Err(response.remote_error(b"the packfile lacks a requested file"));
    }
    response.drain().await;
    count(dir, remote, bytes, ids.len() as u64)?;
    Ok(Batch::Received)
}

fn request(ids: &[ObjectId]) -> Vec<u8> {
    debug_assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    Request::default()
        .line("command=fetch")
        .delim()
        .line("ofs-delta")
        .line("no-progress")
        .lines(ids.iter().map(|id| format!("want {id}")))
        .line("done")
        .flush()
}

fn count(dir: &Path, remote: &HttpRemote, bytes: u64, files: u64) -> Result<()> {
    remote.counts.add_batch(bytes);
    let Some(mut state) = FetchState::read(dir) else { return Ok(()) };
    state.bytes += bytes;
    state.batches += 1;
    state.files += files;
    state.write(dir)
}
