//! Where branches are: by version 2 of git's protocol for a fetch, and by the older one, which is
//! the only one there is, for a push.

use super::ask::{self, Answer, Service};
use super::packet::{Packet, Request, text};
use crate::{Error, HttpRemote, Oid, Result};

/// Hundreds of thousands of branches. None is kept but the one that is looked for.
const MAX_LIST: u64 = 32 << 20;

/// Asked at once, without asking first what the host can do: there is one request less then, and
/// every host of the last years can.
pub(super) async fn tip(remote: &HttpRemote, branch: &str) -> Result<Option<Oid>> {
    let request = Request::default().line("command=ls-refs").delim();
    let request = request.line(&format!("ref-prefix refs/heads/{branch}")).flush();
    let mut answer = ask::post(remote, Service::UploadPack, request, MAX_LIST).await?;
    match listed(&mut answer, branch).await {
        Ok(tip) => {
            answer.done().await;
            Ok(tip)
        }
        Err(error) if answer.heard() => Err(error),
        // An older host does not know what to say.
        Err(error) => Err(old_host(remote).await?.unwrap_or(error)),
    }
}

/// Other branches may begin the same.
async fn listed(answer: &mut Answer, branch: &str) -> Result<Option<Oid>> {
    let mut tip = None;
    loop {
        match answer.packet().await? {
            Packet::Data(line) => tip = tip.or(named(&text(&line), branch)?),
            Packet::Flush => return Ok(tip),
            _ => return Err(answer.strange()),
        }
    }
}

fn named(line: &str, branch: &str) -> Result<Option<Oid>> {
    let mut words = line.split(' ');
    let (id, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if name.strip_prefix("refs/heads/") != Some(branch) {
        return Ok(None);
    }
    let odd = || Error::Repository("the repository names its commits in a way not known here".to_owned());
    Oid::parse(id).map(Some).map_err(|_| odd())
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
pub(super) struct Advertised {
    pub(super) tip: Option<Oid>,
    capabilities: String,
}

impl Advertised {
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
    let mut found = Advertised { tip: None, capabilities: String::new() };
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
