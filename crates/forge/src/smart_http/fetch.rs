//! Fetches one commit, with or without its files and always without its history, from a host into the cache.

use std::fs;
use std::path::Path;

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;

use super::packet::{Packet, Request, line_text};
use super::transport::{self, Band, PacketResponse, Service};
use crate::fetch_state::FetchState;
use crate::git::{Git, Output, TRANSFER_TIMEOUT};
use crate::shallow::Shallow;
use crate::{Error, HttpRemote, Oid, Result, snapshot};

/// How many cached commits are offered to the host as `have` lines. The newest ones share the most objects.
const MAX_HAVES: usize = 16;
/// Ten times the largest tree that a snapshot opens.
const MAX_OBJECTS: u32 = 2_000_000;
/// The most bytes that a response may have in addition to its packfile.
pub(super) const RESPONSE_OVERHEAD_BYTES: u64 = 64 << 20;

/// What to fetch besides the commit and its folders.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// All files that the cached commits lack. The cache has every file of these commits.
    New,
    /// All files. The cache may lack files of the commits that it has.
    All,
    /// No files.
    None,
}

pub(super) async fn fetch_commit(dir: &Path, remote: &HttpRemote, tip: &Oid, files: Files) -> Result<()> {
    let shallow = Shallow::read(dir)?;
    let haves = if files == Files::All { Vec::new() } else { shallow.newest(MAX_HAVES)? };
    let request = request(tip, &haves, files);
    let max_bytes =
        remote.max_pack.saturating_add(remote.max_pack / 64).saturating_add(RESPONSE_OVERHEAD_BYTES);
    let mut response = transport::post(remote, Service::UploadPack, request, max_bytes).await?;
    skip_to_packfile(&mut response).await?;
    // Write the list first: a cached commit without parents must always be on it, even after an interruption.
    // A listed commit that is missing is harmless.
    shallow.add(tip)?;
    let limits = PackfileLimits::for_commit(remote.max_pack);
    let args: &[&str] = match files {
        Files::None => &["--stdin", "--fix-thin", "--promisor"],
        Files::New | Files::All => &["--stdin", "--fix-thin"],
    };
    let bytes = store_packfile(dir, &mut response, limits, args).await?;
    if !snapshot::has_commit(dir, tip)? {
        return Err(response.remote_error(b"the packfile lacks the requested commit"));
    }
    response.drain().await;
    count(dir, remote, bytes)
}

/// Whether the host sends this commit. The response has no objects, because the request offers the same commit.
pub(super) async fn has_commit(remote: &HttpRemote, commit: &Oid) -> Result<bool> {
    let request = request(commit, &[commit], Files::None);
    let mut response = transport::post(remote, Service::UploadPack, request, RESPONSE_OVERHEAD_BYTES).await?;
    Ok(response.next_packet_or_refusal().await?.is_some())
}

fn count(dir: &Path, remote: &HttpRemote, bytes: u64) -> Result<()> {
    remote.counts.add_bytes(bytes);
    let Some(mut state) = FetchState::read(dir) else { return Ok(()) };
    state.bytes += bytes;
    state.write(dir)
}

/// Lets git check and store the packfile of a response. Returns the size of the packfile.
pub(super) async fn store_packfile(
    dir: &Path,
    response: &mut PacketResponse,
    mut limits: PackfileLimits,
    args: &[&str],
) -> Result<u64> {
    let _temp_packs = RemoveTempPacks(dir);
    let git = Git::at(dir, "index-pack").args(args).timeout(TRANSFER_TIMEOUT);
    let output = git.run_with_stdin(|stdin| copy_packfile(response, &mut limits, stdin)).await?;
    match output.code {
        Some(0) => Ok(limits.bytes),
        _ => Err(index_pack_error(&output, response.host())),
    }
}

/// How many commits of history to request when the cache has some commit. A host that cannot see how two
/// commits are related walks both trees, and every additional commit costs time, too. With 50,000 files and
/// one new commit, git needs 47 ms for a depth of 1, 12 ms for 4 and 30 ms for 32.
const DEEPEN_COMMITS: u32 = 4;

/// With `thin-pack`, the host omits files that the cache has. Without it, the host omits only whole commits.
fn request(tip: &Oid, haves: &[&Oid], files: Files) -> Vec<u8> {
    Request::default()
        .line("command=fetch")
        .delim()
        .line("thin-pack")
        .line("ofs-delta")
        .line("no-progress")
        .lines((files == Files::None).then(|| "filter blob:none".to_owned()))
        .lines(haves.iter().map(|have| format!("shallow {have}")))
        .line(&format!("deepen {}", if haves.is_empty() { 1 } else { DEEPEN_COMMITS }))
        .line(&format!("want {tip}"))
        .lines(haves.iter().map(|have| format!("have {have}")))
        .line("done")
        .flush()
}

/// Skips the sections before the packfile. The shallow section is not needed: the tip has no parents by
/// request.
pub(super) async fn skip_to_packfile(response: &mut PacketResponse) -> Result<()> {
    loop {
        match response.next_packet().await? {
            Packet::Data(line) if line_text(&line) == "packfile" => return Ok(()),
            Packet::Data(_) | Packet::Delim => {}
            _ => return Err(response.protocol_error()),
        }
    }
}

async fn copy_packfile(
    response: &mut PacketResponse,
    limits: &mut PackfileLimits,
    mut stdin: ChildStdin,
) -> Result<()> {
    loop {
        match response.next_band().await? {
            Band::Data(bytes) => {
                limits.check(&bytes)?;
                if stdin.write_all(&bytes).await.is_err() {
                    // git exited; its exit code says why.
                    return Ok(());
                }
            }
            Band::Progress(_) => {}
            Band::End => return Ok(()),
        }
    }
}

/// Checks the size and the object count of a packfile while it arrives.
pub(super) struct PackfileLimits {
    /// The packfile's header: its first twelve bytes.
    head: Vec<u8>,
    bytes: u64,
    max: u64,
    max_objects: u32,
}

impl PackfileLimits {
    pub(super) fn for_commit(max: u64) -> Self {
        Self { head: Vec::new(), bytes: 0, max, max_objects: MAX_OBJECTS }
    }

    /// For requested files: the host must not send other objects.
    pub(super) fn for_files(max: u64, files: usize) -> Self {
        Self { max_objects: u32::try_from(files).unwrap_or(MAX_OBJECTS), ..Self::for_commit(max) }
    }

    fn check(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        let missing = 12 - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(missing)]);
        if self.bytes > self.max {
            let mib = self.max >> 20;
            return Err(too_large(&format!("is larger than {mib} MiB without its history")));
        }
        match self.head[..] {
            [b'P', b'A', b'C', b'K', _, _, _, _, a, b, c, d]
                if u32::from_be_bytes([a, b, c, d]) > self.max_objects =>
            {
                Err(too_large(&format!("has more than {} files and folders", self.max_objects)))
            }
            _ => Ok(()),
        }
    }
}

fn too_large(how: &str) -> Error {
    Error::TooLarge(format!("the repository {how}: use a repository that contains only the docs"))
}

/// What git says when the cache lacks an object that it offered, or when it can't read its own objects. All other
/// failures are the host's fault or machine trouble, and the cache is intact.
const DAMAGED_CACHE: [&str; 4] = ["unresolved delta", "existing object", "objects/pack/", "COLLISION"];

fn index_pack_error(output: &Output, host: &str) -> Error {
    let failure = output.failure();
    if matches!(failure, Error::Machine(_)) || DAMAGED_CACHE.iter().any(|said| output.stderr.contains(said)) {
        return failure;
    }
    if output.stderr.contains("over limit") {
        return too_large("has a file that is too large to be read");
    }
    Error::Temporary {
        sentence: format!("the packfile from {host} could not be stored: {failure}"),
        retry_after: None,
    }
}

/// Removes the temporary files of an interrupted packfile on drop.
struct RemoveTempPacks<'a>(pub(super) &'a Path);

impl Drop for RemoveTempPacks<'_> {
    fn drop(&mut self) {
        let Ok(entries) = fs::read_dir(self.0.join("objects/pack")) else { return };
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp_") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packfile_limits_hold_for_any_chunk_size() {
        #[track_caller]
        fn check(pack: &[u8], max: u64, expected: &str) {
            for size in 1..=pack.len() {
                let mut limits = PackfileLimits::for_commit(max);
                let result = pack.chunks(size).try_for_each(|chunk| limits.check(chunk));
                let result = result.map_or_else(|error| error.to_string(), |()| "fine".to_owned());
                assert!(result.starts_with(expected), "{result}");
            }
        }
        check(b"PACK\0\0\0\x02\0\0\0\x07 and more", 100, "fine");
        check(b"PACK\0\0\0\x02\0\0\0\x07 and more", 13, "the repository is larger than 0 MiB");
        check(b"PACK\0\0\0\x02\xff\xff\xff\xff", 100, "the repository has more than 2000000 files");
        check(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 100, "fine");
    }
}
