//! One request to a repository's host, and its answer packet by packet.
//!
//! The token goes into one header, for the address it was given for, and nowhere else: no redirect
//! is followed, and what a host says is repeated without it.

use net::{RemoteMessage, root_cause};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};

use super::packet::{Packet, Packets, text};
use super::place::{Place, header};
use crate::{Error, HttpRemote, Result};

/// The address may be wrong; or it was found to be right once, and a proxy before the host says that it is not there now.
const NO_GIT: &str = "answers with something that is not git's: check the repository's address";

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

    /// What a token is needed for.
    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::UploadPack => "read",
            Self::ReceivePack => "write to",
        }
    }
}

/// Whether the host lets this token use a service at all.
pub(super) async fn is_let(remote: &HttpRemote, service: Service) -> Result<bool> {
    let kind = format!("application/x-{}-advertisement", service.name());
    let request = remote.http.get(advertised_at(remote, service)?).header(ACCEPT, &kind);
    let (place, mut response) = sent(remote, service, request).await?;
    match response.status() {
        // Somebody else's page is no yes.
        StatusCode::OK if header(response.headers(), CONTENT_TYPE.as_str()) != kind => {
            Err(place.denied(NO_GIT))
        }
        StatusCode::OK => Ok(true),
        StatusCode::UNAUTHORIZED => Ok(false),
        StatusCode::FORBIDDEN if net::retry_after(response.headers()).is_none() => Ok(false),
        _ => Err(place.refusal(service, &mut response).await),
    }
}

/// What a service has, before anything is asked of it. At most `most` bytes of it are read.
pub(super) async fn advertisement(remote: &HttpRemote, service: Service, most: u64) -> Result<Answer> {
    let url = advertised_at(remote, service)?;
    let kind = format!("application/x-{}-advertisement", service.name());
    send(remote, service, remote.http.get(url), &kind, most).await
}

fn advertised_at(remote: &HttpRemote, service: Service) -> Result<Url> {
    let mut url = below(&remote.url, &["info", "refs"])?;
    url.set_query(Some(&format!("service={}", service.name())));
    Ok(url)
}

pub(super) async fn post(remote: &HttpRemote, service: Service, body: Vec<u8>, most: u64) -> Result<Answer> {
    let name = service.name();
    let url = below(&remote.url, &[name])?;
    let request = remote.http.post(url).header(CONTENT_TYPE, format!("application/x-{name}-request"));
    send(remote, service, request.body(body), &format!("application/x-{name}-result"), most).await
}

/// An address with an end of a line or a user in it was made to mislead somebody.
fn below(repository: &Url, path: &[&str]) -> Result<Url> {
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

async fn send(
    remote: &HttpRemote,
    service: Service,
    request: RequestBuilder,
    kind: &str,
    most: u64,
) -> Result<Answer> {
    let (place, mut response) = sent(remote, service, request.header(ACCEPT, kind)).await?;
    if response.status() != StatusCode::OK {
        return Err(place.refusal(service, &mut response).await);
    }
    if header(response.headers(), CONTENT_TYPE.as_str()) != kind {
        return Err(place.later(NO_GIT));
    }
    Ok(Answer { place, response, packets: Packets::default(), left: most, heard: false })
}

async fn sent(
    remote: &HttpRemote,
    service: Service,
    mut request: RequestBuilder,
) -> Result<(Place, Response)> {
    let token = remote.credentials.token().await?;
    if service == Service::UploadPack {
        request = request.header("git-protocol", "version=2");
    }
    if let Some(token) = &token {
        request = request.basic_auth("x-access-token", Some(token.reveal()));
    }
    let request = request.build().map_err(|error| Error::BadName(root_cause(&error)))?;
    let place = Place::new(&remote.url, &request, token);
    let response = place.patience(remote.http.execute(request)).await?;
    Ok((place.answered(&response), response))
}

/// An answer that is being read.
pub(super) struct Answer {
    place: Place,
    response: Response,
    packets: Packets,
    /// How many bytes are still taken.
    left: u64,
    heard: bool,
}

/// What comes on one of the three bands that an answer can be made of.
pub(super) enum Band {
    Data(Vec<u8>),
    /// Meant for people.
    Talk(Vec<u8>),
    End,
}

impl Answer {
    pub(super) async fn packet(&mut self) -> Result<Packet> {
        loop {
            match self.packets.next() {
                Ok(Some(Packet::Data(line))) if line.starts_with(b"ERR ") => {
                    return Err(self.failed(&line[4..]));
                }
                Ok(Some(packet)) => return Ok(packet),
                Ok(None) => self.more().await?,
                Err(_) => return Err(self.strange()),
            }
        }
    }

    async fn more(&mut self) -> Result<()> {
        let Some(piece) = self.place.patience(self.response.chunk()).await? else {
            return Err(self.place.later("cut its answer off in the middle"));
        };
        self.heard = true;
        self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(|| {
            Error::TooLarge(format!("{} answers without end: it was cut off", self.place.host))
        })?;
        self.packets.push(&piece);
        Ok(())
    }

    pub(super) async fn band(&mut self) -> Result<Band> {
        match self.packet().await? {
            Packet::Flush => Ok(Band::End),
            Packet::Data(mut data) if !data.is_empty() => match data.remove(0) {
                1 => Ok(Band::Data(data)),
                2 => Ok(Band::Talk(data)),
                3 => Err(self.failed(&data)),
                _ => Err(self.strange()),
            },
            _ => Err(self.strange()),
        }
    }

    /// Reads the end of an answer of which all is read, so that its connection can be used again.
    pub(super) async fn done(mut self) {
        let _ = self.place.patience(self.response.chunk()).await;
    }

    /// Whether anything came at all.
    pub(super) fn heard(&self) -> bool {
        self.heard
    }

    pub(super) fn strange(&self) -> Error {
        self.place.later("sent an answer that is not git's")
    }

    pub(super) fn failed(&self, said: &[u8]) -> Error {
        self.place.later(&format!("broke off: {}", self.words(said)))
    }

    /// What the host said, without what must not be repeated.
    pub(super) fn words(&self, said: &[u8]) -> RemoteMessage {
        self.place.words(&text(said))
    }

    pub(super) fn host(&self) -> &str {
        &self.place.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        #[track_caller]
        fn check(url: &str, expected: Option<&str>) {
            let found = below(&url.parse().unwrap(), &["info", "refs"]).ok();
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
