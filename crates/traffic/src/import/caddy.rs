//! Parses Caddy's access log: one JSON object per line.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::timestamp::LogTimestamp;
use super::{MalformedLine, parse_address, parse_json};
use crate::event::RawEvent;

#[derive(Deserialize)]
struct Line<'a> {
    ts: Option<LogTimestamp>,
    status: Option<u16>,
    /// Missing in log entries that are not requests.
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    client_ip: Option<Cow<'a, str>>,
    remote_ip: Option<Cow<'a, str>>,
    method: Option<String>,
    uri: Option<String>,
    #[serde(default, borrow)]
    headers: HashMap<Cow<'a, str>, Vec<String>>,
}

pub(super) fn event(line: &str) -> Result<Option<RawEvent>, MalformedLine> {
    let line: Line<'_> = parse_json(line)?;
    let Some(mut request) = line.request else { return Ok(None) };
    let mut header = |name: &str| {
        let values = request.headers.iter_mut().find(|(key, _)| key.eq_ignore_ascii_case(name));
        values.and_then(|(_, values)| values.first_mut()).map(std::mem::take)
    };
    Ok(request.uri.is_some().then(|| RawEvent {
        user_agent: header("user-agent"),
        referrer: header("referer"),
        accept: header("accept"),
        path: request.uri,
        timestamp: line.ts.map(|LogTimestamp(at)| at),
        method: request.method,
        status: line.status,
        // The client's address from a trusted proxy, or the address of the connection.
        ip: request.client_ip.or(request.remote_ip).and_then(|ip| parse_address(&ip)),
        ..RawEvent::default()
    }))
}
