//! Fetches one commit, with all its files and without its history, from a host into the cache.

use std::fs;
use std::path::Path;

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;

use super::packet::{Packet, Request, line_text};
use super::transport::{self, Band, PacketResponse, Service};
use crate::git::{Git, Output, TRANSFER_TIMEOUT};
use crate::shallow::Shallow;
use crate::{Error, HttpRemote, Oid, Result, snapshot};

/// How many cached commits are offered to the host as `have` lines. The newest ones share the most objects.
const MAX_HAVES: usize = 16;
/// Ten times the largest tree that a snapshot opens.
const MAX_OBJECTS: u32 = 2_000_000;
/// The most bytes that a response may have in addition to its packfile.
const RESPONSE_OVERHEAD_BYTES: u64 = 64 << 20;

pub(super) async fn fetch_commit(dir: &Path, remote: &HttpRemote, tip: &Oid) -> Result<()> {
    let shallow = Shallow::read(dir)?;
    let request = request(tip, &shallow.newest(MAX_HAVES)?);
    let max_bytes =
        remote.max_pack.saturating_add(remote.max_pack / 64).saturating_add(RESPONSE_OVERHEAD_BYTES);
    let mut response = transport::post(remote, Service::UploadPack, request, max_bytes).await?;
    skip_to_packfile(&mut response).await?;
    // Write the list first: a cached commit without parents must always be on it, even after an interruption.
    // A listed commit that is missing is harmless.
    shallow.add(tip)?;
    let _temp_packs = RemoveTempPacks(dir);
    let pack = PackfileLimits { head: Vec::new(), bytes: 0, max: remote.max_pack };
    let git = Git::at(dir, "index-pack").args(["--stdin", "--fix-thin"]).timeout(TRANSFER_TIMEOUT);
    let output = git.run_with_stdin(|stdin| copy_packfile(&mut response, pack, stdin)).await?;
    if output.code != Some(0) {
        return Err(index_pack_error(&output, response.host()));
    }
    if !snapshot::has_commit(dir, tip)? {
        return Err(response.remote_error(b"the packfile lacks the requested commit"));
    }
    response.drain().await;
    Ok(())
}

/// How many commits of history to request when the cache has some commit. A host that cannot see how two
/// commits are related walks both trees, and every additional commit costs time, too. With 50,000 files and
/// one new commit, git needs 47 ms for a depth of 1, 12 ms for 4 and 30 ms for 32.
const DEEPEN_COMMITS: u32 = 4;

/// With `thin-pack`, the host omits files that the cache has. Without it, the host omits only whole commits.
fn request(tip: &Oid, haves: &[&Oid]) -> Vec<u8> {
    Request::default()
        .line("command=fetch")
        .delim()
        .line("thin-pack")
        .line("ofs-delta")
        .line("no-progress")
        .lines(haves.iter().map(|have| format!("shallow {have}")))
        .line(&format!("deepen {}", if haves.is_empty() { 1 } else { DEEPEN_COMMITS }))
        .line(&format!("want {tip}"))
        .lines(haves.iter().map(|have| format!("have {have}")))
        .line("done")
        .flush()
}

/// Skips the sections before the packfile. The shallow section is not needed: the tip has no parents by
/// request.
async fn skip_to_packfile(response: &mut PacketResponse) -> Result<()> {
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
    mut pack: PackfileLimits,
    mut stdin: ChildStdin,
) -> Result<()> {
    loop {
        match response.next_band().await? {
            Band::Data(bytes) => {
                pack.check(&bytes)?;
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
struct PackfileLimits {
    /// The packfile's header: its first twelve bytes.
    head: Vec<u8>,
    bytes: u64,
    max: u64,
}

impl PackfileLimits {
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
                if u32::from_be_bytes([a, b, c, d]) > MAX_OBJECTS =>
            {
                Err(too_large(&format!("has more than {MAX_OBJECTS} files and folders")))
            }
            _ => Ok(()),
        }
    }
}

fn too_large(how: &str) -> Error {
    Error::TooLarge(format!("the repository {how}: use a repository that contains only the docs"))
}

/// An unresolved delta means that the cache lacks an object that it offered. All other failures are the
/// host's fault or machine trouble, and the cache is intact.
fn index_pack_error(output: &Output, host: &str) -> Error {
    let failure = output.failure();
    if matches!(failure, Error::Machine(_)) || output.stderr.contains("unresolved delta") {
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
struct RemoveTempPacks<'a>(&'a Path);

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
                let mut limits = PackfileLimits { head: Vec::new(), bytes: 0, max };
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
