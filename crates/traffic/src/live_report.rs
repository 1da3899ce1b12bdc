//! The parts of the live report that every backend shares.

use std::cmp::Reverse;

use crate::reports::{Live, Point};
use crate::views::{PageCount, Tally};

pub(crate) const MINUTE: i64 = 60 * 1000;
pub(crate) const MINUTES: i64 = 30;
const MAX_PAGES: usize = 10;

/// The report without any views.
pub(crate) fn empty_report(now: i64) -> Live {
    let first = now.div_euclid(MINUTE) - (MINUTES - 1);
    let point = |minute: i64| Point { at: (first + minute) * MINUTE, reads: Tally::default() };
    Live { minutes: (0..MINUTES).map(point).collect(), ..Live::default() }
}

/// The most-read pages, then by path.
pub(crate) fn top_pages(mut pages: Vec<PageCount>) -> Vec<PageCount> {
    pages.sort_unstable_by(|left, right| {
        let total = |page: &PageCount| Reverse(page.human + page.ai);
        total(left).cmp(&total(right)).then_with(|| left.path.cmp(&right.path))
    });
    pages.truncate(MAX_PAGES);
    pages
}
