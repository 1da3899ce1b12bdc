//! Prefix sums of reads by page over days: a range of whole days costs one subtraction per page, however long
//! it is.
//!
//! Days are grouped into runs of sixteen. A day's row has the sums since the start of its run, and a run has
//! the sums of all earlier runs. A late read updates the rest of its run and all later runs.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cells::Cell;
use crate::classify::Class;
use crate::views::Tally;

const DAYS_PER_RUN: i64 = 16;

#[derive(Debug, Default)]
pub(crate) struct PrefixSums {
    /// Runs that have reads, by number: the day divided by sixteen.
    runs: BTreeMap<i64, Run>,
}

#[derive(Debug, Default)]
struct Run {
    /// Reads by humans and by AI before this run.
    before: Vec<[u64; 2]>,
    /// Pages per row.
    width: usize,
    /// One row per day. A count saturates at 32 bits: four billion reads of a page in sixteen days.
    sums: Vec<[u32; 2]>,
}

impl PrefixSums {
    /// Adds reads of a page on a day. Ignores classes other than human and AI.
    pub(crate) fn add(&mut self, day: i64, page: u32, class: Class, reads: u64) {
        let Some(column) = column(class) else { return };
        let (number, page) = (day.div_euclid(DAYS_PER_RUN), page as usize);
        if !self.runs.contains_key(&number) {
            self.begin_run(number);
        }
        let mut later = self.runs.range_mut(number..).map(|(_, run)| run);
        if let Some(run) = later.next() {
            run.add(day.rem_euclid(DAYS_PER_RUN) as usize..DAYS_PER_RUN as usize, page, column, reads);
        }
        later.for_each(|run| run.add_before(page, column, reads));
    }

    /// Adds the reads of the days `from..to` to `pages`.
    pub(crate) fn sum(&self, from: i64, to: i64, pages: &mut [Tally]) {
        if from >= to {
            return;
        }
        let (runs, row) = self.before(to);
        pages.iter_mut().zip(runs).for_each(|(page, [human, ai])| page.add(*human, *ai));
        pages.iter_mut().zip(row).for_each(|(page, [human, ai])| page.add((*human).into(), (*ai).into()));
        let (runs, row) = self.before(from);
        pages.iter_mut().zip(runs).for_each(|(page, [human, ai])| page.subtract(*human, *ai));
        pages
            .iter_mut()
            .zip(row)
            .for_each(|(page, [human, ai])| page.subtract((*human).into(), (*ai).into()));
    }

    /// Sums over the `wanted` pages, for consecutive days.
    pub(crate) fn totals<'a>(&'a self, wanted: &'a [bool]) -> Totals<'a> {
        Totals { prefix_sums: self, wanted, run: None }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.runs.values().map(|run| run.before.capacity() * 16 + run.sums.capacity() * 8).sum()
    }

    /// The reads before a day, by page, in two parts: before its run, and within it.
    fn before(&self, day: i64) -> (&[[u64; 2]], &[[u32; 2]]) {
        let number = day.div_euclid(DAYS_PER_RUN);
        let Some((found, run)) = self.runs.range(..=number).next_back() else { return (&[], &[]) };
        let days = if *found == number { day.rem_euclid(DAYS_PER_RUN) } else { DAYS_PER_RUN } as usize;
        let row = days.checked_sub(1).map(|last| &run.sums[last * run.width..][..run.width]);
        (&run.before, row.unwrap_or_default())
    }

    fn begin_run(&mut self, number: i64) {
        let (runs, row) = self.before(number.saturating_mul(DAYS_PER_RUN));
        let mut before = runs.to_vec();
        before.resize(runs.len().max(row.len()), [0; 2]);
        for (sums, reads) in before.iter_mut().zip(row) {
            *sums = [sums[0] + u64::from(reads[0]), sums[1] + u64::from(reads[1])];
        }
        self.runs.insert(number, Run { before, ..Run::default() });
    }
}

/// Totals before a day. Caches the sum over earlier runs, which all days of one run share.
pub(crate) struct Totals<'a> {
    prefix_sums: &'a PrefixSums,
    wanted: &'a [bool],
    run: Option<(i64, Tally)>,
}

impl Totals<'_> {
    /// The reads of the wanted pages before a day.
    pub(crate) fn before(&mut self, day: i64) -> Tally {
        let (number, (runs, row)) = (day.div_euclid(DAYS_PER_RUN), self.prefix_sums.before(day));
        let mut total = match self.run.filter(|(known, _)| *known == number) {
            Some((_, total)) => total,
            None => self.sum(runs),
        };
        self.run = Some((number, total));
        let row = self.sum(row);
        total.add(row.human, row.ai);
        total
    }

    fn sum<N: Copy + Into<u64>>(&self, pages: &[[N; 2]]) -> Tally {
        let mut sum = Tally::default();
        for ([human, ai], _) in pages.iter().zip(self.wanted).filter(|(_, wanted)| **wanted) {
            sum.add((*human).into(), (*ai).into());
        }
        sum
    }
}

/// Builds prefix sums from daily reads in any order. It visits each row once; adding reads one by one would
/// update all later days each time.
pub(crate) struct PrefixSumsBuilder {
    prefix_sums: PrefixSums,
    pages: usize,
}

impl PrefixSumsBuilder {
    /// For a project with this number of pages.
    pub(crate) fn new(pages: usize) -> Self {
        Self { prefix_sums: PrefixSums::default(), pages }
    }

    /// Adds the reads of a day, in order of page number.
    pub(crate) fn add_day(&mut self, day: i64, pages: &[(u32, Cell)]) {
        let Some((last, _)) = pages.last() else { return };
        let (needed, all) = (*last as usize + 1, self.pages);
        self.run(day).widen(with_spare_capacity(needed).min(all).max(needed));
        for (page, cell) in pages {
            for class in [Class::Human, Class::Assistant] {
                self.add(day, *page, class, cell[usize::from(class.code())]);
            }
        }
    }

    fn add(&mut self, day: i64, page: u32, class: Class, reads: u64) {
        let Some(column) = column(class) else { return };
        let row = day.rem_euclid(DAYS_PER_RUN) as usize;
        self.run(day).add(row..row + 1, page as usize, column, reads);
    }

    fn run(&mut self, day: i64) -> &mut Run {
        self.prefix_sums.runs.entry(day.div_euclid(DAYS_PER_RUN)).or_default()
    }

    pub(crate) fn build(mut self) -> PrefixSums {
        let mut before = Vec::<[u64; 2]>::new();
        for run in self.prefix_sums.runs.values_mut() {
            run.accumulate();
            run.before = before.clone();
            before.resize(before.len().max(run.width), [0; 2]);
            let last = &run.sums[run.sums.len() - run.width..];
            for (sums, reads) in before.iter_mut().zip(last) {
                *sums = [sums[0] + u64::from(reads[0]), sums[1] + u64::from(reads[1])];
            }
        }
        self.prefix_sums
    }
}

/// Reserves more than needed, because every new page could otherwise move all rows.
fn with_spare_capacity(needed: usize) -> usize {
    needed + needed / 16 + 16
}

impl Run {
    fn add(&mut self, days: Range<usize>, page: usize, column: usize, reads: u64) {
        if page >= self.width {
            self.widen(with_spare_capacity(page + 1));
        }
        let reads = u32::try_from(reads).unwrap_or(u32::MAX);
        for row in self.sums.chunks_exact_mut(self.width).take(days.end).skip(days.start) {
            row[page][column] = row[page][column].saturating_add(reads);
        }
    }

    /// Turns rows of daily reads into prefix sums within the run.
    fn accumulate(&mut self) {
        for day in 1..DAYS_PER_RUN as usize {
            let (done, rest) = self.sums.split_at_mut(day * self.width);
            for (row, before) in rest.iter_mut().zip(&done[(day - 1) * self.width..]) {
                *row = [row[0].saturating_add(before[0]), row[1].saturating_add(before[1])];
            }
        }
    }

    fn add_before(&mut self, page: usize, column: usize, reads: u64) {
        self.before.resize(self.before.len().max(page + 1), [0; 2]);
        self.before[page][column] += reads;
    }

    fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let mut sums = vec![[0; 2]; width * DAYS_PER_RUN as usize];
        if self.width > 0 {
            let rows = sums.chunks_exact_mut(width).zip(self.sums.chunks_exact(self.width));
            rows.for_each(|(to, from)| to[..self.width].copy_from_slice(from));
        }
        (self.width, self.sums) = (width, sums);
    }
}

fn column(class: Class) -> Option<usize> {
    match class {
        Class::Human => Some(0),
        Class::Assistant => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_match_a_recount(
            reads in prop::collection::vec((-40..80_i64, 0..40_u32, 0..3_usize, 1..4_u64), 0..60),
            kept: prop::sample::Index,
            ranges in prop::collection::vec((-50..90_i64, -50..90_i64), 1..8),
        ) {
            let (mut days, kept) = (PrefixSumsBuilder::new(30), kept.index(reads.len() + 1));
            for (day, page, class, count) in &reads[..kept] {
                let mut cell = Cell::default();
                cell[*class] = *count;
                days.add_day(*day, &[(*page, cell)]);
            }
            let mut prefix_sums = days.build();
            for (day, page, class, count) in &reads[kept..] {
                prefix_sums.add(*day, *page, Class::ALL[*class], *count);
            }
            let some: Vec<_> = (0..40).map(|page| page % 3 == 0).collect();
            let mut totals = prefix_sums.totals(&some);
            for (from, to) in ranges {
                let mut sums = vec![Tally::default(); 40];
                prefix_sums.sum(from, to, &mut sums);
                let mut expected = vec![Tally::default(); 40];
                for (day, page, class, count) in &reads {
                    if (from..to).contains(day) {
                        let page = &mut expected[*page as usize];
                        let side = [Some(&mut page.human), Some(&mut page.ai), None].into_iter().nth(*class);
                        side.flatten().into_iter().for_each(|sum| *sum += count);
                    }
                }
                prop_assert_eq!(&sums, &expected, "{} to {}", from, to);
                if from < to {
                    let (mut total, before) = (totals.before(to), totals.before(from));
                    total.subtract(before.human, before.ai);
                    let mut wanted = Tally::default();
                    expected.iter().step_by(3).for_each(|page| wanted.add(page.human, page.ai));
                    prop_assert_eq!(total, wanted, "{} to {}, some pages", from, to);
                }
            }
        }

        #[test]
        fn open_ended_ranges_are_summed(day in any::<i32>()) {
            let mut prefix_sums = PrefixSums::default();
            prefix_sums.add(i64::from(day), 1, Class::Human, 7);
            let mut sums = vec![Tally::default(); 2];
            prefix_sums.sum(i64::MIN / 86_400_000, i64::MAX / 86_400_000, &mut sums);
            prop_assert_eq!(sums, [Tally::default(), Tally { human: 7, ai: 0 }]);
        }
    }
}
