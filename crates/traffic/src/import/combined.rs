//! nginx's and Apache's access logs: `combined`, `common`, and both with the name of the host before
//! them or more after them.

use super::when::{common, words};
use super::{Malformed, address, malformed};
use crate::event::RawEvent;

/// `192.0.2.1 - - [15/Nov/2026:13:55:36 +0000] "GET /guide HTTP/1.1" 200 5120 "-" "Mozilla/5.0"`
pub(super) fn event(line: &str) -> Result<Option<RawEvent>, Malformed> {
    let (who, rest) = line.split_once(" [").ok_or_else(|| malformed("no [time] in it"))?;
    let (time, rest) = rest.split_once(']').ok_or_else(|| malformed("a time that does not end"))?;
    let timestamp = common(time).or_else(|| words(time)).ok_or_else(|| malformed("a time that is none"))?;
    let (request, rest) = quoted(rest).ok_or_else(|| malformed("no \"request\" after the time"))?;
    let (status, rest) = word(rest);
    let status = status.parse().map_err(|_| malformed("no status after the request"))?;
    let (_bytes, rest) = word(rest);
    let (referrer, user_agent) = from_where(rest)?;
    let Some((method, path)) = asked(&request) else { return Ok(None) };
    Ok(Some(RawEvent {
        path: Some(path.to_owned()),
        timestamp: Some(timestamp),
        method: Some(method.to_owned()),
        status: Some(status),
        user_agent,
        // Apache's `vhost_combined` has the host's name before the address.
        ip: who.split(' ').take(2).find_map(address),
        referrer,
        ..RawEvent::default()
    }))
}

/// Referrer and user agent, which `common` does not have.
fn from_where(rest: &str) -> Result<(Option<String>, Option<String>), Malformed> {
    if !rest.trim_start().starts_with('"') {
        return Ok((None, None));
    }
    let both = quoted(rest).and_then(|(referrer, rest)| Some((Some(referrer), Some(quoted(rest)?.0))));
    both.ok_or_else(|| malformed("a line that is cut off"))
}

/// Method and path. What scanners send instead is in the log, too, and asks for no page.
fn asked(request: &str) -> Option<(&str, &str)> {
    let (method, rest) = request.split_once(' ')?;
    let path = rest.rsplit_once(" HTTP/").map_or(rest, |(path, _)| path);
    let page = path.starts_with('/') || path.starts_with("http://") || path.starts_with("https://");
    page.then_some((method, path))
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(' ').unwrap_or((text, ""))
}

/// The next text in quotes, and what comes after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    })?;
    Some((unescaped(&text[..end]), &text[end + 1..]))
}

/// nginx writes `\x22`, Apache `\"`.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = if *byte == b'\\' { escape(after) } else { (*byte, after) };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a backslash and the bytes after it stand for. One that stands for nothing is itself.
fn escape(after: &[u8]) -> (u8, &[u8]) {
    match after {
        [b'x', high, low, rest @ ..] => match (digit(*high), digit(*low)) {
            (Some(high), Some(low)) => (high << 4 | low, rest),
            _ => (b'\\', after),
        },
        [b'n', rest @ ..] => (b'\n', rest),
        [b't', rest @ ..] => (b'\t', rest),
        [b'r', rest @ ..] => (b'\r', rest),
        [byte @ (b'"' | b'\\'), rest @ ..] => (*byte, rest),
        _ => (b'\\', after),
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| digit.try_into().ok())
}
