//! Reads counts of page views by path and day, in the types of the crate `findings`.

use std::collections::HashMap;

use findings::{Counts, Day, Evidence, ReaderDay};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use traffic::{DayCounts, Failure, ListQuery, MAX_PATHS, MissingPath, PathDaysQuery, Range, Reports, Tally};

/// The days of a path: requests that were not found, views, and days on which it was answered with a page or a redirect.
#[derive(Debug, Default)]
pub(super) struct PathHistory {
    pub(super) not_found: Vec<Day>,
    pub(super) views: Vec<Day>,
    pub(super) answered: Vec<Date>,
    redirected: Vec<Day>,
}

impl PathHistory {
    /// For a redirect that leads to no page.
    pub(super) fn count_redirects_as_missing(&mut self) {
        let mut evidence = Evidence::default();
        evidence.add("", &self.not_found, &[]);
        evidence.add("", &self.redirected, &[]);
        self.not_found = evidence.days;
        self.answered = self.views.iter().map(|day| day.day).collect();
    }
}

/// Reads page views of one project in a range of days.
pub(super) struct ViewCounts<'a> {
    pub(super) reports: &'a dyn Reports,
    pub(super) project: &'a str,
    pub(super) range: Range,
}

impl ViewCounts<'_> {
    pub(super) async fn missing_paths(&self, limit: u32) -> Result<Vec<MissingPath>, Failure> {
        let query = ListQuery::new(limit, 0);
        Ok(self.reports.not_found(self.project, &self.range, &query).await?.pages)
    }

    pub(super) async fn histories(&self, paths: &[String]) -> Result<HashMap<String, PathHistory>, Failure> {
        let mut histories = HashMap::with_capacity(paths.len());
        for paths in paths.chunks(MAX_PATHS) {
            let query = PathDaysQuery { paths, with_visitors: false };
            let answer = self.reports.path_days(self.project, &self.range, &query).await?;
            histories.extend(answer.paths.into_iter().map(|path| (path.path, history(&path.days))));
        }
        Ok(histories)
    }

    /// The readers of the paths together, and of the site, by day. Visitors of several paths are added up, so a visitor
    /// of two of them counts twice.
    pub(super) async fn reader_days(
        &self,
        paths: &[String],
    ) -> Result<(Vec<ReaderDay>, Vec<ReaderDay>), Failure> {
        let mut subject = Vec::new();
        let mut site = Vec::new();
        for paths in paths.chunks(MAX_PATHS) {
            let query = PathDaysQuery { paths, with_visitors: true };
            let answer = self.reports.path_days(self.project, &self.range, &query).await?;
            subject.extend(answer.paths.iter().flat_map(|path| &path.days).map(reader_day));
            site = answer.site.iter().map(reader_day).collect();
        }
        Ok((subject, site))
    }
}

fn history(days: &[DayCounts]) -> PathHistory {
    let mut history = PathHistory::default();
    for counts in days {
        let date = date(counts.at);
        let day = |tally: Tally| Day { day: date, human: tally.human, ai: tally.ai };
        history.not_found.extend(Some(day(counts.not_found)).filter(|day| day.total() > 0));
        history.views.extend(Some(day(counts.views)).filter(|day| day.total() > 0));
        history.redirected.extend(Some(day(counts.redirected)).filter(|day| day.total() > 0));
        if counts.views.total() + counts.redirected.total() > 0 {
            history.answered.push(date);
        }
    }
    history
}

fn reader_day(counts: &DayCounts) -> ReaderDay {
    let of = |count: fn(Tally) -> u64, visitors: u64| Counts {
        not_found: count(counts.not_found),
        views: count(counts.views),
        visitors,
    };
    ReaderDay {
        day: date(counts.at),
        human: of(|tally| tally.human, counts.visitors.human),
        ai: of(|tally| tally.ai, counts.visitors.ai),
    }
}

/// The UTC day of a moment in milliseconds since 1970.
fn date(at: i64) -> Date {
    day_of(Timestamp::from_millisecond(at).unwrap_or_default())
}

/// The UTC day of a moment in seconds since 1970.
pub fn day_of_second(second: i64) -> Date {
    day_of(Timestamp::from_second(second).unwrap_or_default())
}

pub(super) fn day_of(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}

/// The start of a UTC day, in milliseconds since 1970. The first and the last days of the calendar are no timestamps.
pub(super) fn start_of(day: Date) -> i64 {
    let limit = if day.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    1_000 * day.to_zoned(TimeZone::UTC).map_or(limit, |start| start.timestamp()).as_second()
}
