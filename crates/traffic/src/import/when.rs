//! When it was, in the many ways that logs have to say it.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::range::moment;

/// A moment in a JSON log: seconds, milliseconds, microseconds or nanoseconds since 1970, or words.
#[derive(Debug, Clone, Copy)]
pub(super) struct When(pub(super) Timestamp);

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Moment;
        impl Visitor<'_> for Moment {
            type Value = When;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a moment")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<When, E> {
                whole(value.into()).map(When).ok_or_else(|| E::custom("a moment beyond all years"))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<When, E> {
                whole(value.into()).map(When).ok_or_else(|| E::custom("a moment beyond all years"))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<When, E> {
                broken(value).map(When).ok_or_else(|| E::custom("a moment beyond all years"))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<When, E> {
                words(value).map(When).ok_or_else(|| E::custom("a moment that cannot be read"))
            }
        }
        from.deserialize_any(Moment)
    }
}

/// ISO 8601, the same with slashes, or a number; eight digits are a date.
pub(super) fn words(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let numeric = text.len() != 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match numeric {
        true if text.contains('.') => broken(text.parse().ok()?),
        true => whole(text.parse().ok()?),
        false => moment(text).or_else(|_| moment(&text.replace('/', "-"))).ok(),
    }
}

/// The years that logs are of tell the units apart.
fn whole(number: i128) -> Option<Timestamp> {
    let millis = match number.unsigned_abs().checked_ilog10() {
        None | Some(..=10) => number * 1_000,
        Some(..=13) => number,
        Some(..=16) => number.div_euclid(1_000),
        Some(_) => number.div_euclid(1_000_000),
    };
    Timestamp::from_millisecond(millis.try_into().ok()?).ok()
}

/// To the microsecond, so that 12.345 seconds are not a little less.
fn broken(number: f64) -> Option<Timestamp> {
    let micros = if number.abs() < 1e11 { number * 1e6 } else { number * 1e3 };
    let known = micros.is_finite() && micros.abs() < 1e17;
    Timestamp::from_millisecond(known.then(|| (micros.round() as i64).div_euclid(1_000))?).ok()
}

/// `15/Nov/2026:13:55:36 +0100`, as nginx and Apache write it.
pub(super) fn common(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, offset) = text.split_once(' ')?;
    let mut parts = date.split(['/', ':']);
    let mut number = || parts.next()?.parse::<i8>().ok();
    let day = number()?;
    let month = parts.next().and_then(|name| MONTHS.iter().position(|known| *known == name))?;
    let year: i16 = parts.next()?.parse().ok()?;
    let mut number = || parts.next()?.parse::<i8>().ok();
    // A leap second is counted with the one before it.
    let (hour, minute, second) = (number()?, number()?, number()?.min(59));
    let local = DateTime::new(year, i8::try_from(month + 1).ok()?, day, hour, minute, second, 0).ok()?;
    let (hours, minutes) = offset.split_at_checked(3)?;
    let minutes: i32 = minutes.parse().ok().filter(|minutes| (0..60).contains(minutes))?;
    let hours: i32 = hours.parse().ok()?;
    let minutes = if offset.starts_with('-') { -minutes } else { minutes };
    Offset::from_seconds(hours * 3_600 + minutes * 60).ok()?.to_timestamp(local).ok()
}
