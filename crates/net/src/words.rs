//! Other people's words, fit to be shown and kept.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use reqwest::Response;

use crate::{Secret, address};

/// What is said in place of words that are not shown.
const HIDDEN: &str =
    "its answer is not shown, because it comes from a private network; the server's log has it";

/// What another machine said about a failure. Its text is there to judge by, and is shown only when the machine has a
/// public address: who may choose an address must not learn what a service of this network answers.
#[derive(Debug, Clone, Default)]
pub struct Words {
    text: String,
    is_hidden: bool,
}

impl Words {
    /// Words of `host`, which are shown if `may_quote`, and go to the log otherwise.
    pub fn new(host: &str, text: String, may_quote: bool) -> Self {
        if !may_quote && !text.is_empty() {
            tracing::info!("{host} answers from a private network: {text}");
        }
        Self { text, is_hidden: !may_quote }
    }

    /// To judge by, and never to show.
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

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_hidden && !self.is_empty() { HIDDEN } else { &self.text })
    }
}

/// Whether the words of who answered may be shown: those of a machine with a public address.
pub fn may_quote(response: &Response) -> bool {
    response.remote_addr().is_some_and(|address| address::is_public(address.ip()) || is_test_host(address))
}

/// Hosts of tests, which are all on this machine and stand for public ones.
static TEST_HOSTS: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());

/// Takes a host of a test for one with a public address. Nothing that is shipped calls this.
pub fn quote_test_host(address: SocketAddr) {
    TEST_HOSTS.lock().unwrap_or_else(PoisonError::into_inner).push(address);
}

fn is_test_host(address: SocketAddr) -> bool {
    TEST_HOSTS.lock().unwrap_or_else(PoisonError::into_inner).contains(&address)
}

/// One line without control characters and changes of direction, cut at `most` characters.
pub fn harmless(text: &str, most: usize) -> String {
    let turns =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().filter(|c| !turns(*c)).take(most).collect()
}

/// The same without the key, which is looked for first: a part of it that a cut leaves would not be
/// found.
pub fn without(text: &str, key: &Secret, most: usize) -> String {
    harmless(&text.replace(key.reveal(), "[key]"), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_private_network_are_not_shown() {
        let secret = Words::new("10.0.0.1", "the password is 1234".into(), false);
        assert_eq!((secret.to_string(), secret.text()), (HIDDEN.into(), "the password is 1234"));
        assert_eq!(Words::new("10.0.0.1", String::new(), false).to_string(), "");
        assert_eq!(Words::new("git.test", "no such branch".into(), true).to_string(), "no such branch");
    }

    #[test]
    fn words_are_harmless_and_keep_no_key() {
        let key = Secret::parse("abc-123").unwrap();
        let said = without("\u{1b}[31mno\r\n\u{202e}such abc-123 here", &key, 24);
        assert_eq!(said, "[31mno such [key] here");
        assert_eq!(without("0123456789abc-123", &key, 12), "0123456789[k");
    }
}
