//! How long a server wants to be left alone.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Nobody is made to wait longer than this by a header.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// How long to wait, as the headers have it: in milliseconds, in seconds, or until a moment. That
/// is compared with the server's own idea of the time, if it tells one.
pub fn wait(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = header("retry-after-ms").and_then(seconds) {
        return Some(wait / 1000);
    }
    let asked = header(RETRY_AFTER.as_str())?;
    seconds(asked).or_else(|| {
        let now = header(DATE.as_str()).and_then(moment).unwrap_or_else(Timestamp::now);
        let wait = moment(asked)?.duration_since(now);
        Some(Duration::try_from(wait).unwrap_or(Duration::ZERO).min(LONGEST_WAIT))
    })
}

/// A number of seconds as a header or a body has it.
pub fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    let wait = Duration::try_from_secs_f64(number).ok()?;
    Some(wait.min(LONGEST_WAIT))
}

fn moment(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}
