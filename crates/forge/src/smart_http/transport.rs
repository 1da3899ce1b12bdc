//! Sends one smart HTTP request to a git host and reads the response packet by packet.
//!
//! The token goes only into one header, to the address that it was configured for: no redirect is followed,
//! and quoted messages of the host are redacted.

use net::{RemoteMessage, root_cause};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};

use super::packet::{Packet, PacketDecoder, line_text};
use super::peer::{Peer, header};
use crate::{Error, HttpRemote, Result};

/// Either the address is wrong, or a proxy in front of the host answers instead.
const NOT_GIT: &str = "did not answer like a git server: check the repository's address";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    UploadPack,
    ReceivePack,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }

    /// The verb for sentences: what the token must allow.
    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::UploadPack => "read",
            Self::ReceivePack => "write to",
        }
    }
}

/// Whether the host lets this token use a service.
pub(super) async fn is_service_allowed(remote: &HttpRemote, service: Service) -> Result<bool> {
    let kind = format!("application/x-{}-advertisement", service.name());
    let request = remote.http.get(advertisement_url(remote, service)?).header(ACCEPT, &kind);
    let (peer, mut response) = send_request(remote, service, request).await?;
    match response.status() {
        // A web page with status 200 does not grant access.
        StatusCode::OK if header(response.headers(), CONTENT_TYPE.as_str()) != kind => {
            Err(peer.denied_error(NOT_GIT))
        }
        StatusCode::OK => Ok(true),
        StatusCode::UNAUTHORIZED => Ok(false),
        StatusCode::FORBIDDEN if net::retry_after(response.headers()).is_none() => Ok(false),
        _ => Err(peer.status_error(service, &mut response).await),
    }
}

/// Requests the ref advertisement of a service. Reads at most `max_bytes`.
pub(super) async fn advertisement(
    remote: &HttpRemote,
    service: Service,
    max_bytes: u64,
) -> Result<PacketResponse> {
    let url = advertisement_url(remote, service)?;
    let kind = format!("application/x-{}-advertisement", service.name());
    send_expecting(remote, service, remote.http.get(url), &kind, max_bytes).await
}

fn advertisement_url(remote: &HttpRemote, service: Service) -> Result<Url> {
    let mut url = append_path(&remote.url, &["info", "refs"])?;
    url.set_query(Some(&format!("service={}", service.name())));
    Ok(url)
}

pub(super) async fn post(
    remote: &HttpRemote,
    service: Service,
    body: Vec<u8>,
    max_bytes: u64,
) -> Result<PacketResponse> {
    let name = service.name();
    let url = append_path(&remote.url, &[name])?;
    let request = remote.http.post(url).header(CONTENT_TYPE, format!("application/x-{name}-request"));
    send_expecting(remote, service, request.body(body), &format!("application/x-{name}-result"), max_bytes)
        .await
}

/// Refuses addresses with control characters, a user or a query, which can mislead people.
fn append_path(repository: &Url, path: &[&str]) -> Result<Url> {
    let bad = || Error::BadName("the repository's address must be plain: https://host/path".to_owned());
    let mut url = repository.clone();
    let mut codes =
        url.path().split('%').skip(1).filter_map(|code| u8::from_str_radix(code.get(..2)?, 16).ok());
    let controls = codes.any(|byte| byte.is_ascii_control());
    if controls || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(bad());
    }
    url.path_segments_mut().map_err(|()| bad())?.pop_if_empty().extend(path);
    Ok(url)
}

async fn send_expecting(
    remote: &HttpRemote,
    service: Service,
    request: RequestBuilder,
    kind: &str,
    max_bytes: u64,
) -> Result<PacketResponse> {
    let (peer, mut response) = send_request(remote, service, request.header(ACCEPT, kind)).await?;
    if response.status() != StatusCode::OK {
        return Err(peer.status_error(service, &mut response).await);
    }
    if header(response.headers(), CONTENT_TYPE.as_str()) != kind {
        return Err(peer.temporary_error(NOT_GIT));
    }
    Ok(PacketResponse {
        peer,
        response,
        packets: PacketDecoder::default(),
        remaining_bytes: max_bytes,
        has_received_data: false,
    })
}

async fn send_request(
    remote: &HttpRemote,
    service: Service,
    mut request: RequestBuilder,
) -> Result<(Peer, Response)> {
    let token = remote.credentials.token().await?;
    if service == Service::UploadPack {
        request = request.header("git-protocol", "version=2");
    }
    if let Some(token) = &token {
        request = request.basic_auth("x-access-token", Some(token.reveal()));
    }
    let request = request.build().map_err(|error| Error::BadName(root_cause(&error)))?;
    let peer = Peer::new(&remote.url, &request, token);
    let response = peer.with_idle_timeout(remote.http.execute(request)).await?;
    Ok((peer.with_response(&response), response))
}

/// A response that is read packet by packet.
pub(super) struct PacketResponse {
    peer: Peer,
    response: Response,
    packets: PacketDecoder,
    /// How many more bytes are accepted.
    remaining_bytes: u64,
    has_received_data: bool,
}

/// A packet of a multiplexed (side-band) response.
pub(super) enum Band {
    Data(Vec<u8>),
    /// Progress messages for people.
    Progress(Vec<u8>),
    End,
}

impl PacketResponse {
    pub(super) async fn next_packet(&mut self) -> Result<Packet> {
        match self.read_packet().await? {
            Packet::Data(line) if line.starts_with(b"ERR ") => Err(self.remote_error(&line[4..])),
            packet => Ok(packet),
        }
    }

    /// Like [`Self::next_packet`], but `None` when the host refuses the request.
    pub(super) async fn next_packet_or_refusal(&mut self) -> Result<Option<Packet>> {
        match self.read_packet().await? {
            Packet::Data(line) if line.starts_with(b"ERR ") => Ok(None),
            packet => Ok(Some(packet)),
        }
    }

    async fn read_packet(&mut self) -> Result<Packet> {
        loop {
            match self.packets.next() {
                Ok(Some(packet)) => return Ok(packet),
                Ok(None) => self.read_chunk().await?,
                Err(_) => return Err(self.protocol_error()),
            }
        }
    }

    async fn read_chunk(&mut self) -> Result<()> {
        let Some(chunk) = self.peer.with_idle_timeout(self.response.chunk()).await? else {
            return Err(self.peer.temporary_error("closed the connection in the middle of its response"));
        };
        self.has_received_data = true;
        self.remaining_bytes = self.remaining_bytes.checked_sub(chunk.len() as u64).ok_or_else(|| {
            Error::TooLarge(format!("{} sent a response that is too large", self.peer.host))
        })?;
        self.packets.push(&chunk);
        Ok(())
    }

    pub(super) async fn next_band(&mut self) -> Result<Band> {
        match self.next_packet().await? {
            Packet::Flush => Ok(Band::End),
            Packet::Data(mut data) if !data.is_empty() => match data.remove(0) {
                1 => Ok(Band::Data(data)),
                2 => Ok(Band::Progress(data)),
                3 => Err(self.remote_error(&data)),
                _ => Err(self.protocol_error()),
            },
            _ => Err(self.protocol_error()),
        }
    }

    /// Reads the end of the response, so that its connection can be reused.
    pub(super) async fn drain(mut self) {
        let _ = self.peer.with_idle_timeout(self.response.chunk()).await;
    }

    /// Whether any part of the body arrived.
    pub(super) fn has_received_data(&self) -> bool {
        self.has_received_data
    }

    pub(super) fn protocol_error(&self) -> Error {
        self.peer.temporary_error("sent a response that does not follow the git protocol")
    }

    pub(super) fn remote_error(&self, message: &[u8]) -> Error {
        self.peer.temporary_error(&format!("reported an error: {}", self.quote(message)))
    }

    /// The host's message, redacted.
    pub(super) fn quote(&self, message: &[u8]) -> RemoteMessage {
        self.peer.quote(&line_text(message))
    }

    pub(super) fn host(&self) -> &str {
        &self.peer.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_addresses_must_be_plain() {
        #[track_caller]
        fn check(url: &str, expected: Option<&str>) {
            let found = append_path(&url.parse().unwrap(), &["info", "refs"]).ok();
            assert_eq!(found.as_ref().map(Url::as_str), expected);
        }
        check("https://git.test/a/b.git", Some("https://git.test/a/b.git/info/refs"));
        check("https://git.test/a/b/", Some("https://git.test/a/b/info/refs"));
        check("https://git.test/%C3%BC%20/b", Some("https://git.test/%C3%BC%20/b/info/refs"));
        check("https://git.test/a%0Ab", None);
        check("https://git.test/a%7fb", None);
        check("https://me@git.test/a", None);
        check("https://:secret@git.test/a", None);
        check("https://git.test/a?b", None);
    }
}
