//! The intervals of a time series. Each step starts at a full hour in UTC.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, tz::TimeZone};

const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    Hour,
    Day,
    /// Starts on Monday.
    Week,
    Month,
}

impl Interval {
    pub const NAMES: [&str; 4] = ["hour", "day", "week", "month"];

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Hour, Self::Day, Self::Week, Self::Month]
            .into_iter()
            .find(|interval| interval.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The start of the step that contains `at`, in milliseconds since 1970.
    pub(crate) fn start(self, at: i64) -> i64 {
        let day = at.div_euclid(DAY);
        match self {
            Self::Hour => at.div_euclid(HOUR) * HOUR,
            Self::Day => day * DAY,
            // 1970 began on a Thursday.
            Self::Week => (day - (day + 3).rem_euclid(7)) * DAY,
            Self::Month => first_of_month(date(at)),
        }
    }

    /// The start of the next step.
    pub(crate) fn next(self, start: i64) -> i64 {
        match self {
            Self::Hour => start + HOUR,
            Self::Day => start + DAY,
            Self::Week => start + 7 * DAY,
            Self::Month => first_of_month(date(start).saturating_add(1.month())),
        }
    }
}

fn date(at: i64) -> Date {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.to_zoned(TimeZone::UTC).date()
}

fn first_of_month(date: Date) -> i64 {
    let first = date.first_of_month().to_zoned(TimeZone::UTC);
    first.map_or(0, |first| first.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::parse_bound;

    #[test]
    fn steps_contain_their_moments_and_follow_each_other() {
        #[track_caller]
        fn check(interval: Interval, at: &str, start: &str, next: &str) {
            let start = parse_bound(start).unwrap();
            assert_eq!(interval.start(parse_bound(at).unwrap()), start, "{interval:?} of {at}");
            assert_eq!(interval.start(start), start);
            assert_eq!(interval.next(start), parse_bound(next).unwrap(), "{interval:?} after {at}");
            assert_eq!(interval.start(interval.next(start) - 1), start);
            assert_eq!(Interval::from_name(interval.as_str()), Some(interval));
        }
        check(Interval::Hour, "2026-03-01T12:59:59.999Z", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z");
        check(Interval::Day, "2026-02-28T23:59:59Z", "2026-02-28", "2026-03-01");
        check(Interval::Week, "2026-03-01", "2026-02-23", "2026-03-02");
        check(Interval::Week, "1970-01-01", "1969-12-29", "1970-01-05");
        check(Interval::Month, "2026-12-31T23:00:00Z", "2026-12-01", "2027-01-01");
        check(Interval::Month, "2028-02-29", "2028-02-01", "2028-03-01");
        assert_eq!(Interval::NAMES.map(Interval::from_name).iter().flatten().count(), 4);
        assert_eq!(Interval::from_name("year"), None);
    }
}
