//! Reads by step of time. Steps of whole days come from the index, hours from their cells; what a
//! range cuts off an hour comes from raw events, as in `count.rs`.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use sqlx::SqlitePool;

use super::count::tally;
use super::parts::{Parts, Span};
use super::project::{DAY, HOUR, Project, Shared};
use crate::block::each_read;
use crate::cells::each_cell;
use crate::interval::Interval;
use crate::range::Range;
use crate::reports::{Point, Series, SeriesError};
use crate::views::{Failure, Tally};

const MOST_POINTS: usize = 10_000;
/// The years 2000 to 2100: no event is of another one.
const EVER: Span = (946_684_800_000, 4_102_444_800_000);

pub(super) struct Asked<'a> {
    pub(super) range: &'a Range,
    pub(super) interval: Interval,
    pub(super) path: Option<&'a str>,
}

/// `None` when the project's views were sorted anew meanwhile: then ask again.
pub(super) async fn series(
    reads: &SqlitePool,
    shared: &Shared,
    asked: &Asked<'_>,
) -> Result<Option<Series>, SeriesError> {
    let (id, folds, raw_from, wanted, recent) = {
        let project = shared.read();
        (project.id, project.folds, project.raw_from, wanted(&project, asked.path), recent(&project))
    };
    let (from, to) = span(reads, id, asked.range, recent).await?;
    let mut steps = Steps::new(asked.interval, (from, to), wanted)?;
    let parts = Parts::between((from, to), raw_from);
    let hours = if asked.interval == Interval::Hour { parts.all_hours() } else { parts.hours.clone() };
    steps.add_hours(reads, id, &hours).await?;
    steps.add_bits(reads, id, &parts.bits).await?;
    let project = shared.read();
    if project.folds != folds || project.index.is_none() {
        return Ok(None);
    }
    steps.add_what_is_in_memory(&project, &parts);
    Ok(Some(steps.series()))
}

/// Every step of a project that nobody has read.
pub(super) fn of_nobody(asked: &Asked<'_>) -> Result<Series, SeriesError> {
    Ok(Steps::new(asked.interval, within(asked.range, None), Vec::new())?.series())
}

/// Which pages count, by number.
fn wanted(project: &Project, path: Option<&str>) -> Vec<bool> {
    let wanted = |(_, page): (u32, &std::sync::Arc<str>)| path.is_none_or(|path| page.starts_with(path));
    project.pages.since(0).map(wanted).collect()
}

/// The first day and the last one of the reads that are not folded.
fn recent(project: &Project) -> Option<Span> {
    let days = || project.recent.iter().map(|read| read.at.div_euclid(DAY));
    Some((days().min()?, days().max()?))
}

/// The range in milliseconds; its open ends are where the reads are.
async fn span(
    reads: &SqlitePool,
    project: i64,
    range: &Range,
    recent: Option<Span>,
) -> Result<Span, Failure> {
    let kept: (Option<i64>, Option<i64>) =
        sqlx::query_as("SELECT MIN(day), MAX(day) FROM day WHERE project = ?")
            .bind(project)
            .fetch_one(reads)
            .await?;
    let days = [kept.0.zip(kept.1), recent];
    let first = days.iter().flatten().map(|(first, _)| first * DAY).min();
    let last = days.iter().flatten().map(|(_, last)| (last + 1) * DAY).max();
    Ok(within(range, first.zip(last)))
}

/// Without a read, a range that is open at an end is empty: there is no first hour to count from.
fn within(range: &Range, reads: Option<Span>) -> Span {
    let (first, last) = reads.unzip();
    let from = range.from().or(first).or(range.to()).unwrap_or(0).clamp(EVER.0, EVER.1);
    (from, range.to().or(last).unwrap_or(from).clamp(from, EVER.1))
}

struct Steps {
    interval: Interval,
    wanted: Vec<bool>,
    reads: BTreeMap<i64, Tally>,
}

impl Steps {
    fn new(interval: Interval, (from, to): Span, wanted: Vec<bool>) -> Result<Self, SeriesError> {
        let mut reads = BTreeMap::new();
        let mut at = interval.start(from);
        while at < to && from < to {
            if reads.len() == MOST_POINTS {
                return Err(SeriesError::TooManyPoints { interval, most: MOST_POINTS });
            }
            reads.insert(at, Tally::default());
            at = interval.next(at);
        }
        Ok(Self { interval, wanted, reads })
    }

    fn add(&mut self, at: i64, page: u32, reads: Tally) {
        let wanted = self.wanted.get(page as usize).is_some_and(|wanted| *wanted);
        if let (true, Some(step)) = (wanted, self.reads.get_mut(&self.interval.start(at))) {
            step.add(reads.human, reads.ai);
        }
    }

    async fn add_hours(&mut self, reads: &SqlitePool, project: i64, spans: &[Span]) -> Result<(), Failure> {
        for (from, to) in spans {
            let hours = "SELECT hour, cells FROM hour WHERE project = ? AND hour >= ? AND hour < ?";
            let mut hours =
                sqlx::query_as::<_, (i64, Vec<u8>)>(hours).bind(project).bind(from).bind(to).fetch(reads);
            while let Some((hour, cells)) = hours.try_next().await? {
                each_cell(&cells, |page, cell| {
                    self.add(hour * HOUR, page, Tally { human: cell[0], ai: cell[1] });
                })?;
            }
        }
        Ok(())
    }

    async fn add_bits(&mut self, reads: &SqlitePool, project: i64, spans: &[Span]) -> Result<(), Failure> {
        for (from, to) in spans {
            let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?";
            let mut blocks =
                sqlx::query_scalar::<_, Vec<u8>>(blocks).bind(project).bind(from).bind(to).fetch(reads);
            while let Some(block) = blocks.try_next().await? {
                each_read(&block, |read, _| {
                    if (*from..*to).contains(&read.at) {
                        self.add(read.at, read.page, tally(read));
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Whole days, and what is not folded of the rest.
    fn add_what_is_in_memory(&mut self, project: &Project, parts: &Parts) {
        let by_hour = self.interval == Interval::Hour;
        if !by_hour {
            self.add_days(project, parts.days);
        }
        let days = (parts.days.0 * DAY, parts.days.1 * DAY);
        let spans: Vec<Span> = parts.edges.iter().copied().chain(by_hour.then_some(days)).collect();
        for read in &project.recent {
            if spans.iter().any(|(from, to)| (*from..*to).contains(&read.at)) {
                self.add(read.at, read.page, tally(*read));
            }
        }
    }

    fn add_days(&mut self, project: &Project, days: Span) {
        let Some(index) = &project.index else { return };
        let mut totals = index.totals(&self.wanted);
        for (start, step) in &mut self.reads {
            let from = (start / DAY).max(days.0);
            let to = (self.interval.next(*start) / DAY).min(days.1);
            if from < to {
                let (before, mut reads) = (totals.before(from), totals.before(to));
                reads.take(before.human, before.ai);
                step.add(reads.human, reads.ai);
            }
        }
    }

    fn series(self) -> Series {
        let mut series = Series::default();
        for (at, reads) in self.reads {
            series.totals.add(reads.human, reads.ai);
            series.points.push(Point { at, reads });
        }
        series
    }
}
