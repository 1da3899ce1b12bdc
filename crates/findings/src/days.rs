//! Arithmetic on days that never overflows.

use jiff::ToSpan;
use jiff::civil::Date;

pub(crate) fn days_after(day: Date, count: u32) -> Date {
    day.saturating_add(i64::from(count).days())
}

pub(crate) fn days_before(day: Date, count: u32) -> Date {
    day.saturating_sub(i64::from(count).days())
}

/// The days from `first` to `last`, 0 if `last` is not later.
pub(crate) fn days_between(first: Date, last: Date) -> u32 {
    let days = last.since(first).map_or(0, |span| span.get_days());
    u32::try_from(days).unwrap_or(0)
}

/// The first of `count` days that end with `today`.
pub(crate) fn window_start(today: Date, count: u32) -> Date {
    days_before(today, count.saturating_sub(1))
}
