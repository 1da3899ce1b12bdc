//! Parses date ranges and timestamps of queries. The end of a range is exclusive.

use jiff::Timestamp;
use jiff::civil::Date;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A date that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date: write YYYY-MM-DD or an ISO 8601 date-time such as 2026-01-31T09:30:00Z")]
pub struct BadDate(String);

/// A range that ends before it begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("dateFrom ({from}) must not be after dateTo ({to})")]
pub struct BadRange {
    from: String,
    to: String,
}

/// A half-open range in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    from: Option<i64>,
    to: Option<i64>,
}

impl Range {
    /// A missing end is open. Equal ends make an empty range.
    pub fn new(from: Option<i64>, to: Option<i64>) -> Result<Self, BadRange> {
        match (from, to) {
            (Some(from), Some(to)) if from > to => {
                Err(BadRange { from: format_time(from), to: format_time(to) })
            }
            _ => Ok(Self { from, to }),
        }
    }

    pub fn from(&self) -> Option<i64> {
        self.from
    }

    pub fn to(&self) -> Option<i64> {
        self.to
    }

    pub fn contains(&self, at: i64) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }
}

fn format_time(at: i64) -> String {
    Timestamp::from_millisecond(at).map_or_else(|_| format!("{at} ms"), |time| time.to_string())
}

/// Parses the bound of a range to milliseconds since 1970. Rounds up, because the timestamps of events are
/// rounded down.
///
/// `YYYY-MM-DD` is midnight UTC. A date-time has hours at least, any number of fraction digits,
/// and an offset or UTC. A leap second is the first second of the next minute.
pub fn parse_bound(text: &str) -> Result<i64, BadDate> {
    let instant = parse_instant(text)?;
    Ok(instant.millis + i64::from(instant.has_fraction))
}

/// Parses the timestamp of an event, in the formats of [`parse_bound`]. Rounds down to milliseconds.
pub fn parse_timestamp(text: &str) -> Result<Timestamp, BadDate> {
    let instant = parse_instant(text)?;
    Timestamp::from_millisecond(instant.millis).map_err(|_| bad_date(text))
}

/// Whole milliseconds since 1970, and whether a fraction of a millisecond was cut off.
struct Instant {
    millis: i64,
    has_fraction: bool,
}

fn parse_instant(text: &str) -> Result<Instant, BadDate> {
    parse(text.trim()).ok_or_else(|| bad_date(text))
}

fn bad_date(text: &str) -> BadDate {
    BadDate(text.chars().filter(|c| !c.is_control()).take(40).collect())
}

fn parse(text: &str) -> Option<Instant> {
    let mut rest = Cursor(text);
    let day = rest.date()?;
    if rest.0.is_empty() {
        return Some(Instant { millis: day, has_fraction: false });
    }
    rest.one_of(&['T', 't', ' '])?;
    let time = rest.time()?;
    let offset = rest.offset()?;
    Some(Instant { millis: day + time.millis - offset, has_fraction: time.has_fraction })
}

/// The rest of the text.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    /// `2026-01-31`, or `20260131`.
    fn date(&mut self) -> Option<i64> {
        let year = self.number(4)?;
        let dashed = self.one_of(&['-']).is_some();
        let month = self.number(2)?;
        if dashed {
            self.one_of(&['-'])?;
        }
        let day = self.number(2)?;
        let valid = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
        valid.ok().map(|_| days_since_1970(year, month, day) * DAY)
    }

    /// `09`, `09:30`, `09:30:15`, `0930`, `09:30:15.25`; `24:00` is the next midnight.
    fn time(&mut self) -> Option<Instant> {
        let hours = self.number(2)?;
        let colons = self.0.starts_with(':');
        let minutes = self.next_part(colons)?;
        let seconds = self.next_part(colons)?;
        let fraction = self.fraction()?;
        let millis = hours * HOUR + minutes * MINUTE + seconds * SECOND + fraction.millis;
        let next_midnight = hours == 24 && millis == DAY && !fraction.has_fraction;
        let valid = hours <= 23 && minutes <= 59 && seconds <= 60 || next_midnight;
        valid.then_some(Instant { millis, has_fraction: fraction.has_fraction })
    }

    /// The next two digits, or 0 at the end of the time. `None` for anything else.
    fn next_part(&mut self, colons: bool) -> Option<i64> {
        if colons {
            return self.one_of(&[':']).map_or(Some(0), |_| self.number(2));
        }
        let more = self.0.starts_with(|next: char| next.is_ascii_digit());
        if more { self.number(2) } else { Some(0) }
    }

    /// Digits after a point or comma.
    fn fraction(&mut self) -> Option<Instant> {
        if self.one_of(&['.', ',']).is_none() {
            return Some(Instant { millis: 0, has_fraction: false });
        }
        let end = self.0.find(|next: char| !next.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        let (kept, cut) = digits.split_at(end.min(3));
        let millis: i64 = format!("{kept:0<3}").parse().ok().filter(|_| end > 0)?;
        Some(Instant { millis, has_fraction: cut.bytes().any(|digit| digit != b'0') })
    }

    /// `Z`, `+02:00`, `-0530`, `+02`, or nothing. A `+` that was not encoded in a query
    /// arrives as a space.
    fn offset(&mut self) -> Option<i64> {
        let spaced = self.0.starts_with(' ');
        self.0 = self.0.trim_start();
        if self.0.is_empty() || self.one_of(&['Z', 'z']).is_some() {
            return self.0.is_empty().then_some(0);
        }
        let sign = match self.one_of(&['+', '-', '\u{2212}']) {
            Some('+') => 1,
            Some(_) => -1,
            None if spaced => 1,
            None => return None,
        };
        let hours = self.number(2)?;
        let minutes = self.next_part(self.0.starts_with(':'))?;
        let valid = hours <= 23 && minutes <= 59 && self.0.is_empty();
        valid.then_some(sign * (hours * HOUR + minutes * MINUTE))
    }

    fn one_of(&mut self, chars: &[char]) -> Option<char> {
        let next = self.0.chars().next().filter(|next| chars.contains(next))?;
        self.0 = &self.0[next.len_utf8()..];
        Some(next)
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let value = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?;
        self.0 = rest;
        value
    }
}

/// Computed without `Timestamp`, because an offset may move the year 9999 out of its range. Years begin in
/// March here, so that the leap day is the last day of a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
