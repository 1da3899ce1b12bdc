//! Parses and validates one page view from a log line or a beacon. Input becomes an [`Event`] here, and only
//! here.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};

use crate::accept::prefers_markdown;
use crate::asset::is_asset;
use crate::assistants::host_of_url;
use crate::classify::{Class, classify};
use crate::path::{Page, normalize_page};

/// How far a sender's clock may be ahead.
const MAX_AHEAD: SignedDuration = SignedDuration::from_hours(24);
/// 2000-01-01. An earlier timestamp comes from a clock that was never set.
const MIN_TIMESTAMP_MS: i64 = 946_684_800_000;
const MAX_EVENT_ID: usize = 255;
const MAX_USER_AGENT: usize = 1024;
const MAX_REFERRER: usize = 512;

/// A page view as it arrives. Every field may be missing.
#[derive(Debug, Clone, Default)]
pub struct RawEvent {
    pub path: Option<String>,
    pub url: Option<String>,
    pub timestamp: Option<Timestamp>,
    pub method: Option<String>,
    pub status: Option<u16>,
    pub user_agent: Option<String>,
    pub ip: Option<String>,
    pub referrer: Option<String>,
    pub accept: Option<String>,
    pub event_id: Option<String>,
    /// A script in the page reported the view, so it was HTML, whatever its extension.
    pub from_page_script: bool,
}

/// Why an event is rejected, as a sentence for its sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rejection(pub String);

/// The kind of a request. The numbers are stored on disk and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Read = 0,
    /// A request for a missing page.
    NotFound = 1,
    /// Another method, another status, or an asset.
    Other = 2,
    /// A request that was redirected to another address.
    Redirected = 3,
}

/// A valid page view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Milliseconds since 1970, rounded down.
    pub(crate) at: i64,
    pub(crate) path: String,
    pub(crate) markdown: bool,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
    pub(crate) status: Option<u16>,
    pub(crate) user_agent: Option<String>,
    /// Host and path of the page that linked here.
    pub(crate) referrer: Option<String>,
    pub(crate) event_id: Option<String>,
    /// Never stored. It is hashed into a visitor when the event is ingested.
    pub(crate) address: Option<IpAddr>,
}

impl Event {
    pub fn at(&self) -> i64 {
        self.at
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn class(&self) -> Class {
        self.class
    }

    /// The same view with another class, as another version of the agent table would classify it.
    #[must_use]
    pub fn with_class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Excludes the view from counts if it is a read by a human, because another source reports those.
    #[must_use]
    pub fn without_human_read(mut self) -> Self {
        if self.class == Class::Human && self.kind == Kind::Read {
            self.kind = Kind::Other;
        }
        self
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let texts = [&self.user_agent, &self.referrer, &self.event_id];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        size_of::<Self>() + self.path.len() + texts
    }
}

/// Parses an event that arrived at `received`.
pub fn parse_event(raw: RawEvent, received: Timestamp) -> Result<Event, Rejection> {
    let Page { path, markdown } = requested_page(&raw)?;
    // Assistants often send no referrer, but add their name to the links in their answers.
    let assistant = raw.path.as_deref().or(raw.url.as_deref()).and_then(host_of_url).map(str::to_owned);
    let at = parse_time(raw.timestamp, received)?;
    check_status(raw.status)?;
    let address = parse_address(non_empty(raw.ip).as_deref())?;
    check_event_id(raw.event_id.as_deref())?;
    let kind = kind(raw.method.as_deref(), raw.status, &path);
    let markdown = !raw.from_page_script && (markdown || raw.accept.as_deref().is_some_and(prefers_markdown));
    let user_agent = non_empty(raw.user_agent).map(|text| truncate(text, MAX_USER_AGENT));
    let class = classify(user_agent.as_deref(), markdown);
    let referrer = non_empty(raw.referrer).and_then(|text| host_and_path(&text)).or(assistant);
    let (status, event_id) = (raw.status, raw.event_id);
    Ok(Event { at, path, markdown, kind, class, status, user_agent, referrer, event_id, address })
}

fn requested_page(raw: &RawEvent) -> Result<Page, Rejection> {
    let text = raw.path.as_ref().or(raw.url.as_ref());
    let text = text.ok_or_else(|| Rejection("an event needs `path` or `url`".into()))?;
    normalize_page(text).map_err(|bad| Rejection(bad.to_string()))
}

fn parse_time(timestamp: Option<Timestamp>, received: Timestamp) -> Result<i64, Rejection> {
    let at = timestamp.unwrap_or(received);
    if at.duration_since(received) > MAX_AHEAD {
        return Err(Rejection(format!("timestamp {at} is more than a day ahead of the server's clock")));
    }
    let at_ms = at.as_millisecond();
    if at_ms < MIN_TIMESTAMP_MS {
        return Err(Rejection(format!("timestamp {at} is before the year 2000")));
    }
    Ok(at_ms)
}

fn check_status(status: Option<u16>) -> Result<(), Rejection> {
    match status {
        Some(status) if !(100..=599).contains(&status) => {
            Err(Rejection(format!("status must be between 100 and 599, got {status}")))
        }
        _ => Ok(()),
    }
}

fn parse_address(ip: Option<&str>) -> Result<Option<IpAddr>, Rejection> {
    let address = ip.map(|ip| ip.trim().parse::<IpAddr>()).transpose();
    address.map_err(|_| Rejection("ip must be an IPv4 or IPv6 address".into()))
}

fn check_event_id(id: Option<&str>) -> Result<(), Rejection> {
    let length = id.map(|id| id.chars().take(MAX_EVENT_ID + 1).count());
    match length {
        None | Some(1..=MAX_EVENT_ID) => Ok(()),
        Some(_) => Err(Rejection("eventId must be 1 to 255 characters long".into())),
    }
}

fn kind(method: Option<&str>, status: Option<u16>, path: &str) -> Kind {
    let get = method.is_none_or(|method| method.eq_ignore_ascii_case("GET"));
    match status {
        _ if !get || is_asset(path) => Kind::Other,
        None | Some(200..=299 | 304) => Kind::Read,
        Some(404 | 410) => Kind::NotFound,
        Some(301 | 302 | 303 | 307 | 308) => Kind::Redirected,
        Some(_) => Kind::Other,
    }
}

/// `None` for an empty text and for `-`, which logs write for a missing value.
fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !matches!(text.trim(), "" | "-"))
}

fn truncate(mut text: String, max_bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(max_bytes));
    text.shrink_to_fit();
    text
}

/// Strips the query and the user name of a referrer, because they may contain secrets.
fn host_and_path(url: &str) -> Option<String> {
    let (_, rest) = url.trim().split_once("://")?;
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let text = format!("{host}{}", path.trim_end_matches('/'));
    (!host.is_empty() && !text.contains(char::is_control)).then(|| truncate(text, MAX_REFERRER))
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
