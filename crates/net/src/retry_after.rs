//! Parses `Retry-After` headers: how long to wait before the next request.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Bounds the wait that a server can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// The wait that the headers ask for: `retry-after-ms`, or `Retry-After` in seconds or as a date. A date is
/// compared with the `Date` header, because the server's clock may differ from ours.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = header("retry-after-ms").and_then(parse_seconds) {
        return Some(wait / 1000);
    }
    let value = header(RETRY_AFTER.as_str())?;
    parse_seconds(value).or_else(|| {
        let now = header(DATE.as_str()).and_then(parse_http_date).unwrap_or_else(Timestamp::now);
        let wait = parse_http_date(value)?.duration_since(now);
        Some(Duration::try_from(wait).unwrap_or(Duration::ZERO).min(MAX_RETRY_AFTER))
    })
}

/// Parses a number of seconds from a header or a body.
pub fn parse_seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    let wait = Duration::try_from_secs_f64(number).ok()?;
    Some(wait.min(MAX_RETRY_AFTER))
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}
