//! The steps of a time series: one for every step of the range, however few reads it has.

use std::collections::BTreeMap;

use crate::interval::Interval;
use crate::range::Range;
use crate::range_parts::Span;
use crate::reports::{Point, Series, SeriesError};
use crate::views::Tally;

const MAX_POINTS: usize = 10_000;
/// The years 2000 to 2100. No event is outside of them.
pub(crate) const EVENT_TIMES: Span = (946_684_800_000, 4_102_444_800_000);

/// Closes the open ends of a range by the first and the last day with reads. Without reads, an open range is empty.
pub(crate) fn close_range(range: &Range, reads: Option<Span>) -> Span {
    let (first, last) = reads.unzip();
    let from = range.from().or(first).or(range.to()).unwrap_or(0).clamp(EVENT_TIMES.0, EVENT_TIMES.1);
    (from, range.to().or(last).unwrap_or(from).clamp(from, EVENT_TIMES.1))
}

pub(crate) struct Steps {
    pub(crate) interval: Interval,
    /// Reads by the start of the step.
    pub(crate) reads: BTreeMap<i64, Tally>,
}

impl Steps {
    pub(crate) fn new(interval: Interval, (from, to): Span) -> Result<Self, SeriesError> {
        let mut reads = BTreeMap::new();
        let mut at = interval.start(from);
        while at < to && from < to {
            if reads.len() == MAX_POINTS {
                return Err(SeriesError::TooManyPoints { interval, max: MAX_POINTS });
            }
            reads.insert(at, Tally::default());
            at = interval.next(at);
        }
        Ok(Self { interval, reads })
    }

    /// Adds reads to the step that contains `at`, if the series has it.
    pub(crate) fn add(&mut self, at: i64, reads: Tally) {
        if let Some(step) = self.reads.get_mut(&self.interval.start(at)) {
            step.add(reads.human, reads.ai);
        }
    }

    pub(crate) fn into_series(self) -> Series {
        let mut series = Series::default();
        for (at, reads) in self.reads {
            series.totals.add(reads.human, reads.ai);
            series.points.push(Point { at, reads });
        }
        series
    }
}
