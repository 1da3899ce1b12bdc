//! Splits a range by the cheapest source: whole days from prefix sums, whole hours from cells, the rest from
//! raw events.

use crate::range::Range;

pub(crate) const HOUR: i64 = 60 * 60 * 1000;
pub(crate) const DAY: i64 = 24 * HOUR;

/// A half-open interval.
pub(crate) type Span = (i64, i64);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RangeParts {
    /// Days since 1970.
    pub(crate) days: Span,
    /// The rest beside whole days, in milliseconds: at most two edges, or one within a day.
    pub(crate) edges: Vec<Span>,
    /// The whole hours of the edges, since 1970.
    pub(crate) hours: Vec<Span>,
    /// The rest of the edges beside whole hours, in milliseconds.
    pub(crate) raw_spans: Vec<Span>,
}

impl RangeParts {
    /// Before `raw_from` there are no raw events, so ends there are rounded up to the next full hour.
    pub(crate) fn from_range(range: &Range, raw_from: i64) -> Self {
        Self::between(closed_ends(range), raw_from)
    }

    /// Like `from_range`, for data without hourly rollups: ends before `raw_from` are rounded up to the next
    /// full day.
    pub(crate) fn with_whole_days(range: &Range, raw_from: i64) -> Self {
        let (from, to) = closed_ends(range);
        Self::between((round_up_before(from, DAY, raw_from), round_up_before(to, DAY, raw_from)), raw_from)
    }

    pub(crate) fn between((from, to): Span, raw_from: i64) -> Self {
        let (days, edges) =
            split_units((round_up_before(from, HOUR, raw_from), round_up_before(to, HOUR, raw_from)), DAY);
        let (mut hours, mut raw_spans) = (Vec::new(), Vec::new());
        for edge in &edges {
            let (span, rest) = split_units(*edge, HOUR);
            hours.extend((span.0 < span.1).then_some(span));
            raw_spans.extend(rest);
        }
        Self { days, edges, hours, raw_spans }
    }

    /// Whether a time in milliseconds is in any part.
    pub(crate) fn contains(&self, at: i64) -> bool {
        let day = at.div_euclid(DAY);
        (self.days.0..self.days.1).contains(&day)
            || self.edges.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    /// All whole hours, including those of whole days.
    pub(crate) fn all_hours(&self) -> Vec<Span> {
        let of_days = (self.days.0.saturating_mul(24), self.days.1.saturating_mul(24));
        self.hours.iter().copied().chain([of_days]).collect()
    }
}

/// The days that begin in a range.
pub(crate) fn days_in(range: &Range) -> Span {
    let next = |at: i64| div_ceil(at, DAY);
    (range.from().map_or(i64::MIN, next), range.to().map_or(i64::MAX, next))
}

fn closed_ends(range: &Range) -> Span {
    (range.from().unwrap_or(i64::MIN / DAY * DAY), range.to().unwrap_or(i64::MAX / DAY * DAY))
}

/// Rounds an end before `raw_from` up to the next unit.
fn round_up_before(end: i64, unit: i64, raw_from: i64) -> i64 {
    if end < raw_from { div_ceil(end, unit).saturating_mul(unit) } else { end }
}

/// The whole units of a span, and the rest at its ends.
fn split_units((from, to): Span, unit: i64) -> (Span, Vec<Span>) {
    let (first, last) = (div_ceil(from, unit), to.div_euclid(unit));
    let (units, rest) = match first <= last {
        true => ((first, last), vec![(from, first * unit), (last * unit, to)]),
        false => ((0, 0), vec![(from, to)]),
    };
    (units, rest.into_iter().filter(|(from, to)| from < to).collect())
}

fn div_ceil(at: i64, unit: i64) -> i64 {
    at.div_euclid(unit) + i64::from(at.rem_euclid(unit) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(from: Option<i64>, to: Option<i64>, raw_from: i64) -> RangeParts {
        RangeParts::from_range(&Range::new(from, to).unwrap(), raw_from)
    }

    #[test]
    fn a_range_is_cut_into_days_hours_and_raw_spans() {
        let range = parts(Some(DAY - HOUR - 1), Some(4 * DAY + 2 * HOUR + 5), 0);
        assert_eq!(range.days, (1, 4));
        assert_eq!(range.edges, [(DAY - HOUR - 1, DAY), (4 * DAY, 4 * DAY + 2 * HOUR + 5)]);
        assert_eq!(range.hours, [(23, 24), (96, 98)]);
        assert_eq!(
            range.raw_spans,
            [(DAY - HOUR - 1, DAY - HOUR), (4 * DAY + 2 * HOUR, 4 * DAY + 2 * HOUR + 5)]
        );

        let whole = parts(Some(DAY), Some(2 * DAY), 0);
        assert_eq!((whole.days, whole.edges, whole.hours, whole.raw_spans), ((1, 2), vec![], vec![], vec![]));

        let minute = parts(Some(DAY + 7), Some(DAY + 60_007), 0);
        assert_eq!((minute.hours, minute.raw_spans), (vec![], vec![(DAY + 7, DAY + 60_007)]));

        let all = parts(None, None, 0);
        assert!(all.edges.is_empty() && all.days.0 < -1_000_000 && all.days.1 > 1_000_000);
    }

    #[test]
    fn without_raw_events_ends_are_rounded_up_to_the_next_hour() {
        let range = parts(Some(DAY + 7), Some(DAY + 2 * HOUR + 7), 9 * DAY);
        assert_eq!((range.hours, range.raw_spans), (vec![(25, 27)], vec![]));
        let range = parts(Some(DAY + 7), Some(DAY + 9), 9 * DAY);
        assert_eq!(range.edges, []);
    }

    #[test]
    fn without_hours_ends_are_rounded_up_to_the_next_day() {
        let range = Range::new(Some(DAY + 7), Some(9 * DAY + HOUR)).unwrap();
        let parts = RangeParts::with_whole_days(&range, 5 * DAY);
        assert_eq!((parts.days, parts.edges), ((2, 9), vec![(9 * DAY, 9 * DAY + HOUR)]));
        assert_eq!(parts.hours, [(9 * 24, 9 * 24 + 1)]);
        assert_eq!(RangeParts::with_whole_days(&range, 0).all_hours(), [(25, 48), (216, 217), (48, 216)]);
    }
}
