//! Counts distinct readers by day, and caches the counts of a day until it gets a new read.
//!
//! A recount reads the day's raw events in passes, one part of the visitors per pass. So the counts are exact
//! and memory is bounded.

mod uncached;

use std::collections::BTreeMap;

use base::sqlite::{Database, ReadPool};
use futures_util::{FutureExt, TryStreamExt};
use sqlx::SqliteConnection;

use super::count::top;
use super::project::{DAY, SharedProject};
use super::snapshot::Snapshot;
use crate::block::{Row, each_read};
use crate::distinct_readers::{DistinctReaders, Visit};
use crate::encoding::DamagedData;
use crate::list_query::ListQuery;
use crate::range_parts::Span;
use crate::views::{Failure, Readers, Visitors};

/// Bounds the visitors in memory.
const MAX_EVENTS_PER_PASS: i64 = 1 << 21;

/// The visitors report. When counts cannot be stored, they are computed for this report only.
pub(super) async fn report(
    database: &Database,
    snapshot: &Snapshot,
    days: Span,
    query: &ListQuery,
) -> Result<Visitors, Failure> {
    let mut sum = Sum::default();
    let decode = if query.limit == 0 { DistinctReaders::decode_site } else { DistinctReaders::decode };
    each_day(database, snapshot, days, decode, |_, readers| sum.add(readers)).await?;
    Ok(sum.into_report(&snapshot.shared, query))
}

/// Calls `with` for the readers of every day that has any. Recounts days that changed.
pub(super) async fn each_day(
    database: &Database,
    snapshot: &Snapshot,
    days: Span,
    decode: fn(&[u8]) -> Result<DistinctReaders, DamagedData>,
    mut with: impl FnMut(i64, DistinctReaders),
) -> Result<(), Failure> {
    let id = snapshot.shared.read().id;
    let stored = match snapshot.journal() {
        None => count_days(database, id, days).await,
        Some(_) => Ok(None),
    };
    match stored {
        Ok(Some(stored)) => {
            for (day, readers) in stored {
                with(day, decode(&readers)?);
            }
        }
        Err(failure) if failure.trouble().is_none() => return Err(failure),
        Ok(None) | Err(_) => uncached::each_day(database.reads(), snapshot, days, with).await?,
    }
    Ok(())
}

/// A day, and its encoded counts.
type StoredDay = (i64, Vec<u8>);

/// The encoded counts of some days. Recounts and stores the days that changed.
async fn count_days(
    database: &Database,
    project: i64,
    days: Span,
) -> Result<Option<Vec<StoredDay>>, Failure> {
    loop {
        recount(database, project, days).await?;
        let stored = stored_counts(database.reads(), project, days).await?;
        if stored.is_some() {
            return Ok(stored);
        }
    }
}

/// The sum of the readers of several days.
#[derive(Default)]
struct Sum {
    totals: Readers,
    pages: BTreeMap<u32, Readers>,
}

impl Sum {
    fn add(&mut self, day: DistinctReaders) {
        self.totals.add(&day.site());
        day.pages().for_each(|(page, readers)| self.pages.entry(page).or_default().add(readers));
    }

    fn into_report(self, shared: &SharedProject, query: &ListQuery) -> Visitors {
        let project = shared.read();
        let readers = |page: u32| self.pages.get(&page).copied().unwrap_or_default();
        let (top, has_more) = top(&project.pages, query, project.pages.len(), readers);
        let page = |page: u32| (project.pages.path(page).to_owned(), readers(page));
        // A query for no pages asks for the totals only, and then pages are often not even read.
        let has_more = has_more && query.limit > 0;
        Visitors { totals: self.totals, pages: top.into_iter().map(page).collect(), has_more }
    }
}

/// The stored counts of some days, unless one of them has changed since.
async fn stored_counts(
    reads: &ReadPool,
    project: i64,
    days: Span,
) -> Result<Option<Vec<StoredDay>>, Failure> {
    let stored: Vec<(i64, Option<Vec<u8>>)> =
        sqlx::query_as("SELECT day, visitors FROM day WHERE project = ? AND day >= ? AND day < ?")
            .bind(project)
            .bind(days.0)
            .bind(days.1)
            .fetch_all(&mut *reads.acquire().await?)
            .await?;
    Ok(stored.into_iter().map(|(day, visitors)| Some((day, visitors?))).collect())
}

/// Counts the readers of the days that have changed, and stores the counts.
pub(super) async fn recount(database: &Database, project: i64, days: Span) -> Result<(), Failure> {
    let stale: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT day, folds FROM day WHERE project = ? AND day >= ? AND day < ? AND visitors IS NULL",
    )
    .bind(project)
    .bind(days.0)
    .bind(days.1)
    .fetch_all(&mut *database.reads().acquire().await?)
    .await?;
    let mut counted = Vec::new();
    for (day, folds) in stale {
        counted.push((day, folds, count_day(database.reads(), project, day, &[]).await?.encode()?));
    }
    if counted.is_empty() {
        return Ok(());
    }
    let written = database.write(move |connection| {
        async move {
            for (day, folds, visitors) in counted {
                // Skips days that changed since they were counted.
                sqlx::query("UPDATE day SET visitors = ? WHERE project = ? AND day = ? AND folds = ?")
                    .bind(visitors)
                    .bind(project)
                    .bind(day)
                    .bind(folds)
                    .execute(&mut *connection)
                    .await?;
            }
            Ok::<_, Failure>(())
        }
        .boxed()
    });
    written.await
}

/// Counts the readers of a day from its raw events and from `more` visits, which are not among them.
async fn count_day(
    reads: &ReadPool,
    project: i64,
    day: i64,
    more: &[Visit],
) -> Result<DistinctReaders, Failure> {
    let (from, to) = (day * DAY, (day + 1) * DAY);
    let events = "SELECT COALESCE(SUM(events), 0) FROM block WHERE project = ? AND last >= ? AND first < ?";
    let events: i64 = sqlx::query_scalar(events)
        .bind(project)
        .bind(from)
        .bind(to)
        .fetch_one(&mut *reads.acquire().await?)
        .await?;
    let passes = (events / MAX_EVENTS_PER_PASS + 1).unsigned_abs();
    let mut distinct = DistinctReaders::default();
    for pass in 0..passes {
        let mut visits: Vec<_> =
            more.iter().filter(|visit| visit.visitor % passes == pass).copied().collect();
        let mut connection = reads.acquire().await?;
        let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(
            "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?",
        )
        .bind(project)
        .bind(from)
        .bind(to)
        .fetch(&mut *connection);
        while let Some(block) = blocks.try_next().await? {
            each_read(&block, |read, visitor| {
                let visitor =
                    visitor.filter(|visitor| (from..to).contains(&read.at) && visitor % passes == pass);
                visits.extend(visitor.map(|visitor| Visit::new(read, visitor)));
            })?;
        }
        distinct.add(&DistinctReaders::from_visits(visits));
    }
    Ok(distinct)
}

/// Counts the readers of rows, by day.
pub(super) fn count_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeMap<i64, DistinctReaders> {
    let mut days = BTreeMap::<i64, Vec<Visit>>::new();
    for (read, visitor) in rows.filter_map(|row| Some((row.read()?, row.visitor?))) {
        days.entry(read.at.div_euclid(DAY)).or_default().push(Visit::new(read, visitor));
    }
    days.into_iter().map(|(day, visits)| (day, DistinctReaders::from_visits(visits))).collect()
}

/// Adds readers to days whose raw events are deleted. They were hashed with another salt, so none of them is
/// counted there already.
pub(super) async fn add(
    connection: &mut SqliteConnection,
    project: i64,
    days: BTreeMap<i64, DistinctReaders>,
) -> Result<(), Failure> {
    for (day, mut distinct) in days {
        let kept: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT visitors FROM day WHERE project = ? AND day = ?")
                .bind(project)
                .bind(day)
                .fetch_one(&mut *connection)
                .await?;
        if let Some(kept) = kept {
            distinct.add(&DistinctReaders::decode(&kept)?);
        }
        sqlx::query("UPDATE day SET visitors = ? WHERE project = ? AND day = ?")
            .bind(distinct.encode()?)
            .bind(project)
            .bind(day)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Marks a day for a recount by the next report.
pub(super) async fn mark_stale(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
) -> Result<(), Failure> {
    let stale = "UPDATE day SET visitors = NULL WHERE project = ? AND day = ?";
    sqlx::query(stale).bind(project).bind(day).execute(connection).await?;
    Ok(())
}
