//! Whom we talk to, and what their refusals and silences mean. Sentences name the host, and never
//! hold what must not be repeated.

use std::time::Duration;

use machine::Trouble;
use net::{BlockedAddress, RemoteMessage, Secret, connection_cause, find_cause};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Request, Response, StatusCode, Url};
use tokio::time::timeout;

use super::ask::Service;
use crate::{ALLOW_PRIVATE, Error, Result};

/// A host says something every five seconds while it works; a proxy before it may hold that back.
const SILENCE: Duration = Duration::from_secs(120);
/// More of a refusal is not read, nor more of its words repeated.
const REFUSAL: usize = 16 << 10;
const WORDS: usize = 300;

/// A host, and what must not be repeated of what it says.
pub(super) struct Place {
    pub(super) host: String,
    /// The token, and the header that is made of it.
    keys: Vec<Secret>,
    /// Whether its words may be shown, which its address decides.
    may_quote: bool,
}

impl Place {
    pub(super) fn new(url: &Url, request: &Request, token: Option<Secret>) -> Self {
        let sent = header(request.headers(), AUTHORIZATION.as_str());
        let sent = Secret::parse(sent.trim_start_matches("Basic "));
        let keys = token.into_iter().chain(sent).collect();
        Self { host: url.authority().to_owned(), keys, may_quote: false }
    }

    /// The same when it is known who answered.
    pub(super) fn answered(self, response: &Response) -> Self {
        Self { may_quote: net::may_quote(response), ..self }
    }

    /// The host's own words.
    pub(super) fn words(&self, said: &str) -> RemoteMessage {
        RemoteMessage::new(&self.host, self.harmless(said), self.may_quote)
    }

    fn harmless(&self, said: &str) -> String {
        let said = self.keys.iter().fold(said.to_owned(), |said, key| said.replace(key.reveal(), "[key]"));
        net::sanitize(&said, WORDS)
    }

    pub(super) fn denied(&self, what: &str) -> Error {
        Error::Denied(format!("{} {what}", self.host))
    }

    pub(super) fn later(&self, what: &str) -> Error {
        Error::Later { sentence: format!("{} {what}", self.host), after: None }
    }

    pub(super) async fn patience<T>(&self, what: impl Future<Output = reqwest::Result<T>>) -> Result<T> {
        match timeout(SILENCE, what).await {
            Ok(done) => done.map_err(|error| self.broken(&error)),
            Err(_) => Err(self.later(&format!("said nothing for {} s", SILENCE.as_secs()))),
        }
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
        if let Some(refused) = find_cause::<BlockedAddress>(error) {
            return Error::Denied(format!(
                "{} is not called: {}",
                self.host,
                refused.with_advice(ALLOW_PRIVATE)
            ));
        }
        if let Some(trouble) = Trouble::find(error) {
            return Error::Machine(trouble);
        }
        let what = if error.is_connect() { "cannot be reached" } else { "broke the connection" };
        self.later(&format!("{what}: {}", self.harmless(&connection_cause(error, WORDS))))
    }

    pub(super) async fn refusal(&self, service: Service, response: &mut Response) -> Error {
        let (status, after) = (response.status(), net::retry_after(response.headers()));
        let said = self.words(&beginning(self, response).await);
        let colon = if said.is_empty() { "" } else { ": " };
        let (host, action) = (&self.host, service.purpose());
        let busy = matches!(status.as_u16(), 408 | 429) || status.is_server_error();
        if busy || (status == StatusCode::FORBIDDEN && after.is_some()) {
            let until = after.map(|after| format!("; it can be asked again in {} s", after.as_secs()));
            let until = until.unwrap_or_default();
            let sentence = format!("{host} answered {}{colon}{said}{until}", status.as_u16());
            return Error::Later { sentence, after };
        }
        Error::Denied(match status.as_u16() {
            300..=399 => self.elsewhere(response.headers()),
            401 if self.keys.is_empty() => format!("{host} wants a token for this repository"),
            401 => format!(
                "{host} does not take the token: it is wrong, expired or revoked; give the project one that may {action} this repository"
            ),
            403 => format!("{host} does not let this token {action} the repository{colon}{said}"),
            404 => format!("{host} has no such repository, or does not show it to this token"),
            413 => format!("{host} does not take a push of this size"),
            code => format!("{host} answered {code}{colon}{said}"),
        })
    }

    fn elsewhere(&self, headers: &HeaderMap) -> String {
        let host = &self.host;
        let place = self.words(headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default());
        let place = if place.is_hidden() { "" } else { place.text() };
        let place = place.split(['?', '#']).next().unwrap_or_default();
        let parts = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];
        match parts.iter().find_map(|part| place.strip_suffix(part)).unwrap_or(place) {
            "" => format!("{host} sends requests elsewhere, which is not followed: use that address"),
            to => format!("{host} sends requests to {to}, which is not followed: use that address"),
        }
    }
}

/// What a refusal says, if that is plain text; an error in it is no news.
async fn beginning(place: &Place, response: &mut Response) -> String {
    let mut body = Vec::new();
    if header(response.headers(), CONTENT_TYPE.as_str()) != "text/plain" {
        return String::new();
    }
    while let Ok(Some(piece)) = place.patience(response.chunk()).await {
        body.extend_from_slice(&piece[..piece.len().min(REFUSAL - body.len())]);
        if body.len() == REFUSAL {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// A header without its parameters; empty when there is none.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_is_not_waited_out() {
        let place = Place { host: "git.test".to_owned(), keys: Vec::new(), may_quote: true };
        let told = place.patience(std::future::pending::<reqwest::Result<()>>()).await.unwrap_err();
        assert_eq!(told.to_string(), "git.test said nothing for 120 s");
    }
}
