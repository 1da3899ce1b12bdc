//! Time series of reads. Whole days come from prefix sums, hours from cells, and parts of an hour from raw
//! events.

use base::sqlite::ReadPool;
use futures_util::TryStreamExt;

use super::count::tally;
use super::project::{DAY, HOUR, Project, SharedProject};
use crate::block::each_read;
use crate::cells::each_cell;
use crate::interval::Interval;
use crate::range::Range;
use crate::range_parts::{RangeParts, Span};
use crate::reports::{Series, SeriesError};
use crate::series_steps::{Steps, close_range};
use crate::views::{Failure, Tally};

pub(super) struct SeriesQuery<'a> {
    pub(super) range: &'a Range,
    pub(super) interval: Interval,
    pub(super) path: Option<&'a str>,
}

/// `None` when the data on disk changed in the meantime: retry.
pub(super) async fn series(
    reads: &ReadPool,
    shared: &SharedProject,
    query: &SeriesQuery<'_>,
) -> Result<Option<Series>, SeriesError> {
    let (id, version, raw_from, wanted, recent) = {
        let project = shared.read();
        (
            project.id,
            project.disk_version,
            project.raw_from,
            wanted_pages(&project, query.path),
            recent_days(&project),
        )
    };
    let (from, to) = span(reads, id, query.range, recent).await?;
    let mut steps = PageSteps { steps: Steps::new(query.interval, (from, to))?, wanted };
    let parts = RangeParts::between((from, to), raw_from);
    let hours = if query.interval == Interval::Hour { parts.all_hours() } else { parts.hours.clone() };
    steps.add_hours(reads, id, &hours).await?;
    steps.add_raw_events(reads, id, &parts.raw_spans).await?;
    let project = shared.read();
    if project.disk_version != version || project.prefix_sums.is_none() {
        return Ok(None);
    }
    steps.add_from_memory(&project, &parts);
    Ok(Some(steps.steps.into_series()))
}

/// A series of zeros, for a project without views.
pub(super) fn empty_series(query: &SeriesQuery<'_>) -> Result<Series, SeriesError> {
    Ok(Steps::new(query.interval, close_range(query.range, None))?.into_series())
}

/// Whether each page matches the path prefix, by page number.
fn wanted_pages(project: &Project, path: Option<&str>) -> Vec<bool> {
    let wanted = |(_, page): (u32, &std::sync::Arc<str>)| path.is_none_or(|path| page.starts_with(path));
    project.pages.since(0).map(wanted).collect()
}

/// The first and the last day of the reads since the last compaction.
fn recent_days(project: &Project) -> Option<Span> {
    let days = || project.recent.iter().map(|read| read.at.div_euclid(DAY));
    Some((days().min()?, days().max()?))
}

/// The range in milliseconds. Open ends become the first and the last day with reads.
async fn span(reads: &ReadPool, project: i64, range: &Range, recent: Option<Span>) -> Result<Span, Failure> {
    let kept: (Option<i64>, Option<i64>) =
        sqlx::query_as("SELECT MIN(day), MAX(day) FROM day WHERE project = ?")
            .bind(project)
            .fetch_one(&mut *reads.acquire().await?)
            .await?;
    let days = [kept.0.zip(kept.1), recent];
    let first = days.iter().flatten().map(|(first, _)| first * DAY).min();
    let last = days.iter().flatten().map(|(_, last)| (last + 1) * DAY).max();
    Ok(close_range(range, first.zip(last)))
}

/// The steps of the series, and whether each page is wanted, by number.
struct PageSteps {
    steps: Steps,
    wanted: Vec<bool>,
}

impl PageSteps {
    fn add(&mut self, at: i64, page: u32, reads: Tally) {
        let wanted = self.wanted.get(page as usize).is_some_and(|wanted| *wanted);
        if wanted {
            self.steps.add(at, reads);
        }
    }

    async fn add_hours(&mut self, reads: &ReadPool, project: i64, spans: &[Span]) -> Result<(), Failure> {
        for (from, to) in spans {
            let hours = "SELECT hour, cells FROM hour WHERE project = ? AND hour >= ? AND hour < ?";
            let mut connection = reads.acquire().await?;
            let mut hours = sqlx::query_as::<_, (i64, Vec<u8>)>(hours)
                .bind(project)
                .bind(from)
                .bind(to)
                .fetch(&mut *connection);
            while let Some((hour, cells)) = hours.try_next().await? {
                each_cell(&cells, |page, cell| {
                    self.add(hour * HOUR, page, Tally { human: cell[0], ai: cell[1] });
                })?;
            }
        }
        Ok(())
    }

    async fn add_raw_events(
        &mut self,
        reads: &ReadPool,
        project: i64,
        spans: &[Span],
    ) -> Result<(), Failure> {
        for (from, to) in spans {
            let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?";
            let mut connection = reads.acquire().await?;
            let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(blocks)
                .bind(project)
                .bind(from)
                .bind(to)
                .fetch(&mut *connection);
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

    /// Adds whole days, and recent reads outside of whole days.
    fn add_from_memory(&mut self, project: &Project, parts: &RangeParts) {
        let by_hour = self.steps.interval == Interval::Hour;
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
        let Some(sums) = &project.prefix_sums else { return };
        let mut totals = sums.totals(&self.wanted);
        let interval = self.steps.interval;
        for (start, step) in &mut self.steps.reads {
            let from = (start / DAY).max(days.0);
            let to = (interval.next(*start) / DAY).min(days.1);
            if from < to {
                let (before, mut reads) = (totals.before(from), totals.before(to));
                reads.subtract(before.human, before.ai);
                step.add(reads.human, reads.ai);
            }
        }
    }
}
