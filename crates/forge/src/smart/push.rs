//! One commit to one branch of a host, and what the host says to it.

use std::path::Path;

use machine::Trouble;
use net::RemoteMessage;
use tokio::io::AsyncWriteExt as _;

use super::ask::{self, Answer, Band, Service};
use super::packet::{Packet, Packets, Request, text};
use super::refs::{self, Advertised};
use crate::git::{Git, PATIENT};
use crate::shallow::Shallow;
use crate::{Error, HttpRemote, Oid, Result};

/// A change of documentation, packed. It is in memory as a whole.
const MAX_PUSH: usize = 64 << 20;
/// What a host may say to a push.
const MAX_REPORT: u64 = 4 << 20;
/// Of what it says to people, as much as this is kept.
const MAX_TALK: usize = 4 << 10;

const NOBODY: &str = "0000000000000000000000000000000000000000";

pub(super) async fn push(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    let there = refs::advertised(remote, branch).await?;
    if there.tip.as_ref() == Some(commit) {
        return Ok(());
    }
    if there.tip.is_some() && there.tip.as_ref() != from {
        return Err(Error::Moved { branch: branch.to_owned() });
    }
    carry(dir, remote, commit, branch, &there).await
}

/// To a branch that is likely not there yet, so that the host is not asked first; it compares.
pub(super) async fn push_new(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    from: Option<&Oid>,
) -> Result<()> {
    match carry(dir, remote, commit, branch, &Advertised::likely()).await {
        Err(Error::Moved { .. } | Error::Denied(_)) => push(dir, remote, commit, branch, from).await,
        done => done,
    }
}

async fn carry(
    dir: &Path,
    remote: &HttpRemote,
    commit: &Oid,
    branch: &str,
    there: &Advertised,
) -> Result<()> {
    let mut request = command(there, commit.as_str(), branch);
    request.extend(pack(dir, commit, there.tip.as_ref()).await?);
    send(remote, there, branch, request).await
}

pub(super) async fn delete(remote: &HttpRemote, branch: &str, at: &Oid) -> Result<()> {
    let there = refs::advertised(remote, branch).await?;
    match &there.tip {
        None => Ok(()),
        Some(tip) if tip == at => send(remote, &there, branch, command(&there, NOBODY, branch)).await,
        Some(_) => Err(Error::Moved { branch: branch.to_owned() }),
    }
}

async fn send(remote: &HttpRemote, there: &Advertised, branch: &str, request: Vec<u8>) -> Result<()> {
    let mut answer = ask::post(remote, Service::ReceivePack, request, MAX_REPORT).await?;
    let report = Report::read(&mut answer, there.can("side-band-64k")).await?;
    report.verdict(&answer, branch)?;
    answer.done().await;
    Ok(())
}

/// What the branch is to be moved from and to. Only what the host offers is asked of it.
fn command(there: &Advertised, to: &str, branch: &str) -> Vec<u8> {
    let from = there.tip.as_ref().map_or(NOBODY, Oid::as_str);
    let asked = ["report-status", "side-band-64k"].into_iter().filter(|what| there.can(what));
    let asked: Vec<_> = asked.collect();
    Request::default().line(&format!("{from} {to} refs/heads/{branch}\0{}", asked.join(" "))).flush()
}

/// The objects of `commit` that the host does not have.
async fn pack(dir: &Path, commit: &Oid, there: Option<&Oid>) -> Result<Vec<u8>> {
    let base = Shallow::read(dir)?.base_of(commit, there)?;
    let without = base.map(|base| format!("^{base}\n")).unwrap_or_default();
    let wanted = format!("{commit}\n{without}");
    let git = Git::at(dir, "pack-objects")
        .args(["--revs", "--thin", "--stdout", "--delta-base-offset", "-q"])
        .max_output(MAX_PUSH)
        .limit(PATIENT);
    let output = git
        .fed(async |mut stdin| {
            // When it ends before it has read, its exit code tells why.
            let _ = stdin.write_all(wanted.as_bytes()).await;
            Ok(())
        })
        .await?;
    if output.cut {
        return Err(Error::TooLarge(format!("the change is larger than {} MiB, packed", MAX_PUSH >> 20)));
    }
    if output.code == Some(0) { Ok(output.stdout) } else { Err(output.failure()) }
}

/// What became of a push.
#[derive(Default)]
struct Report {
    /// `unpack ok` or why not, then `ok refs/heads/x` or `ng refs/heads/x why`.
    lines: Vec<String>,
    /// What is meant for people: a hook says there what it does not like.
    talk: Vec<u8>,
}

impl Report {
    async fn read(answer: &mut Answer, banded: bool) -> Result<Self> {
        let mut report = Self::default();
        let mut inner = Packets::default();
        loop {
            let packet = match banded {
                false => answer.packet().await?,
                true => report.unbanded(answer, &mut inner).await?,
            };
            match packet {
                Packet::Data(line) => report.lines.push(text(&line)),
                Packet::Flush => break,
                _ => return Err(answer.strange()),
            }
        }
        if banded {
            report.rest(answer).await?;
        }
        Ok(report)
    }

    /// A report is packets of its own inside the first band.
    async fn unbanded(&mut self, answer: &mut Answer, inner: &mut Packets) -> Result<Packet> {
        loop {
            if let Some(packet) = inner.next().map_err(|_| answer.strange())? {
                return Ok(packet);
            }
            match answer.band().await? {
                Band::Data(bytes) => inner.push(&bytes),
                Band::Talk(words) => self.hear(&words),
                Band::End => return Err(answer.strange()),
            }
        }
    }

    async fn rest(&mut self, answer: &mut Answer) -> Result<()> {
        loop {
            match answer.band().await? {
                Band::Talk(words) => self.hear(&words),
                Band::Data(_) => {}
                Band::End => return Ok(()),
            }
        }
    }

    fn hear(&mut self, words: &[u8]) {
        let room = MAX_TALK - self.talk.len();
        self.talk.extend_from_slice(&words[..words.len().min(room)]);
    }

    fn verdict(&self, answer: &Answer, branch: &str) -> Result<()> {
        let full = format!("refs/heads/{branch}");
        let line = |start: &str| self.lines.iter().find_map(|line| line.strip_prefix(start));
        let unpacked = line("unpack ");
        if line("ok ") == Some(&full) && unpacked == Some("ok") {
            return Ok(());
        }
        let why = line(&format!("ng {full} ")).or(unpacked.filter(|why| *why != "ok"));
        let Some(why) = why else { return Err(answer.strange()) };
        let said = answer.words(&[why.as_bytes(), b"; ", &self.talk].concat());
        match Trouble::in_text(&String::from_utf8_lossy(&self.talk)).filter(|_| is_of_the_disk(why)) {
            Some(trouble) => Err(Error::Machine(trouble.at(answer.host().to_owned()))),
            None => Err(refused(why, &said, answer.host(), branch)),
        }
    }
}

/// Whether a push failed where the host writes it down. Elsewhere, as in a hook, anybody may say anything.
fn is_of_the_disk(why: &str) -> bool {
    let writes = ["unpack", "index-pack", "abnormal exit", "failed to update ref", "cannot lock ref"];
    writes.iter().any(|words| why.contains(words))
}

fn refused(why: &str, said: &RemoteMessage, host: &str, branch: &str) -> Error {
    let any = |words: &[&str]| words.iter().any(|words| why.contains(words));
    // A branch `a` leaves no room for a branch `a/b`.
    if said.text().contains("' exists; cannot create") {
        let first = branch.split('/').next().unwrap_or(branch);
        return Error::Repository(format!(
            "`{branch}` cannot be made while there is a branch `{first}`: rename or delete that one"
        ));
    }
    // The same race in the words of several versions and hosts.
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
        return Error::Moved { branch: branch.to_owned() };
    }
    if any(&["missing necessary objects", "shallow update"]) {
        return Error::Repository(format!(
            "the commit that `{branch}` starts from is no longer in the repository: start again"
        ));
    }
    let said = said.to_string();
    let said = said.trim_end_matches("; ").trim_end_matches(';');
    if any(&["unpack", "index-pack", "abnormal exit"]) {
        return Error::Later { sentence: format!("{host} could not keep the push: {said}"), after: None };
    }
    Error::Denied(format!("{host} refused the push to `{branch}`: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals() {
        #[track_caller]
        fn check(why: &str, talk: &str, expected: &str) {
            let said = RemoteMessage::new("git.test", format!("{why}; {talk}"), true);
            let told = refused(why, &said, "git.test", "docs/a").to_string();
            assert_eq!(told, expected);
        }
        let moved = "`docs/a` was changed by somebody else: fetch it and try again";
        check(
            "failed to update ref",
            "error: cannot lock ref 'refs/heads/docs/a': is at 1 but expected 2",
            moved,
        );
        check("non-fast-forward", "", moved);
        check("incorrect old value provided", "", moved);
        check("reference already exists", "", moved);
        check(
            "failed to update ref",
            "error: cannot lock ref 'refs/heads/docs/a': 'refs/heads/docs' exists; cannot create",
            "`docs/a` cannot be made while there is a branch `docs`: rename or delete that one",
        );
        check(
            "pre-receive hook declined",
            "GH006: Protected branch update failed.",
            "git.test refused the push to `docs/a`: pre-receive hook declined; GH006: Protected branch update failed.",
        );
        check("hook declined", "", "git.test refused the push to `docs/a`: hook declined");
        check("unpacker error", "", "git.test could not keep the push: unpacker error");
        check(
            "missing necessary objects",
            "",
            "the commit that `docs/a` starts from is no longer in the repository: start again",
        );
    }
}
