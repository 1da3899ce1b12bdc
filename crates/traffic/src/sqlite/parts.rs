//! A range, cut where it costs least: whole days come from the index, whole hours from cells, and
//! what is left from raw events.

use super::project::{DAY, HOUR};
use crate::range::Range;

/// From the first that counts to the first that does not.
pub(super) type Span = (i64, i64);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// Days since 1970.
    pub(super) days: Span,
    /// What is not in whole days, in milliseconds: two edges at most, or one within a day.
    pub(super) edges: Vec<Span>,
    /// Whole hours of the edges, since 1970.
    pub(super) hours: Vec<Span>,
    /// The rest of the edges, in milliseconds.
    pub(super) bits: Vec<Span>,
}

impl Parts {
    /// Before `raw_from` there are hours and nothing smaller: ends there count from the next full one.
    pub(super) fn of(range: &Range, raw_from: i64) -> Self {
        Self::between(ends(range), raw_from)
    }

    /// The same where there are days and nothing smaller.
    pub(super) fn of_days(range: &Range, raw_from: i64) -> Self {
        let (from, to) = ends(range);
        Self::between((kept(from, DAY, raw_from), kept(to, DAY, raw_from)), raw_from)
    }

    pub(super) fn between((from, to): Span, raw_from: i64) -> Self {
        let (days, edges) = whole((kept(from, HOUR, raw_from), kept(to, HOUR, raw_from)), DAY);
        let (mut hours, mut bits) = (Vec::new(), Vec::new());
        for edge in &edges {
            let (span, rest) = whole(*edge, HOUR);
            hours.extend((span.0 < span.1).then_some(span));
            bits.extend(rest);
        }
        Self { days, edges, hours, bits }
    }

    /// Whether a moment, in milliseconds, is in any part.
    pub(super) fn contains(&self, at: i64) -> bool {
        let day = at.div_euclid(DAY);
        (self.days.0..self.days.1).contains(&day)
            || self.edges.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    /// All whole hours, those of whole days included.
    pub(super) fn all_hours(&self) -> Vec<Span> {
        let of_days = (self.days.0.saturating_mul(24), self.days.1.saturating_mul(24));
        self.hours.iter().copied().chain([of_days]).collect()
    }
}

fn ends(range: &Range) -> Span {
    (range.from().unwrap_or(i64::MIN / DAY * DAY), range.to().unwrap_or(i64::MAX / DAY * DAY))
}

/// An end, where there may be nothing smaller than a unit before `raw_from`.
fn kept(end: i64, unit: i64, raw_from: i64) -> i64 {
    if end < raw_from { next(end, unit).saturating_mul(unit) } else { end }
}

/// The whole units of a span, and what is left of it at its ends.
fn whole((from, to): Span, unit: i64) -> (Span, Vec<Span>) {
    let (first, last) = (next(from, unit), to.div_euclid(unit));
    let (units, rest) = match first <= last {
        true => ((first, last), vec![(from, first * unit), (last * unit, to)]),
        false => ((0, 0), vec![(from, to)]),
    };
    (units, rest.into_iter().filter(|(from, to)| from < to).collect())
}

fn next(at: i64, unit: i64) -> i64 {
    at.div_euclid(unit) + i64::from(at.rem_euclid(unit) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(from: Option<i64>, to: Option<i64>, raw_from: i64) -> Parts {
        Parts::of(&Range::new(from, to).unwrap(), raw_from)
    }

    #[test]
    fn a_range_is_cut_into_days_hours_and_bits() {
        let range = parts(Some(DAY - HOUR - 1), Some(4 * DAY + 2 * HOUR + 5), 0);
        assert_eq!(range.days, (1, 4));
        assert_eq!(range.edges, [(DAY - HOUR - 1, DAY), (4 * DAY, 4 * DAY + 2 * HOUR + 5)]);
        assert_eq!(range.hours, [(23, 24), (96, 98)]);
        assert_eq!(range.bits, [(DAY - HOUR - 1, DAY - HOUR), (4 * DAY + 2 * HOUR, 4 * DAY + 2 * HOUR + 5)]);

        let whole = parts(Some(DAY), Some(2 * DAY), 0);
        assert_eq!((whole.days, whole.edges, whole.hours, whole.bits), ((1, 2), vec![], vec![], vec![]));

        let minute = parts(Some(DAY + 7), Some(DAY + 60_007), 0);
        assert_eq!((minute.hours, minute.bits), (vec![], vec![(DAY + 7, DAY + 60_007)]));

        let all = parts(None, None, 0);
        assert!(all.edges.is_empty() && all.days.0 < -1_000_000 && all.days.1 > 1_000_000);
    }

    #[test]
    fn without_raw_events_ends_count_from_the_next_full_hour() {
        let range = parts(Some(DAY + 7), Some(DAY + 2 * HOUR + 7), 9 * DAY);
        assert_eq!((range.hours, range.bits), (vec![(25, 27)], vec![]));
        let range = parts(Some(DAY + 7), Some(DAY + 9), 9 * DAY);
        assert_eq!(range.edges, []);
    }

    #[test]
    fn where_there_are_only_days_ends_count_from_the_next_one() {
        let range = Range::new(Some(DAY + 7), Some(9 * DAY + HOUR)).unwrap();
        let parts = Parts::of_days(&range, 5 * DAY);
        assert_eq!((parts.days, parts.edges), ((2, 9), vec![(9 * DAY, 9 * DAY + HOUR)]));
        assert_eq!(parts.hours, [(9 * 24, 9 * 24 + 1)]);
        assert_eq!(Parts::of_days(&range, 0).all_hours(), [(25, 48), (216, 217), (48, 216)]);
    }
}
