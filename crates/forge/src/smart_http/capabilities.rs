//! Asks a host what its fetch can do.

use super::packet::{Packet, line_text};
use super::transport::{self, Service};
use crate::{HttpRemote, Result};

/// The list of capabilities is short in version 2 of the protocol.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// Whether the host can omit files from a fetch.
pub(super) async fn has_filter(remote: &HttpRemote) -> Result<bool> {
    let mut response = transport::advertisement(remote, Service::UploadPack, MAX_LIST_BYTES).await?;
    let (mut is_version_2, mut has_filter) = (false, false);
    loop {
        match response.next_packet().await? {
            // Some hosts name the service first, followed by a flush packet.
            Packet::Data(line) if line.starts_with(b"# service=") => {}
            Packet::Flush if !is_version_2 => {}
            Packet::Data(line) if line_text(&line) == "version 2" => is_version_2 = true,
            // A host with only an older version lists its refs, and the fetch says so.
            Packet::Data(_) if !is_version_2 => return Ok(false),
            Packet::Data(line) => {
                let line = line_text(&line);
                let words = line.strip_prefix("fetch=").unwrap_or_default();
                has_filter |= words.split(' ').any(|word| word == "filter");
            }
            Packet::Flush => break,
            _ => return Err(response.protocol_error()),
        }
    }
    response.drain().await;
    Ok(has_filter)
}
