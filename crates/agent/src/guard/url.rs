//! Determines the host of an address, and whether the address contains data.

use super::ignorable::is_ignorable;
use super::random::looks_random;
use super::unescape::{from_base64, from_hex, unescape};

/// Longer parts are judged up to here. The rule `secret` judges the rest.
const MAX_PART_BYTES: usize = 512;
/// Shorter parts are not judged as encoded data.
const MIN_DATA_BYTES: usize = 24;
/// Ids of videos, gists and documents are shorter.
const MIN_PAYLOAD_BYTES: usize = 40;
const MAX_QUERY_BYTES: usize = 300;

/// Removes the characters that browsers and renderers ignore.
pub(super) fn strip_ignored(address: &str) -> String {
    let is_dropped = |c: &char| c.is_whitespace() || c.is_control() || is_ignorable(*c);
    address.chars().filter(|c| !is_dropped(c)).collect()
}

/// Resolves percent encoding.
pub(super) fn decoded(address: &str) -> String {
    percent_encoding::percent_decode_str(address).decode_utf8_lossy().into_owned()
}

/// The host that a browser would connect to, in lowercase. `None` if the address is on the same site. Browsers ignore
/// white space and read a backslash as a slash.
pub(super) fn host(address: &str) -> Option<String> {
    let address = strip_ignored(address).replace('\\', "/").to_lowercase();
    let rest =
        ["https:", "http:", "ftp:", "wss:", "ws:"].iter().find_map(|scheme| address.strip_prefix(scheme));
    let rest = rest.or_else(|| address.starts_with("//").then_some(address.as_str()))?;
    let authority = rest.trim_start_matches('/').split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_owned())
}

/// The part of a host that a sentence can contain: its last two labels, if they are plain.
pub(super) fn short_host(host: &str) -> String {
    let plain = |label: &str| {
        label.len() <= 30
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !looks_random(label)
    };
    let mut labels: Vec<&str> = host.rsplit('.').take(2).collect();
    labels.reverse();
    if labels.iter().all(|label| plain(label)) { labels.join(".") } else { "another host".to_owned() }
}

/// Data in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    /// Data that decodes to text.
    Readable,
    /// Random data in the host or the query.
    Opaque,
    /// Random data that is as short as an id, or in the path, where ids of documents are.
    Id,
    /// A very long query.
    Long,
}

pub(super) fn payload(address: &str) -> Option<Payload> {
    let plain = unescape(address).text;
    let rest = plain.split_once("//").map_or(plain.as_str(), |(_, rest)| rest);
    let (location, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (authority, path) = location.split_at(location.find('/').unwrap_or(location.len()));
    if parts(rest).any(is_readable) {
        return Some(Payload::Readable);
    }
    let long_parts = parts(query).filter(|part| part.len() >= MIN_PAYLOAD_BYTES);
    if long_parts.chain(authority.split('.')).any(is_opaque) {
        return Some(Payload::Opaque);
    }
    if parts(path).chain(parts(query)).any(|part| is_opaque(part) && !is_commit(part)) {
        return Some(Payload::Id);
    }
    (query.len() > MAX_QUERY_BYTES).then_some(Payload::Long)
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['/', '?', '&', '=', '#', ';', ':', ',', '.', '~', '|', '$', '!', '@', '(', ')']);
    parts
        .filter(|part| part.len() >= MIN_DATA_BYTES)
        .map(|part| &part[..part.floor_char_boundary(MAX_PART_BYTES)])
}

fn is_opaque(part: &str) -> bool {
    part.len() >= MIN_DATA_BYTES && looks_random(part) && !is_uuid(part)
}

fn is_uuid(part: &str) -> bool {
    part.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

/// Whether a part is the hash of a commit or a digest, as in links to source code.
fn is_commit(part: &str) -> bool {
    matches!(part.len(), 40 | 64) && part.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_readable(part: &str) -> bool {
    let is_text = |text: &str| {
        text.len() >= MIN_DATA_BYTES / 2
            && text.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c == '\n')
            && {
                let letters = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').count();
                letters * 4 >= text.len() * 3
            }
    };
    let in_alphabet = part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    let hex = from_hex(part).text;
    in_alphabet && is_text(&from_base64(part, 0).text)
        || part.bytes().all(|b| b.is_ascii_hexdigit()) && hex.lines().next().is_some_and(is_text)
}

/// Whether a label of the host imitates another one.
pub(super) fn is_lookalike(host: &str) -> bool {
    host.split('.').filter(|label| !label.is_ascii()).any(|label| {
        let latin = label.chars().any(|c| c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}'));
        let other = label
            .chars()
            .any(|c| matches!(c, '\u{370}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{13ff}'));
        let only_lookalikes = label.chars().all(|c| c.is_ascii_digit() || c == '-' || LOOKALIKES.contains(c));
        latin && other || only_lookalikes || label.chars().any(|c| PUNCTUATION_LOOKALIKES.contains(c))
    })
}

/// Letters of other scripts that look like Latin ones.
const LOOKALIKES: &str = "асеорхуіѕјԁһӏԛԝьԍցոսհοανρτικ";
/// Characters that look like a slash, a dot or a hyphen.
const PUNCTUATION_LOOKALIKES: &str = "\u{2044}\u{2215}\u{29f8}\u{3002}\u{ff0e}\u{ff0f}\u{2024}\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2212}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        #[track_caller]
        fn check(address: &str, expected: Option<&str>) {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
        check("https://A.example:8080/x", Some("a.example"));
        check("//cdn.example/x.js", Some("cdn.example"));
        check("https:\\\\evil.example\\x", Some("evil.example"));
        check("ht\ntps://evil.example", Some("evil.example"));
        check("https://good.example@evil.example/", Some("evil.example"));
        check("http:evil.example", Some("evil.example"));
        check("/img/a.png", None);
        check("../a.png", None);
        check("mailto:a@b.example", None);
    }

    #[test]
    fn payloads() {
        #[track_caller]
        fn check(address: &str, expected: Option<Payload>) {
            assert_eq!(payload(address), expected, "{address}");
        }
        check("https://a.example/docs/how-to-deploy-version-2-on-kubernetes#before-you-begin", None);
        check("https://a.example/x?utm_source=docs&utm_campaign=launch-of-the-new-version", None);
        check("https://github.com/a/b/blob/9f86d081884c7d659a2feaa0c55ad0159f86d081/x.rs#L10-L20", None);
        check("https://a.example/3f2504e0-4f89-41d3-9a0c-0305e82c3301", None);
        check("https://a.example/?d=dGhlIHBhc3N3b3JkIGlzIGh1bnRlcjI", Some(Payload::Readable));
        check("https://a.example/746865207061737377677264206973206e6f74", Some(Payload::Readable));
        check("https://a.example/?d=kJ8fT2mQz5RrLw0XyV3bN7cH1dGs", Some(Payload::Id));
        check("https://a.example/?d=kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYoQ9xZ", Some(Payload::Opaque));
        check("https://a.example/with-a-very-long-name-of-a-page/rustls-platform-verifier", None);
        check("https://kJ8fT2mQz5RrLw0XyV3bN7cH1dGs.a.example/", Some(Payload::Opaque));
        check(
            "https://docs.google.com/document/d/1kJ8fT2mQz5RrLw0XyV3bN7cH1dGs6PaE4uYo/edit",
            Some(Payload::Id),
        );
        check(&format!("https://a.example/?q={}", "plain+words+".repeat(30)), Some(Payload::Long));
    }

    #[test]
    fn lookalikes() {
        for host in ["gіthub.com", "аррӏе.com", "googlе.com", "a.example\u{2215}x.com"] {
            assert!(is_lookalike(host), "{host}");
        }
        for host in ["github.com", "müller.de", "пример.рф", "日本.jp", "ελληνικά.gr"] {
            assert!(!is_lookalike(host), "{host}");
        }
    }
}
