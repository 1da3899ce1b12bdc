//! Sanitizes text from remote hosts, and hides what hosts in private networks respond.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use reqwest::Response;

use crate::{Secret, address};

/// Shown instead of a hidden message.
const HIDDEN: &str =
    "its answer is not shown, because it comes from a private network; the server's log has it";

/// A remote host's message about a failure. It is shown only if the host has a public address: a user who can
/// configure a URL must not learn what internal services respond.
#[derive(Debug, Clone, Default)]
pub struct RemoteMessage {
    text: String,
    is_hidden: bool,
}

impl RemoteMessage {
    /// A message of `host`. It is shown if `may_quote`, and logged otherwise.
    pub fn new(host: &str, text: String, may_quote: bool) -> Self {
        if !may_quote && !text.is_empty() {
            tracing::info!("{host} answers from a private network: {text}");
        }
        Self { text, is_hidden: !may_quote }
    }

    /// The text, to classify the failure by. Never show it; use `Display`.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }
}

impl fmt::Display for RemoteMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_hidden && !self.is_empty() { HIDDEN } else { &self.text })
    }
}

/// Whether the text of this response may be shown: the host has a public address.
pub fn may_quote(response: &Response) -> bool {
    response.remote_addr().is_some_and(|address| address::is_public(address.ip()) || is_test_host(address))
}

/// Hosts of tests. They are on this machine and count as public.
static TEST_HOSTS: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());

/// Treats a test's host as public. Only tests call this.
pub fn quote_test_host(address: SocketAddr) {
    TEST_HOSTS.lock().unwrap_or_else(PoisonError::into_inner).push(address);
}

fn is_test_host(address: SocketAddr) -> bool {
    TEST_HOSTS.lock().unwrap_or_else(PoisonError::into_inner).contains(&address)
}

/// Makes untrusted text safe to show: one line, without control and bidirectional formatting characters,
/// truncated to `max_chars`.
pub fn sanitize(text: &str, max_chars: usize) -> String {
    let is_invisible_format =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().filter(|c| !is_invisible_format(*c)).take(max_chars).collect()
}

/// Sanitizes text and redacts the key. Redacts first, because part of a truncated key would not be found.
pub fn redact(text: &str, key: &Secret, max_chars: usize) -> String {
    sanitize(&text.replace(key.reveal(), "[key]"), max_chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_from_a_private_network_are_hidden() {
        let secret = RemoteMessage::new("10.0.0.1", "the password is 1234".into(), false);
        assert_eq!((secret.to_string(), secret.text()), (HIDDEN.into(), "the password is 1234"));
        assert_eq!(RemoteMessage::new("10.0.0.1", String::new(), false).to_string(), "");
        assert_eq!(
            RemoteMessage::new("git.test", "no such branch".into(), true).to_string(),
            "no such branch"
        );
    }

    #[test]
    fn control_characters_are_removed_and_the_key_is_redacted() {
        let key = Secret::parse("abc-123").unwrap();
        let message = redact("\u{1b}[31mno\r\n\u{202e}such abc-123 here", &key, 24);
        assert_eq!(message, "[31mno such [key] here");
        assert_eq!(redact("0123456789abc-123", &key, 12), "0123456789[k");
    }
}
