//! Parses Cloudflare's Logpush of HTTP requests: one JSON object per line.

use serde::Deserialize;

use super::timestamp::LogTimestamp;
use super::{MalformedLine, parse_address, parse_json};
use crate::event::RawEvent;

/// The status of nginx for a client that closed the connection; Cloudflare logs 0.
const CLIENT_CLOSED_REQUEST: u16 = 499;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    edge_start_timestamp: Option<LogTimestamp>,
    #[serde(rename = "ClientRequestURI")]
    client_request_uri: Option<String>,
    client_request_path: Option<String>,
    client_request_method: Option<String>,
    client_request_user_agent: Option<String>,
    client_request_referer: Option<String>,
    client_request_source: Option<String>,
    #[serde(rename = "ClientIP")]
    client_ip: Option<String>,
    edge_response_status: Option<u16>,
    #[serde(rename = "RayID")]
    ray_id: Option<String>,
}

pub(super) fn event(line: &str) -> Result<Option<RawEvent>, MalformedLine> {
    let line: Line = parse_json(line)?;
    let path = line.client_request_uri.or(line.client_request_path);
    // Requests by Cloudflare Workers are not reads.
    let by_reader = line.client_request_source.is_none_or(|source| source == "eyeball");
    Ok(path.filter(|_| by_reader).map(|path| RawEvent {
        path: Some(path),
        timestamp: line.edge_start_timestamp.map(|LogTimestamp(at)| at),
        method: line.client_request_method,
        status: line
            .edge_response_status
            .map(|status| if status == 0 { CLIENT_CLOSED_REQUEST } else { status }),
        user_agent: line.client_request_user_agent,
        ip: line.client_ip.and_then(|ip| parse_address(&ip)),
        referrer: line.client_request_referer,
        // Logpush may deliver a request twice.
        event_id: line.ray_id.filter(|id| !id.is_empty()),
        ..RawEvent::default()
    }))
}
