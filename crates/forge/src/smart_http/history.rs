//! Fetches the commits and folders of a branch's history, without the contents of files.
//!
//! A host without the capability `filter` would send the contents, too. From such a host, only a small
//! history is fetched.

use std::path::Path;

use super::capabilities::has_filter;
use super::fetch::{PackfileLimits, RESPONSE_OVERHEAD_BYTES, store_packfile};
use super::packet::{Packet, Request, line_text};
use super::transport::{self, PacketResponse, Service};
use crate::shallow::Shallow;
use crate::{Error, HistoryLimits, HttpRemote, Oid, Result, snapshot};

/// The second try is so much less deep.
const RETRY_SHARE: u32 = 10;
/// The share of the limits for a host that sends contents.
const UNFILTERED_SHARE: u32 = 4;

/// How much to ask for.
struct Scope {
    depth: u32,
    max_pack: u64,
    filtered: bool,
}

/// Fetches the history of `tip` into the repository at `dir`, which has the history of `have`. `false` when
/// the history is too large.
pub(super) async fn fetch(
    dir: &Path,
    remote: &HttpRemote,
    tip: &Oid,
    have: Option<&Oid>,
    limits: &HistoryLimits,
) -> Result<bool> {
    let filtered = has_filter(remote).await?;
    let share = if filtered { 1 } else { UNFILTERED_SHARE };
    let max_pack = limits.pack / u64::from(share);
    let depth = (limits.depth / share).max(1);
    for depth in [depth, (depth / RETRY_SHARE).max(1)] {
        match fetch_scope(dir, remote, tip, have, &Scope { depth, max_pack, filtered }).await {
            Err(Error::TooLarge(_)) => {}
            fetched => return fetched.map(|()| true),
        }
    }
    Ok(false)
}

async fn fetch_scope(
    dir: &Path,
    remote: &HttpRemote,
    tip: &Oid,
    have: Option<&Oid>,
    scope: &Scope,
) -> Result<()> {
    let mut shallow = Shallow::read(dir)?;
    let request = request(tip, have, &shallow, scope);
    let max_bytes = scope.max_pack.saturating_add(RESPONSE_OVERHEAD_BYTES);
    let mut response = transport::post(remote, Service::UploadPack, request, max_bytes).await?;
    let boundary = Boundary::read(&mut response).await?;
    // Write the list first: a commit without its parents must always be on it, even after an interruption.
    shallow.replace(boundary.before_packfile(&shallow))?;
    let limits = PackfileLimits::for_commit(scope.max_pack);
    store_packfile(dir, &mut response, limits, &["--stdin", "--fix-thin"]).await?;
    if !snapshot::has_commit(dir, tip)? {
        return Err(response.remote_error(b"the packfile lacks the requested commit"));
    }
    shallow.replace(boundary.after_packfile(&shallow))?;
    response.drain().await;
    Ok(())
}

fn request(tip: &Oid, have: Option<&Oid>, shallow: &Shallow, scope: &Scope) -> Vec<u8> {
    let request = Request::default()
        .line("command=fetch")
        .delim()
        .line("thin-pack")
        .line("ofs-delta")
        .line("no-progress")
        .lines(shallow.commits().iter().map(|commit| format!("shallow {commit}")))
        .line(&format!("deepen {}", scope.depth))
        .lines(scope.filtered.then(|| "filter blob:none".to_owned()))
        .line(&format!("want {tip}"));
    request.lines(have.map(|have| format!("have {have}"))).line("done").flush()
}

/// How the list of commits without parents changes with a fetch.
#[derive(Default)]
struct Boundary {
    shallow: Vec<Oid>,
    unshallow: Vec<Oid>,
}

impl Boundary {
    /// Reads the sections before the packfile.
    async fn read(response: &mut PacketResponse) -> Result<Self> {
        let mut boundary = Self::default();
        loop {
            match response.next_packet().await? {
                Packet::Data(line) => {
                    let line = line_text(&line);
                    match line.split_once(' ') {
                        _ if line == "packfile" => return Ok(boundary),
                        Some(("shallow", id)) => boundary.shallow.push(Oid::parse(id)?),
                        Some(("unshallow", id)) => boundary.unshallow.push(Oid::parse(id)?),
                        _ => {}
                    }
                }
                Packet::Delim => {}
                _ => return Err(response.protocol_error()),
            }
        }
    }

    fn before_packfile(&self, old: &Shallow) -> Vec<Oid> {
        let mut all = [old.commits(), &self.shallow].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The parents of some commits arrived.
    fn after_packfile(&self, old: &Shallow) -> Vec<Oid> {
        old.commits().iter().filter(|commit| !self.unshallow.contains(commit)).cloned().collect()
    }
}
