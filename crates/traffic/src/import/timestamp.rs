//! Parses the timestamp formats of logs.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::range::parse_timestamp;

/// A timestamp in a JSON log: seconds, milliseconds, microseconds or nanoseconds since 1970, or text.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogTimestamp(pub(super) Timestamp);

impl<'de> Deserialize<'de> for LogTimestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TimestampVisitor;
        impl Visitor<'_> for TimestampVisitor {
            type Value = LogTimestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a timestamp")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<LogTimestamp, E> {
                from_integer(value.into())
                    .map(LogTimestamp)
                    .ok_or_else(|| E::custom("timestamp out of range"))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<LogTimestamp, E> {
                from_integer(value.into())
                    .map(LogTimestamp)
                    .ok_or_else(|| E::custom("timestamp out of range"))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<LogTimestamp, E> {
                from_float(value).map(LogTimestamp).ok_or_else(|| E::custom("timestamp out of range"))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<LogTimestamp, E> {
                parse_text(value).map(LogTimestamp).ok_or_else(|| E::custom("invalid timestamp"))
            }
        }
        from.deserialize_any(TimestampVisitor)
    }
}

/// Parses ISO 8601, also with slashes, or a number. Eight digits are a date.
pub(super) fn parse_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let numeric = text.len() != 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match numeric {
        true if text.contains('.') => from_float(text.parse().ok()?),
        true => from_integer(text.parse().ok()?),
        false => parse_timestamp(text).or_else(|_| parse_timestamp(&text.replace('/', "-"))).ok(),
    }
}

/// Infers the unit from the magnitude, because logs are from recent years.
fn from_integer(number: i128) -> Option<Timestamp> {
    let millis = match number.unsigned_abs().checked_ilog10() {
        None | Some(..=10) => number * 1_000,
        Some(..=13) => number,
        Some(..=16) => number.div_euclid(1_000),
        Some(_) => number.div_euclid(1_000_000),
    };
    Timestamp::from_millisecond(millis.try_into().ok()?).ok()
}

/// Rounds to microseconds first, so that 12.345 seconds do not become 12.344.
fn from_float(number: f64) -> Option<Timestamp> {
    let micros = if number.abs() < 1e11 { number * 1e6 } else { number * 1e3 };
    let known = micros.is_finite() && micros.abs() < 1e17;
    Timestamp::from_millisecond(known.then(|| (micros.round() as i64).div_euclid(1_000))?).ok()
}

/// Parses the format of nginx and Apache: `15/Nov/2026:13:55:36 +0100`.
pub(super) fn parse_common_log_time(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, offset) = text.split_once(' ')?;
    let mut parts = date.split(['/', ':']);
    let mut number = || parts.next()?.parse::<i8>().ok();
    let day = number()?;
    let month = parts.next().and_then(|name| MONTHS.iter().position(|known| *known == name))?;
    let year: i16 = parts.next()?.parse().ok()?;
    let mut number = || parts.next()?.parse::<i8>().ok();
    // A leap second counts as the second before it.
    let (hour, minute, second) = (number()?, number()?, number()?.min(59));
    let local = DateTime::new(year, i8::try_from(month + 1).ok()?, day, hour, minute, second, 0).ok()?;
    let (hours, minutes) = offset.split_at_checked(3)?;
    let minutes: i32 = minutes.parse().ok().filter(|minutes| (0..60).contains(minutes))?;
    let hours: i32 = hours.parse().ok()?;
    let minutes = if offset.starts_with('-') { -minutes } else { minutes };
    Offset::from_seconds(hours * 3_600 + minutes * 60).ok()?.to_timestamp(local).ok()
}
