//! Looks up refs of a host: with version 2 of git's protocol for a fetch, and with version 0 for a push,
//! which has no newer version.

use super::packet::{Packet, Request, line_text};
use super::transport::{self, PacketResponse, Service};
use crate::{Error, HttpRemote, Oid, Result, valid_branch};

/// Enough for hundreds of thousands of branches. Only the requested branch is kept in memory.
const MAX_LIST_BYTES: u64 = 32 << 20;

/// The tip of `branch`. Sends `ls-refs` without asking for the host's capabilities first, which saves a
/// request. All current hosts support it.
pub(super) async fn tip(remote: &HttpRemote, branch: &str) -> Result<Option<Oid>> {
    find_ref(remote, &format!("refs/heads/{branch}"), |line| parse_branch(line, branch)).await
}

/// The default branch and its tip; `None` when the host does not name it.
pub(super) async fn head(remote: &HttpRemote) -> Result<Option<(String, Oid)>> {
    find_ref(remote, "HEAD", parse_default_branch).await
}

/// The first ref with this prefix that `parse` accepts.
async fn find_ref<T>(
    remote: &HttpRemote,
    prefix: &str,
    parse: impl Fn(&str) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let request = Request::default().line("command=ls-refs").delim().line("symrefs");
    let request = request.line(&format!("ref-prefix {prefix}")).flush();
    let mut response = transport::post(remote, Service::UploadPack, request, MAX_LIST_BYTES).await?;
    match first_match(&mut response, parse).await {
        Ok(found) => {
            response.drain().await;
            Ok(found)
        }
        Err(error) if response.has_received_data() => Err(error),
        // An old host sends an empty response.
        Err(error) => Err(unsupported_protocol_error(remote).await?.unwrap_or(error)),
    }
}

/// Reads the whole list, because other refs can have the same prefix.
async fn first_match<T>(
    response: &mut PacketResponse,
    parse: impl Fn(&str) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut found = None;
    loop {
        match response.next_packet().await? {
            Packet::Data(line) => found = found.or(parse(&line_text(&line))?),
            Packet::Flush => return Ok(found),
            _ => return Err(response.protocol_error()),
        }
    }
}

/// Parses the line of `HEAD` and the branch that it points at. Invalid branch names are ignored.
fn parse_default_branch(line: &str) -> Result<Option<(String, Oid)>> {
    let mut words = line.split(' ');
    let (id, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let branch = words.find_map(|word| word.strip_prefix("symref-target:refs/heads/"));
    let Some(branch) = branch.filter(|branch| name == "HEAD" && valid_branch(branch).is_ok()) else {
        return Ok(None);
    };
    Ok(Some((branch.to_owned(), parse_oid(id)?)))
}

fn parse_branch(line: &str, branch: &str) -> Result<Option<Oid>> {
    let mut words = line.split(' ');
    let (id, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if name.strip_prefix("refs/heads/") != Some(branch) {
        return Ok(None);
    }
    parse_oid(id).map(Some)
}

fn parse_oid(id: &str) -> Result<Oid> {
    let odd = || {
        Error::Repository(
            "the repository uses unsupported commit ids: use a repository with SHA-1 ids".to_owned(),
        )
    };
    Oid::parse(id).map_err(|_| odd())
}

/// The error for a host without protocol version 2 or with another object format.
async fn unsupported_protocol_error(remote: &HttpRemote) -> Result<Option<Error>> {
    let mut response = transport::advertisement(remote, Service::UploadPack, MAX_LIST_BYTES).await?;
    let mut is_supported = None;
    loop {
        match response.next_packet().await? {
            // Some hosts name the service first, followed by a flush packet.
            Packet::Data(line) if line.starts_with(b"# service=") => {}
            Packet::Flush if is_supported.is_none() => {}
            Packet::Data(line) => {
                let names = line_text(&line);
                let odd = names.strip_prefix("object-format=").is_some_and(|names| names != "sha1");
                is_supported = Some(is_supported.unwrap_or(names == "version 2") && !odd);
            }
            Packet::Flush => break,
            _ => return Err(response.protocol_error()),
        }
        if is_supported == Some(false) {
            break;
        }
    }
    let sentence =
        "does not support version 2 of the git protocol with SHA-1 ids: upgrade it, or use another host";
    Ok((is_supported == Some(false)).then(|| Error::Denied(format!("{} {sentence}", response.host()))))
}

/// The ref advertisement of `receive-pack`: the branch's tip and the host's capabilities.
#[derive(Default)]
pub(super) struct RefAdvertisement {
    pub(super) tip: Option<Oid>,
    capabilities: String,
}

impl RefAdvertisement {
    /// The advertisement that current hosts send when the branch does not exist.
    pub(super) fn assume_new_branch() -> Self {
        Self { tip: None, capabilities: "report-status side-band-64k".to_owned() }
    }

    pub(super) fn has_capability(&self, what: &str) -> bool {
        self.capabilities.split(' ').any(|capability| capability == what)
    }
}

pub(super) async fn read_advertisement(remote: &HttpRemote, branch: &str) -> Result<RefAdvertisement> {
    let mut response = transport::advertisement(remote, Service::ReceivePack, MAX_LIST_BYTES).await?;
    let service = Packet::Data(b"# service=git-receive-pack\n".to_vec());
    if response.next_packet().await? != service || response.next_packet().await? != Packet::Flush {
        return Err(response.protocol_error());
    }
    let mut found = RefAdvertisement::default();
    loop {
        match response.next_packet().await? {
            Packet::Data(line) => {
                let line = line_text(&line);
                let (line, capabilities) = line.split_once('\0').unwrap_or((&line, ""));
                if found.capabilities.is_empty() {
                    capabilities.clone_into(&mut found.capabilities);
                }
                found.tip = found.tip.or(parse_branch(line, branch)?);
            }
            Packet::Flush => break,
            _ => return Err(response.protocol_error()),
        }
    }
    response.drain().await;
    Ok(found)
}
