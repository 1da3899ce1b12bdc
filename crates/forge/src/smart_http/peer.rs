//! Turns HTTP failures and timeouts of a git host into errors. The sentences name the host and never contain
//! a secret.

use std::time::Duration;

use machine::Trouble;
use net::{BlockedAddress, RemoteMessage, Secret, connection_cause, find_cause};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Request, Response, StatusCode, Url};
use tokio::time::timeout;

use super::transport::Service;
use crate::{ALLOW_PRIVATE, Error, Result};

/// A working host sends a keep-alive every five seconds, but a proxy may buffer it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How much of an error response is read, and how much of it is quoted.
const MAX_REFUSAL_BYTES: usize = 16 << 10;
const MAX_QUOTED_CHARS: usize = 300;

/// A git host, with the secrets to redact from its messages.
pub(super) struct Peer {
    pub(super) host: String,
    /// The token, and the header value derived from it.
    secrets: Vec<Secret>,
    /// Whether the host's messages may be quoted. Its IP address decides.
    may_quote: bool,
}

impl Peer {
    pub(super) fn new(url: &Url, request: &Request, token: Option<Secret>) -> Self {
        let sent = header(request.headers(), AUTHORIZATION.as_str());
        let sent = Secret::parse(sent.trim_start_matches("Basic "));
        let secrets = token.into_iter().chain(sent).collect();
        Self { host: url.authority().to_owned(), secrets, may_quote: false }
    }

    /// Decides from the response whether messages may be quoted.
    pub(super) fn with_response(self, response: &Response) -> Self {
        Self { may_quote: net::may_quote(response), ..self }
    }

    /// The host's message, redacted.
    pub(super) fn quote(&self, message: &str) -> RemoteMessage {
        RemoteMessage::new(&self.host, self.redact(message), self.may_quote)
    }

    fn redact(&self, message: &str) -> String {
        let message = self
            .secrets
            .iter()
            .fold(message.to_owned(), |message, secret| message.replace(secret.reveal(), "[key]"));
        net::sanitize(&message, MAX_QUOTED_CHARS)
    }

    pub(super) fn denied_error(&self, what: &str) -> Error {
        Error::Denied(format!("{} {what}", self.host))
    }

    pub(super) fn temporary_error(&self, what: &str) -> Error {
        Error::Temporary { sentence: format!("{} {what}", self.host), retry_after: None }
    }

    pub(super) async fn with_idle_timeout<T>(
        &self,
        what: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T> {
        match timeout(IDLE_TIMEOUT, what).await {
            Ok(done) => done.map_err(|error| self.connection_error(&error)),
            Err(_) => Err(self.temporary_error(&format!("sent nothing for {} s", IDLE_TIMEOUT.as_secs()))),
        }
    }

    fn connection_error(&self, error: &reqwest::Error) -> Error {
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
        let what = if error.is_connect() { "cannot be reached" } else { "closed the connection" };
        self.temporary_error(&format!("{what}: {}", self.redact(&connection_cause(error, MAX_QUOTED_CHARS))))
    }

    pub(super) async fn status_error(&self, service: Service, response: &mut Response) -> Error {
        let (status, retry_after) = (response.status(), net::retry_after(response.headers()));
        let message = self.quote(&read_refusal_text(self, response).await);
        let separator = if message.is_empty() { "" } else { ": " };
        let (host, action) = (&self.host, service.purpose());
        let is_temporary = matches!(status.as_u16(), 408 | 429) || status.is_server_error();
        if is_temporary || (status == StatusCode::FORBIDDEN && retry_after.is_some()) {
            let wait = retry_after.map(|retry_after| format!("; try again in {} s", retry_after.as_secs()));
            let wait = wait.unwrap_or_default();
            let sentence = format!("{host} answered {}{separator}{message}{wait}", status.as_u16());
            return Error::Temporary { sentence, retry_after };
        }
        if status == StatusCode::UNAUTHORIZED && !self.secrets.is_empty() {
            return Error::TokenRefused(format!(
                "{host} does not accept the token: it is wrong, expired or revoked; give the project a token that may {action} this repository"
            ));
        }
        Error::Denied(match status.as_u16() {
            300..=399 => self.redirect_message(response.headers()),
            401 => format!("{host} requires a token for this repository: give the project a token"),
            403 => format!("{host} does not let this token {action} the repository{separator}{message}"),
            404 => format!(
                "{host} has no such repository, or the token may not see it: check the address and the token"
            ),
            413 => format!(
                "{host} refuses a push of this size: make a smaller change, or raise the limit on {host}"
            ),
            code => format!("{host} answered {code}{separator}{message}"),
        })
    }

    fn redirect_message(&self, headers: &HeaderMap) -> String {
        let host = &self.host;
        let location = self.quote(headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default());
        let location = if location.is_hidden() { "" } else { location.text() };
        let location = location.split(['?', '#']).next().unwrap_or_default();
        let parts = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];
        match parts.iter().find_map(|part| location.strip_suffix(part)).unwrap_or(location) {
            "" => format!(
                "{host} redirects to another address, and redirects are not followed: give the project the new address"
            ),
            to => format!(
                "{host} redirects to {to}, and redirects are not followed: give the project that address"
            ),
        }
    }
}

/// The text of an error response, if it is plain text. Read errors are ignored: the request failed anyway.
async fn read_refusal_text(peer: &Peer, response: &mut Response) -> String {
    let mut body = Vec::new();
    if header(response.headers(), CONTENT_TYPE.as_str()) != "text/plain" {
        return String::new();
    }
    while let Ok(Some(chunk)) = peer.with_idle_timeout(response.chunk()).await {
        body.extend_from_slice(&chunk[..chunk.len().min(MAX_REFUSAL_BYTES - body.len())]);
        if body.len() == MAX_REFUSAL_BYTES {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// A header value without its parameters; empty when the header is missing.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_host_times_out() {
        let peer = Peer { host: "git.test".to_owned(), secrets: Vec::new(), may_quote: true };
        let error = peer.with_idle_timeout(std::future::pending::<reqwest::Result<()>>()).await.unwrap_err();
        assert_eq!(error.to_string(), "git.test sent nothing for 120 s");
    }
}
