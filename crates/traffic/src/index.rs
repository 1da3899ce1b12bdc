//! Sums over days, by page, so that a range of whole days is one subtraction a page, however many
//! days and reads it has. Days are kept in runs of sixteen: a row a day holds the sums since its
//! run began, and a run the sums of all before it. A read of any day, however late it comes, is
//! added to the rest of its run and to the runs after it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cells::Cell;
use crate::classify::Class;
use crate::views::Tally;

const DAYS: i64 = 16;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Runs that have a read, by number: the day divided by sixteen.
    runs: BTreeMap<i64, Run>,
}

#[derive(Debug, Default)]
struct Run {
    /// Reads by humans and by AI before this run.
    before: Vec<[u64; 2]>,
    /// Pages that have a place in a row.
    width: usize,
    /// A row a day. 32 bits are four billion reads of one page in sixteen days; there it stays.
    sums: Vec<[u32; 2]>,
}

impl Index {
    /// Adds reads of a page on a day. Classes that are neither human nor AI are not in it.
    pub(crate) fn add(&mut self, day: i64, page: u32, class: Class, reads: u64) {
        let Some(side) = side(class) else { return };
        let (number, page) = (day.div_euclid(DAYS), page as usize);
        if !self.runs.contains_key(&number) {
            self.begin_run(number);
        }
        let mut later = self.runs.range_mut(number..).map(|(_, run)| run);
        if let Some(run) = later.next() {
            run.add(day.rem_euclid(DAYS) as usize..DAYS as usize, page, side, reads);
        }
        later.for_each(|run| run.add_before(page, side, reads));
    }

    /// Adds the reads of the days from `from` until before `to`.
    pub(crate) fn sum(&self, from: i64, to: i64, pages: &mut [Tally]) {
        if from >= to {
            return;
        }
        let (runs, row) = self.before(to);
        pages.iter_mut().zip(runs).for_each(|(page, [human, ai])| page.add(*human, *ai));
        pages.iter_mut().zip(row).for_each(|(page, [human, ai])| page.add((*human).into(), (*ai).into()));
        let (runs, row) = self.before(from);
        pages.iter_mut().zip(runs).for_each(|(page, [human, ai])| page.take(*human, *ai));
        pages.iter_mut().zip(row).for_each(|(page, [human, ai])| page.take((*human).into(), (*ai).into()));
    }

    /// Sums of some pages together, for one day after the other.
    pub(crate) fn totals<'a>(&'a self, wanted: &'a [bool]) -> Totals<'a> {
        Totals { index: self, wanted, run: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.runs.values().map(|run| run.before.capacity() * 16 + run.sums.capacity() * 8).sum()
    }

    /// What was read before a day, by page, in two parts: before its run, and within it.
    fn before(&self, day: i64) -> (&[[u64; 2]], &[[u32; 2]]) {
        let number = day.div_euclid(DAYS);
        let Some((found, run)) = self.runs.range(..=number).next_back() else { return (&[], &[]) };
        let days = if *found == number { day.rem_euclid(DAYS) } else { DAYS } as usize;
        let row = days.checked_sub(1).map(|last| &run.sums[last * run.width..][..run.width]);
        (&run.before, row.unwrap_or_default())
    }

    fn begin_run(&mut self, number: i64) {
        let (runs, row) = self.before(number.saturating_mul(DAYS));
        let mut before = runs.to_vec();
        before.resize(runs.len().max(row.len()), [0; 2]);
        for (sums, reads) in before.iter_mut().zip(row) {
            *sums = [sums[0] + u64::from(reads[0]), sums[1] + u64::from(reads[1])];
        }
        self.runs.insert(number, Run { before, ..Run::default() });
    }
}

/// Days of one run share what was read before it, so that is added up once a run.
pub(crate) struct Totals<'a> {
    index: &'a Index,
    wanted: &'a [bool],
    run: Option<(i64, Tally)>,
}

impl Totals<'_> {
    /// What was read of the pages before a day.
    pub(crate) fn before(&mut self, day: i64) -> Tally {
        let (number, (runs, row)) = (day.div_euclid(DAYS), self.index.before(day));
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

/// Reads by day, in any order, of which an index is made when all of them are there: that takes
/// one look at each row, where adding them one by one would take one for every day after.
pub(crate) struct Days {
    index: Index,
    pages: usize,
}

impl Days {
    /// Of a project with so many pages.
    pub(crate) fn new(pages: usize) -> Self {
        Self { index: Index::default(), pages }
    }

    /// Reads of a day by page, of which the last has the highest number.
    pub(crate) fn add_day(&mut self, day: i64, pages: &[(u32, Cell)]) {
        let Some((last, _)) = pages.last() else { return };
        let (needed, all) = (*last as usize + 1, self.pages);
        self.run(day).widen(with_room(needed).min(all).max(needed));
        for (page, cell) in pages {
            for class in [Class::Human, Class::Assistant] {
                self.add(day, *page, class, cell[usize::from(class.code())]);
            }
        }
    }

    fn add(&mut self, day: i64, page: u32, class: Class, reads: u64) {
        let Some(side) = side(class) else { return };
        let row = day.rem_euclid(DAYS) as usize;
        self.run(day).add(row..row + 1, page as usize, side, reads);
    }

    fn run(&mut self, day: i64) -> &mut Run {
        self.index.runs.entry(day.div_euclid(DAYS)).or_default()
    }

    pub(crate) fn index(mut self) -> Index {
        let mut before = Vec::<[u64; 2]>::new();
        for run in self.index.runs.values_mut() {
            run.sum_up();
            run.before = before.clone();
            before.resize(before.len().max(run.width), [0; 2]);
            let last = &run.sums[run.sums.len() - run.width..];
            for (sums, reads) in before.iter_mut().zip(last) {
                *sums = [sums[0] + u64::from(reads[0]), sums[1] + u64::from(reads[1])];
            }
        }
        self.index
    }
}

/// Some more than needed, because pages come one by one and each time all rows move.
fn with_room(needed: usize) -> usize {
    needed + needed / 16 + 16
}

impl Run {
    fn add(&mut self, days: Range<usize>, page: usize, side: usize, reads: u64) {
        if page >= self.width {
            self.widen(with_room(page + 1));
        }
        let reads = u32::try_from(reads).unwrap_or(u32::MAX);
        for row in self.sums.chunks_exact_mut(self.width).take(days.end).skip(days.start) {
            row[page][side] = row[page][side].saturating_add(reads);
        }
    }

    /// Makes sums since the run began of rows that are a day each.
    fn sum_up(&mut self) {
        for day in 1..DAYS as usize {
            let (done, rest) = self.sums.split_at_mut(day * self.width);
            for (row, before) in rest.iter_mut().zip(&done[(day - 1) * self.width..]) {
                *row = [row[0].saturating_add(before[0]), row[1].saturating_add(before[1])];
            }
        }
    }

    fn add_before(&mut self, page: usize, side: usize, reads: u64) {
        self.before.resize(self.before.len().max(page + 1), [0; 2]);
        self.before[page][side] += reads;
    }

    fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let mut sums = vec![[0; 2]; width * DAYS as usize];
        if self.width > 0 {
            let rows = sums.chunks_exact_mut(width).zip(self.sums.chunks_exact(self.width));
            rows.for_each(|(to, from)| to[..self.width].copy_from_slice(from));
        }
        (self.width, self.sums) = (width, sums);
    }
}

fn side(class: Class) -> Option<usize> {
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
        fn a_sum_is_a_recount(
            reads in prop::collection::vec((-40..80_i64, 0..40_u32, 0..3_usize, 1..4_u64), 0..60),
            kept: prop::sample::Index,
            ranges in prop::collection::vec((-50..90_i64, -50..90_i64), 1..8),
        ) {
            let (mut days, kept) = (Days::new(30), kept.index(reads.len() + 1));
            for (day, page, class, count) in &reads[..kept] {
                let mut cell = Cell::default();
                cell[*class] = *count;
                days.add_day(*day, &[(*page, cell)]);
            }
            let mut index = days.index();
            for (day, page, class, count) in &reads[kept..] {
                index.add(*day, *page, Class::ALL[*class], *count);
            }
            let some: Vec<_> = (0..40).map(|page| page % 3 == 0).collect();
            let mut totals = index.totals(&some);
            for (from, to) in ranges {
                let mut sums = vec![Tally::default(); 40];
                index.sum(from, to, &mut sums);
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
                    total.take(before.human, before.ai);
                    let mut wanted = Tally::default();
                    expected.iter().step_by(3).for_each(|page| wanted.add(page.human, page.ai));
                    prop_assert_eq!(total, wanted, "{} to {}, some pages", from, to);
                }
            }
        }

        #[test]
        fn open_ends_are_days_too(day in any::<i32>()) {
            let mut index = Index::default();
            index.add(i64::from(day), 1, Class::Human, 7);
            let mut sums = vec![Tally::default(); 2];
            index.sum(i64::MIN / 86_400_000, i64::MAX / 86_400_000, &mut sums);
            prop_assert_eq!(sums, [Tally::default(), Tally { human: 7, ai: 0 }]);
        }
    }
}
