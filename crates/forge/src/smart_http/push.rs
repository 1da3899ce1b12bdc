//! Pushes one commit to one branch of a host: sends a ref update with a packfile, and reads the host's
//! report.

use std::path::Path;

use machine::Trouble;
use net::RemoteMessage;
use tokio::io::AsyncWriteExt as _;

use super::packet::{Packet, PacketDecoder, Request, line_text};
use super::refs::{self, RefAdvertisement};
use super::transport::{self, Band, PacketResponse, Service};
use crate::git::{Git, TRANSFER_TIMEOUT};
use crate::shallow::Shallow;
use crate::{Error, HttpRemote, Oid, Result};

/// The packfile is held in memory.
const MAX_PACKFILE_BYTES: usize = 64 << 20;
const MAX_REPORT_BYTES: u64 = 4 << 20;
/// How much of the host's progress messages is kept.
const MAX_PROGRESS_BYTES: usize = 4 << 10;

const ZERO_OID: &str = "0000000000000000000000000000000000000000";

pub(super) async fn push(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    let advertisement = refs::read_advertisement(remote, branch).await?;
    if advertisement.tip.as_ref() == Some(commit) {
        return Ok(());
    }
    if advertisement.tip.is_some() && advertisement.tip.as_ref() != from {
        return Err(Error::BranchMoved { branch: branch.to_owned() });
    }
    send_packfile(dir, remote, commit, branch, &advertisement).await
}

/// Pushes without asking for the refs first, because the branch is probably new. If the host refuses, it asks for
/// them and pushes again. The host checks the lease in both cases.
pub(super) async fn push_assuming_new_branch(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    match send_packfile(dir, remote, commit, branch, &RefAdvertisement::assume_new_branch()).await {
        Err(Error::BranchMoved { .. } | Error::Denied(_) | Error::TokenRefused(_)) => {
            push(dir, remote, commit, branch, from).await
        }
        done => done,
    }
}

async fn send_packfile(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    advertisement: &RefAdvertisement,
) -> Result<()> {
    let mut request = ref_update_command(advertisement, commit.as_str(), branch);
    request.extend(build_packfile(dir, commit, advertisement.tip.as_ref()).await?);
    send(remote, advertisement, branch, request).await
}

pub(super) async fn delete(remote: &HttpRemote, branch: &str, at: &Oid) -> Result<()> {
    let advertisement = refs::read_advertisement(remote, branch).await?;
    match &advertisement.tip {
        None => Ok(()),
        Some(tip) if tip == at => {
            send(remote, &advertisement, branch, ref_update_command(&advertisement, ZERO_OID, branch)).await
        }
        Some(_) => Err(Error::BranchMoved { branch: branch.to_owned() }),
    }
}

async fn send(
    remote: &HttpRemote,
    advertisement: &RefAdvertisement,
    branch: &str,
    request: Vec<u8>,
) -> Result<()> {
    let mut response = transport::post(remote, Service::ReceivePack, request, MAX_REPORT_BYTES).await?;
    let report = PushReport::read(&mut response, advertisement.has_capability("side-band-64k")).await?;
    report.check(&response, branch)?;
    response.drain().await;
    Ok(())
}

/// The ref update command: old id, new id and branch, with the capabilities that the host offers.
fn ref_update_command(advertisement: &RefAdvertisement, to: &str, branch: &str) -> Vec<u8> {
    let from = advertisement.tip.as_ref().map_or(ZERO_OID, Oid::as_str);
    let capabilities =
        ["report-status", "side-band-64k"].into_iter().filter(|what| advertisement.has_capability(what));
    let capabilities: Vec<_> = capabilities.collect();
    Request::default().line(&format!("{from} {to} refs/heads/{branch}\0{}", capabilities.join(" "))).flush()
}

/// Packs the objects of `commit` that the host lacks.
async fn build_packfile(dir: &Path, commit: &Oid, remote_tip: Option<&Oid>) -> Result<Vec<u8>> {
    let base = Shallow::read(dir)?.base_of(commit, remote_tip)?;
    let without = base.map(|base| format!("^{base}\n")).unwrap_or_default();
    let wanted = format!("{commit}\n{without}");
    let git = Git::at(dir, "pack-objects")
        .args(["--revs", "--thin", "--stdout", "--delta-base-offset", "-q"])
        .max_output(MAX_PACKFILE_BYTES)
        .timeout(TRANSFER_TIMEOUT);
    let output = git
        .run_with_stdin(async |mut stdin| {
            // If git exits early, its exit code says why.
            let _ = stdin.write_all(wanted.as_bytes()).await;
            Ok(())
        })
        .await?;
    if output.truncated {
        return Err(Error::TooLarge(format!(
            "the change is larger than {} MiB (compressed): make a smaller change",
            MAX_PACKFILE_BYTES >> 20
        )));
    }
    if output.code == Some(0) { Ok(output.stdout) } else { Err(output.failure()) }
}

/// The host's report on a push.
#[derive(Default)]
struct PushReport {
    /// `unpack ok` or `unpack <error>`, then `ok refs/heads/x` or `ng refs/heads/x <error>`.
    lines: Vec<String>,
    /// Messages for people. Hooks explain a rejection here.
    progress: Vec<u8>,
}

impl PushReport {
    async fn read(response: &mut PacketResponse, has_side_band: bool) -> Result<Self> {
        let mut report = Self::default();
        let mut inner = PacketDecoder::default();
        loop {
            let packet = match has_side_band {
                false => response.next_packet().await?,
                true => report.next_report_packet(response, &mut inner).await?,
            };
            match packet {
                Packet::Data(line) => report.lines.push(line_text(&line)),
                Packet::Flush => break,
                _ => return Err(response.protocol_error()),
            }
        }
        if has_side_band {
            report.read_remaining_bands(response).await?;
        }
        Ok(report)
    }

    /// With side-band, the report's packets are nested inside the first band.
    async fn next_report_packet(
        &mut self,
        response: &mut PacketResponse,
        inner: &mut PacketDecoder,
    ) -> Result<Packet> {
        loop {
            if let Some(packet) = inner.next().map_err(|_| response.protocol_error())? {
                return Ok(packet);
            }
            match response.next_band().await? {
                Band::Data(bytes) => inner.push(&bytes),
                Band::Progress(words) => self.append_progress(&words),
                Band::End => return Err(response.protocol_error()),
            }
        }
    }

    async fn read_remaining_bands(&mut self, response: &mut PacketResponse) -> Result<()> {
        loop {
            match response.next_band().await? {
                Band::Progress(words) => self.append_progress(&words),
                Band::Data(_) => {}
                Band::End => return Ok(()),
            }
        }
    }

    fn append_progress(&mut self, words: &[u8]) {
        let remaining = MAX_PROGRESS_BYTES - self.progress.len();
        self.progress.extend_from_slice(&words[..words.len().min(remaining)]);
    }

    fn check(&self, response: &PacketResponse, branch: &str) -> Result<()> {
        let full = format!("refs/heads/{branch}");
        let line = |start: &str| self.lines.iter().find_map(|line| line.strip_prefix(start));
        let unpacked = line("unpack ");
        if line("ok ") == Some(&full) && unpacked == Some("ok") {
            return Ok(());
        }
        let why = line(&format!("ng {full} ")).or(unpacked.filter(|why| *why != "ok"));
        let Some(why) = why else { return Err(response.protocol_error()) };
        let message = response.quote(&[why.as_bytes(), b"; ", &self.progress].concat());
        match Trouble::in_text(&String::from_utf8_lossy(&self.progress)).filter(|_| is_storage_failure(why)) {
            Some(trouble) => Err(Error::Machine(trouble.at(response.host().to_owned()))),
            None => Err(rejection_error(why, &message, response.host(), branch)),
        }
    }
}

/// Whether the push failed while the host stored it. Only then are messages about a full disk believed: a
/// hook can print anything.
fn is_storage_failure(why: &str) -> bool {
    let writes = ["unpack", "index-pack", "abnormal exit", "failed to update ref", "cannot lock ref"];
    writes.iter().any(|words| why.contains(words))
}

fn rejection_error(why: &str, message: &RemoteMessage, host: &str, branch: &str) -> Error {
    let any = |words: &[&str]| words.iter().any(|words| why.contains(words));
    // Refs are files, so the branches `a` and `a/b` cannot both exist.
    if message.text().contains("' exists; cannot create") {
        let first = branch.split('/').next().unwrap_or(branch);
        return Error::Repository(format!(
            "`{branch}` cannot be created while the branch `{first}` exists: rename or delete `{first}`"
        ));
    }
    // A failed lease, in the words of several git versions and hosts.
    let moved = [
        "stale info",
        "fetch first",
        "non-fast-forward",
        "cannot lock ref",
        "failed to update ref",
        "reference already exists",
        "incorrect old value",
    ];
    if any(&moved) {
        return Error::BranchMoved { branch: branch.to_owned() };
    }
    if any(&["missing necessary objects", "shallow update"]) {
        return Error::Repository(format!(
            "the base commit of `{branch}` is no longer in the repository: start the job again"
        ));
    }
    let message = message.to_string();
    let message = message.trim_end_matches("; ").trim_end_matches(';');
    if any(&["unpack", "index-pack", "abnormal exit"]) {
        return Error::Temporary {
            sentence: format!("{host} could not store the push: {message}"),
            retry_after: None,
        };
    }
    Error::Denied(format!("{host} refused the push to `{branch}`: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_are_sentences() {
        #[track_caller]
        fn check_rejection(why: &str, progress: &str, expected: &str) {
            let message = RemoteMessage::new("git.test", format!("{why}; {progress}"), true);
            let error = rejection_error(why, &message, "git.test", "docs/a").to_string();
            assert_eq!(error, expected);
        }
        let moved = "another push moved `docs/a`: fetch it and try again";
        check_rejection(
            "failed to update ref",
            "error: cannot lock ref 'refs/heads/docs/a': is at 1 but expected 2",
            moved,
        );
        check_rejection("non-fast-forward", "", moved);
        check_rejection("incorrect old value provided", "", moved);
        check_rejection("reference already exists", "", moved);
        check_rejection(
            "failed to update ref",
            "error: cannot lock ref 'refs/heads/docs/a': 'refs/heads/docs' exists; cannot create",
            "`docs/a` cannot be created while the branch `docs` exists: rename or delete `docs`",
        );
        check_rejection(
            "pre-receive hook declined",
            "GH006: Protected branch update failed.",
            "git.test refused the push to `docs/a`: pre-receive hook declined; GH006: Protected branch update failed.",
        );
        check_rejection("hook declined", "", "git.test refused the push to `docs/a`: hook declined");
        check_rejection("unpacker error", "", "git.test could not store the push: unpacker error");
        check_rejection(
            "missing necessary objects",
            "",
            "the base commit of `docs/a` is no longer in the repository: start the job again",
        );
    }
}
