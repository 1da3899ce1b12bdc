//! Time series of reads: whole days from the daily rollup, hours from the hourly one, and parts of an hour from raw
//! events.

use super::Shared;
use super::rows::Answer;
use super::snapshot::report;
use super::snapshot::{Moment, tally};
use super::sql::{Conditions, quote};
use crate::event::Kind;
use crate::interval::Interval;
use crate::range::Range;
use crate::range_parts::{DAY, RangeParts, Span};
use crate::reports::{Series, SeriesError};
use crate::series_steps::{EVENT_TIMES, Steps, close_range};
use crate::views::{Failure, Tally};

impl Shared {
    pub(super) async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError> {
        let series = report!(self, project, |moment| {
            let span = close_range(range, read_span(moment));
            // Too many points are no failure of the report.
            match Steps::new(interval, span) {
                Ok(mut steps) => {
                    self.add_reads(moment, span, path, &mut steps).await?;
                    Ok(Ok(steps.into_series()))
                }
                Err(refused) => Ok(Err(refused)),
            }
        });
        match series? {
            Some(series) => series,
            None => Ok(Steps::new(interval, close_range(range, None))?.into_series()),
        }
    }

    async fn add_reads(
        &self,
        moment: &Moment,
        span: Span,
        path: Option<&str>,
        steps: &mut Steps,
    ) -> Result<(), Failure> {
        let parts = RangeParts::between(span, moment.ledger.raw_from);
        let reads = source(moment, &parts, steps.interval, path);
        let sql =
            format!("SELECT start, sumIf(n, class = 0), sumIf(n, class = 1) FROM ({reads}) GROUP BY start");
        let rows = self.ready().await?.query(sql).await?;
        let mut answer = Answer::new(&rows);
        while !answer.is_empty() {
            let at = answer.u64()?.cast_signed();
            steps.add(at, Tally { human: answer.u64()?, ai: answer.u64()? });
        }
        let wanted = |at: i64, of: &str| parts.contains(at) && path.is_none_or(|path| of.starts_with(path));
        for read in moment.reads().filter(|read| wanted(read.at, read.path)) {
            steps.add(read.at, tally(read.class, 1));
        }
        Ok(())
    }
}

/// All days in which events can be.
pub(super) const ALL_DAYS: Span = (EVENT_TIMES.0 / DAY, EVENT_TIMES.1 / DAY);

/// From the first to after the last day with reads.
fn read_span(moment: &Moment) -> Option<Span> {
    let waiting = moment.rows().filter(|(_, row)| row.kind == Kind::Read);
    let waiting = waiting.map(|(_, row)| row.at.div_euclid(DAY));
    let kept = moment.ledger.read_days.into_iter().flat_map(|(first, last)| [first, last]);
    let days = waiting.chain(kept).fold(None, |span: Option<Span>, day| {
        let (first, last) = span.unwrap_or((day, day));
        Some((first.min(day), last.max(day)))
    });
    days.map(|(first, last)| (first * DAY, (last + 1) * DAY))
}

/// The reads with the start of their hour or day, in milliseconds.
fn source(moment: &Moment, parts: &RangeParts, interval: Interval, path: Option<&str>) -> String {
    let conditions = Conditions::new(&moment.ledger);
    let wanted = path.map(|path| format!(" AND startsWith(path, {})", quote(path))).unwrap_or_default();
    let hours = match interval {
        Interval::Hour => parts.all_hours(),
        _ => parts.hours.clone(),
    };
    let mut sources = vec![
        format!(
            "SELECT toUInt64(hour) * 3600000 AS start, class, n FROM views_hourly WHERE class < 2 AND {}{wanted}",
            conditions.hours(&hours)
        ),
        format!(
            "SELECT toUInt64(intDiv(toUnixTimestamp64Milli(at), 3600000)) * 3600000 AS start, class, toUInt64(1) AS n \
             FROM views WHERE kind = 0 AND class < 2 AND {}{wanted}",
            conditions.raw(&parts.raw_spans)
        ),
    ];
    if interval != Interval::Hour {
        sources.push(format!(
            "SELECT toUInt64(day) * 86400000 AS start, class, n FROM views_daily WHERE class < 2 AND {}{wanted}",
            conditions.days(parts.days)
        ));
    }
    sources.join(" UNION ALL ")
}
