//! Parses Vercel's log drain: one JSON object per line.

use serde::Deserialize;

use super::timestamp::LogTimestamp;
use super::{MalformedLine, parse_address, parse_json};
use crate::event::RawEvent;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: Option<String>,
    request_id: Option<String>,
    timestamp: Option<LogTimestamp>,
    status_code: Option<i32>,
    /// Missing in messages of builds and functions.
    proxy: Option<Proxy>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proxy {
    timestamp: Option<LogTimestamp>,
    method: Option<String>,
    path: Option<String>,
    #[serde(default)]
    user_agent: OneOrMore,
    referer: Option<String>,
    status_code: Option<i32>,
    client_ip: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum OneOrMore {
    #[default]
    None,
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn first(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::One(text) => Some(text),
            Self::More(texts) => texts.into_iter().next(),
        }
    }
}

pub(super) fn event(line: &str) -> Result<Option<RawEvent>, MalformedLine> {
    let line: Line = parse_json(line)?;
    let Some(proxy) = line.proxy.filter(|proxy| proxy.path.is_some()) else { return Ok(None) };
    // A negative status means that the function is still running. Its end is another line.
    let status = proxy.status_code.or(line.status_code).filter(|status| *status != 0);
    let Ok(status) = status.map(u16::try_from).transpose() else { return Ok(None) };
    Ok(Some(RawEvent {
        path: proxy.path,
        timestamp: proxy.timestamp.or(line.timestamp).map(|LogTimestamp(at)| at),
        method: proxy.method,
        status,
        user_agent: proxy.user_agent.first(),
        ip: proxy.client_ip.and_then(|ip| parse_address(&ip)),
        referrer: proxy.referer,
        // A request can have several lines, and a drain can send a line twice.
        event_id: line.request_id.or(line.id).filter(|id| !id.is_empty()),
        ..RawEvent::default()
    }))
}
