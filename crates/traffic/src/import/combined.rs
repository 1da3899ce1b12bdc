//! Parses access logs of nginx and Apache: `combined` and `common`, with an optional host name before and
//! more fields after.

use super::timestamp::{parse_common_log_time, parse_text};
use super::{MalformedLine, malformed, parse_address};
use crate::event::RawEvent;

/// `192.0.2.1 - - [15/Nov/2026:13:55:36 +0000] "GET /guide HTTP/1.1" 200 5120 "-" "Mozilla/5.0"`
pub(super) fn event(line: &str) -> Result<Option<RawEvent>, MalformedLine> {
    let (client, rest) = line.split_once(" [").ok_or_else(|| malformed("no [time] found"))?;
    let (time, rest) = rest.split_once(']').ok_or_else(|| malformed("the [time] is not closed"))?;
    let timestamp = parse_common_log_time(time)
        .or_else(|| parse_text(time))
        .ok_or_else(|| malformed("invalid timestamp"))?;
    let (request, rest) = parse_quoted(rest).ok_or_else(|| malformed("no \"request\" after the time"))?;
    let (status, rest) = next_word(rest);
    let status = status.parse().map_err(|_| malformed("no status after the request"))?;
    let (_bytes, rest) = next_word(rest);
    let (referrer, user_agent) = referrer_and_agent(rest)?;
    let Some((method, path)) = parse_request_line(&request) else { return Ok(None) };
    Ok(Some(RawEvent {
        path: Some(path.to_owned()),
        timestamp: Some(timestamp),
        method: Some(method.to_owned()),
        status: Some(status),
        user_agent,
        // `vhost_combined` of Apache has the host name before the address.
        ip: client.split(' ').take(2).find_map(parse_address),
        referrer,
        ..RawEvent::default()
    }))
}

/// Referrer and user agent, which `common` does not have.
fn referrer_and_agent(rest: &str) -> Result<(Option<String>, Option<String>), MalformedLine> {
    if !rest.trim_start().starts_with('"') {
        return Ok((None, None));
    }
    let both =
        parse_quoted(rest).and_then(|(referrer, rest)| Some((Some(referrer), Some(parse_quoted(rest)?.0))));
    both.ok_or_else(|| malformed("the line is incomplete"))
}

/// The method and path of a request. `None` for the invalid requests that scanners send.
fn parse_request_line(request: &str) -> Option<(&str, &str)> {
    let (method, rest) = request.split_once(' ')?;
    let path = rest.rsplit_once(" HTTP/").map_or(rest, |(path, _)| path);
    let page = path.starts_with('/') || path.starts_with("http://") || path.starts_with("https://");
    page.then_some((method, path))
}

fn next_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(' ').unwrap_or((text, ""))
}

/// Parses the next text in quotes. Returns it with the rest of the line.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    })?;
    Some((unescape(&text[..end]), &text[end + 1..]))
}

/// Decodes the escapes of nginx (`\x22`) and Apache (`\"`).
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = if *byte == b'\\' { decode_escape(after) } else { (*byte, after) };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes the escape after a backslash. A backslash without a valid escape stays.
fn decode_escape(after: &[u8]) -> (u8, &[u8]) {
    match after {
        [b'x', high, low, rest @ ..] => match (hex_digit(*high), hex_digit(*low)) {
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

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| digit.try_into().ok())
}
