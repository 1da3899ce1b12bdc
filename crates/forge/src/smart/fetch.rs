//! One commit with all its files and none of its history, from a host into the cache.

use std::fs;
use std::path::Path;

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;

use super::ask::{self, Answer, Band, Service};
use super::packet::{Packet, Request, text};
use crate::git::{Git, Output, PATIENT};
use crate::shallow::Shallow;
use crate::{Error, HttpRemote, Oid, Result, snapshot};

/// Of what is there already, as much as this is told to the host. The newest are the likeliest to
/// be near what is fetched.
const MAX_HAVES: usize = 16;
/// Ten times the largest tree that is opened.
const MAX_OBJECTS: u32 = 2_000_000;
/// What an answer may have around its pack.
const AROUND: u64 = 64 << 20;

pub(super) async fn bring(dir: &Path, remote: &HttpRemote, tip: &Oid) -> Result<()> {
    let shallow = Shallow::read(dir)?;
    let request = request(tip, &shallow.newest(MAX_HAVES)?);
    let most = remote.max_pack.saturating_add(remote.max_pack / 64).saturating_add(AROUND);
    let mut answer = ask::post(remote, Service::UploadPack, request, most).await?;
    find_pack(&mut answer).await?;
    // First, so that it is never here without its parents and without being on the list, whatever
    // is cut off when. A name on the list that is not here harms nobody.
    shallow.add(tip)?;
    let _leavings = Leavings(dir);
    let pack = Pack { head: Vec::new(), bytes: 0, max: remote.max_pack };
    let git = Git::at(dir, "index-pack").args(["--stdin", "--fix-thin"]).limit(PATIENT);
    let output = git.fed(|stdin| pour(&mut answer, pack, stdin)).await?;
    if output.code != Some(0) {
        return Err(not_kept(&output, answer.host()));
    }
    if !snapshot::has(dir, tip)? {
        return Err(answer.failed(b"the commit that it named was not in what it sent"));
    }
    answer.done().await;
    Ok(())
}

/// Where something is here already, the commits after it are sent, too, when they are fewer than this: a host that
/// cannot see how the two are related goes through both as a whole. Each commit more costs it time as well: of 50,000
/// files, git's own takes 12 ms for the one that is new when 4 are asked for, 30 when 32 are, and 47 when 1 is.
const DEEP: u32 = 4;

/// `thin-pack` is what makes a host leave out the files that are here: without it, it would leave
/// out commits only, and of those there is one.
fn request(tip: &Oid, haves: &[&Oid]) -> Vec<u8> {
    Request::default()
        .line("command=fetch")
        .delim()
        .line("thin-pack")
        .line("ofs-delta")
        .line("no-progress")
        .lines(haves.iter().map(|have| format!("shallow {have}")))
        .line(&format!("deepen {}", if haves.is_empty() { 1 } else { DEEP }))
        .line(&format!("want {tip}"))
        .lines(haves.iter().map(|have| format!("have {have}")))
        .line("done")
        .flush()
}

/// Reads over what comes before. That the tip will be without parents is what was asked for, and no
/// host is needed to say it.
async fn find_pack(answer: &mut Answer) -> Result<()> {
    loop {
        match answer.packet().await? {
            Packet::Data(line) if text(&line) == "packfile" => return Ok(()),
            Packet::Data(_) | Packet::Delim => {}
            _ => return Err(answer.strange()),
        }
    }
}

async fn pour(answer: &mut Answer, mut pack: Pack, mut stdin: ChildStdin) -> Result<()> {
    loop {
        match answer.band().await? {
            Band::Data(bytes) => {
                pack.check(&bytes)?;
                if stdin.write_all(&bytes).await.is_err() {
                    // It ended; its exit code tells why.
                    return Ok(());
                }
            }
            Band::Talk(_) => {}
            Band::End => return Ok(()),
        }
    }
}

/// What is known of a pack while it comes.
struct Pack {
    /// Its first twelve bytes.
    head: Vec<u8>,
    bytes: u64,
    max: u64,
}

impl Pack {
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
    Error::TooLarge(format!("the repository {how}: give one of the docs alone"))
}

/// A pack that refers to what is not there says that the cache lacks what it claims to have. All
/// else is the fault of who sent it, or of a full disk: the cache is as good as it was.
fn not_kept(output: &Output, host: &str) -> Error {
    let failure = output.failure();
    if matches!(failure, Error::Machine(_)) || output.stderr.contains("unresolved delta") {
        return failure;
    }
    if output.stderr.contains("over limit") {
        return too_large("has a file that is too large to be read");
    }
    Error::Later { sentence: format!("what {host} sent could not be kept: {failure}"), after: None }
}

/// Clears away what a pack that was cut off left behind.
struct Leavings<'a>(&'a Path);

impl Drop for Leavings<'_> {
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
    fn packs_are_bounded_however_they_are_cut() {
        #[track_caller]
        fn check(pack: &[u8], max: u64, expected: &str) {
            for size in 1..=pack.len() {
                let mut known = Pack { head: Vec::new(), bytes: 0, max };
                let said = pack.chunks(size).try_for_each(|piece| known.check(piece));
                let said = said.map_or_else(|error| error.to_string(), |()| "fine".to_owned());
                assert!(said.starts_with(expected), "{said}");
            }
        }
        check(b"PACK\0\0\0\x02\0\0\0\x07 and more", 100, "fine");
        check(b"PACK\0\0\0\x02\0\0\0\x07 and more", 13, "the repository is larger than 0 MiB");
        check(b"PACK\0\0\0\x02\xff\xff\xff\xff", 100, "the repository has more than 2000000 files");
        check(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 100, "fine");
    }
}
