//! Caddy's access log, a JSON object a line.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::when::When;
use super::{Malformed, address, object};
use crate::event::RawEvent;

#[derive(Deserialize)]
struct Line<'a> {
    ts: Option<When>,
    status: Option<u16>,
    /// What Caddy logs besides requests has none.
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

pub(super) fn event(line: &str) -> Result<Option<RawEvent>, Malformed> {
    let line: Line<'_> = object(line)?;
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
        timestamp: line.ts.map(|When(at)| at),
        method: request.method,
        status: line.status,
        // The client's, if a proxy that is trusted told of it; else the connection's.
        ip: request.client_ip.or(request.remote_ip).and_then(|ip| address(&ip)),
        ..RawEvent::default()
    }))
}
