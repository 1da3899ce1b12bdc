//! The dates of a question: from when, and until when, exclusively.

use jiff::Timestamp;
use jiff::civil::Date;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A date that cannot be read.
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

/// Milliseconds since 1970, from the first that counts to the first that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    from: Option<i64>,
    to: Option<i64>,
}

impl Range {
    /// An end that is missing is open. Equal ends are an empty range.
    pub fn new(from: Option<i64>, to: Option<i64>) -> Result<Self, BadRange> {
        match (from, to) {
            (Some(from), Some(to)) if from > to => Err(BadRange { from: written(from), to: written(to) }),
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

fn written(at: i64) -> String {
    Timestamp::from_millisecond(at).map_or_else(|_| format!("{at} ms"), |time| time.to_string())
}

/// The instant of a bound, in milliseconds since 1970, rounded up, so that the millisecond that it
/// falls into is before it. Events are kept rounded down.
///
/// `YYYY-MM-DD` is midnight UTC. A date-time has hours at least, any number of fraction digits,
/// and an offset or UTC. A leap second is the first second of the next minute.
pub fn bound(text: &str) -> Result<i64, BadDate> {
    let read = read(text)?;
    Ok(read.millis + i64::from(read.more))
}

/// The instant of an event, written in any of the ways of a bound, rounded down to milliseconds.
pub fn moment(text: &str) -> Result<Timestamp, BadDate> {
    let read = read(text)?;
    Timestamp::from_millisecond(read.millis).map_err(|_| bad(text))
}

/// Whole milliseconds since 1970, and whether there was a little more.
struct Read {
    millis: i64,
    more: bool,
}

fn read(text: &str) -> Result<Read, BadDate> {
    parse(text.trim()).ok_or_else(|| bad(text))
}

fn bad(text: &str) -> BadDate {
    BadDate(text.chars().filter(|c| !c.is_control()).take(40).collect())
}

fn parse(text: &str) -> Option<Read> {
    let mut rest = Cursor(text);
    let day = rest.date()?;
    if rest.0.is_empty() {
        return Some(Read { millis: day, more: false });
    }
    rest.one_of(&['T', 't', ' '])?;
    let time = rest.time()?;
    let offset = rest.offset()?;
    Some(Read { millis: day + time.millis - offset, more: time.more })
}

/// What of the text is still to be read.
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
    fn time(&mut self) -> Option<Read> {
        let hours = self.number(2)?;
        let colons = self.0.starts_with(':');
        let minutes = self.next_part(colons)?;
        let seconds = self.next_part(colons)?;
        let fraction = self.fraction()?;
        let millis = hours * HOUR + minutes * MINUTE + seconds * SECOND + fraction.millis;
        let next_midnight = hours == 24 && millis == DAY && !fraction.more;
        let valid = hours <= 23 && minutes <= 59 && seconds <= 60 || next_midnight;
        valid.then_some(Read { millis, more: fraction.more })
    }

    /// The next two digits if there are more: `None` when something else is there instead.
    fn next_part(&mut self, colons: bool) -> Option<i64> {
        if colons {
            return self.one_of(&[':']).map_or(Some(0), |_| self.number(2));
        }
        let more = self.0.starts_with(|next: char| next.is_ascii_digit());
        if more { self.number(2) } else { Some(0) }
    }

    /// Digits after a point or comma.
    fn fraction(&mut self) -> Option<Read> {
        if self.one_of(&['.', ',']).is_none() {
            return Some(Read { millis: 0, more: false });
        }
        let end = self.0.find(|next: char| !next.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        let (kept, cut) = digits.split_at(end.min(3));
        let millis: i64 = format!("{kept:0<3}").parse().ok().filter(|_| end > 0)?;
        Some(Read { millis, more: cut.bytes().any(|digit| digit != b'0') })
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

/// Counted by hand, because an offset may carry the year 9999 beyond what a timestamp holds.
/// Years begin in March here, so that the leap day is the last of its year.
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
