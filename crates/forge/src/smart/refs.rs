//! Where branches are: by version 2 of git's protocol for a fetch, and by the older one, which is
//! the only one there is, for a push.

use super::ask::{self, Answer, Service};
use super::packet::{Packet, Request, text};
use crate::{Error, HttpRemote, Oid, Result, valid_branch};

/// Hundreds of thousands of branches. None is kept but the one that is looked for.
const MAX_LIST: u64 = 32 << 20;

/// Asked at once, without asking first what the host can do: there is one request less then, and
/// every host of the last years can.
pub(super) async fn tip(remote: &HttpRemote, branch: &str) -> Result<Option<Oid>> {
    find(remote, &format!("refs/heads/{branch}"), |line| named(line, branch)).await
}

/// The default branch and the commit that it is at; `None` when the host does not tell.
pub(super) async fn head(remote: &HttpRemote) -> Result<Option<(String, Oid)>> {
    find(remote, "HEAD", pointed).await
}

/// The first of the refs that begin with `prefix` in which `look` sees something.
async fn find<T>(
    remote: &HttpRemote,
    prefix: &str,
    look: impl Fn(&str) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let request = Request::default().line("command=ls-refs").delim().line("symrefs");
    let request = request.line(&format!("ref-prefix {prefix}")).flush();
    let mut answer = ask::post(remote, Service::UploadPack, request, MAX_LIST).await?;
    match listed(&mut answer, look).await {
        Ok(found) => {
            answer.done().await;
            Ok(found)
        }
        Err(error) if answer.heard() => Err(error),
        // An older host does not know what to say.
        Err(error) => Err(old_host(remote).await?.unwrap_or(error)),
    }
}

/// Other branches may begin the same.
async fn listed<T>(answer: &mut Answer, look: impl Fn(&str) -> Result<Option<T>>) -> Result<Option<T>> {
    let mut found = None;
    loop {
        match answer.packet().await? {
            Packet::Data(line) => found = found.or(look(&text(&line))?),
            Packet::Flush => return Ok(found),
            _ => return Err(answer.strange()),
        }
    }
}

/// The branch that a line says `HEAD` to point to. One that cannot be meant is none.
fn pointed(line: &str) -> Result<Option<(String, Oid)>> {
    let mut words = line.split(' ');
    let (id, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let branch = words.find_map(|word| word.strip_prefix("symref-target:refs/heads/"));
    let Some(branch) = branch.filter(|branch| name == "HEAD" && valid_branch(branch).is_ok()) else {
        return Ok(None);
    };
    Ok(Some((branch.to_owned(), parsed(id)?)))
}

fn named(line: &str, branch: &str) -> Result<Option<Oid>> {
    let mut words = line.split(' ');
    let (id, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if name.strip_prefix("refs/heads/") != Some(branch) {
        return Ok(None);
    }
    parsed(id).map(Some)
}

fn parsed(id: &str) -> Result<Oid> {
    let odd = || Error::Repository("the repository names its commits in a way not known here".to_owned());
    Oid::parse(id).map_err(|_| odd())
}

/// Why a host answered nothing, if that is its age or its kind.
async fn old_host(remote: &HttpRemote) -> Result<Option<Error>> {
    let mut answer = ask::advertisement(remote, Service::UploadPack, MAX_LIST).await?;
    let mut known = None;
    loop {
        match answer.packet().await? {
            // Some say first which service it is, and end that with a mark of its own.
            Packet::Data(line) if line.starts_with(b"# service=") => {}
            Packet::Flush if known.is_none() => {}
            Packet::Data(line) => {
                let names = text(&line);
                let odd = names.strip_prefix("object-format=").is_some_and(|names| names != "sha1");
                known = Some(known.unwrap_or(names == "version 2") && !odd);
            }
            Packet::Flush => break,
            _ => return Err(answer.strange()),
        }
        if known == Some(false) {
            break;
        }
    }
    let sentence = "does not speak version 2 of git's protocol with SHA-1 names, the only one spoken here";
    Ok((known == Some(false)).then(|| Error::Denied(format!("{} {sentence}", answer.host()))))
}

/// What a push has to know before.
#[derive(Default)]
pub(super) struct Advertised {
    pub(super) tip: Option<Oid>,
    capabilities: String,
}

impl Advertised {
    /// What is so where the branch is not there, on every host of the last years.
    pub(super) fn likely() -> Self {
        Self { tip: None, capabilities: "report-status side-band-64k".to_owned() }
    }

    pub(super) fn can(&self, what: &str) -> bool {
        self.capabilities.split(' ').any(|one| one == what)
    }
}

pub(super) async fn advertised(remote: &HttpRemote, branch: &str) -> Result<Advertised> {
    let mut answer = ask::advertisement(remote, Service::ReceivePack, MAX_LIST).await?;
    let service = Packet::Data(b"# service=git-receive-pack\n".to_vec());
    if answer.packet().await? != service || answer.packet().await? != Packet::Flush {
        return Err(answer.strange());
    }
    let mut found = Advertised::default();
    loop {
        match answer.packet().await? {
            Packet::Data(line) => {
                let line = text(&line);
                let (line, capabilities) = line.split_once('\0').unwrap_or((&line, ""));
                if found.capabilities.is_empty() {
                    capabilities.clone_into(&mut found.capabilities);
                }
                found.tip = found.tip.or(named(line, branch)?);
            }
            Packet::Flush => break,
            _ => return Err(answer.strange()),
        }
    }
    answer.done().await;
    Ok(found)
}
