//! Distinct readers by day. A day's numbers are kept until a read of that day comes in, and then
//! counted again from its raw events, a part of the visitors at a time, so that they are exact and
//! the memory for them is bounded, however many there are.

mod unkept;

use std::collections::BTreeMap;

use base::sqlite::Database;
use futures_util::{FutureExt, TryStreamExt};
use sqlx::{SqliteConnection, SqlitePool};

use super::count::top;
use super::parts::Span;
use super::project::{DAY, Shared};
use super::sorted::Sorted;
use crate::block::{Row, each_read};
use crate::distinct::{Distinct, Visit};
use crate::portion::Portion;
use crate::range::Range;
use crate::views::{Failure, Readers, Visitors};

/// Events whose visitors are held in memory at once.
const MOST: i64 = 1 << 21;

/// Days that begin in a range.
pub(super) fn days(range: &Range) -> Span {
    let next = |at: i64| at.div_euclid(DAY) + i64::from(at.rem_euclid(DAY) > 0);
    (range.from().map_or(i64::MIN, next), range.to().map_or(i64::MAX, next))
}

/// The readers of a project. Where their numbers cannot be written down, they are counted for this answer alone.
pub(super) async fn answer(
    database: &Database,
    sorted: &Sorted,
    days: Span,
    portion: &Portion,
) -> Result<Visitors, Failure> {
    let id = sorted.shared.read().id;
    let mut sum = Sum::default();
    let kept = match sorted.unsorted() {
        None => counted(database, id, days).await,
        Some(_) => Ok(None),
    };
    match kept {
        Ok(Some(kept)) => {
            for day in kept {
                let no_pages = portion.limit == 0;
                sum.add(if no_pages { Distinct::decode_site(&day)? } else { Distinct::decode(&day)? });
            }
        }
        Err(failure) if failure.trouble().is_none() => return Err(failure),
        Ok(None) | Err(_) => unkept::add(&mut sum, database.reads(), sorted, days).await?,
    }
    Ok(sum.answer(&sorted.shared, portion))
}

/// The numbers of some days, counted and written down where they have changed.
async fn counted(database: &Database, project: i64, days: Span) -> Result<Option<Vec<Vec<u8>>>, Failure> {
    loop {
        recount(database, project, days).await?;
        let kept = kept(database.reads(), project, days).await?;
        if kept.is_some() {
            return Ok(kept);
        }
    }
}

/// The readers of days, added up.
#[derive(Default)]
struct Sum {
    totals: Readers,
    pages: BTreeMap<u32, Readers>,
}

impl Sum {
    fn add(&mut self, day: Distinct) {
        self.totals.add(&day.site());
        day.pages().for_each(|(page, readers)| self.pages.entry(page).or_default().add(readers));
    }

    fn answer(self, shared: &Shared, portion: &Portion) -> Visitors {
        let project = shared.read();
        let readers = |page: u32| self.pages.get(&page).copied().unwrap_or_default();
        let (top, has_more) = top(&project.pages, portion, project.pages.len(), readers);
        let page = |page: u32| (project.pages.path(page).to_owned(), readers(page));
        // Who asks for no page asks for the totals alone, and pages are often not even read then.
        let has_more = has_more && portion.limit > 0;
        Visitors { totals: self.totals, pages: top.into_iter().map(page).collect(), has_more }
    }
}

/// The numbers of some days, unless one of them has changed since they were counted.
async fn kept(reads: &SqlitePool, project: i64, days: Span) -> Result<Option<Vec<Vec<u8>>>, Failure> {
    let kept: Vec<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT visitors FROM day WHERE project = ? AND day >= ? AND day < ?")
            .bind(project)
            .bind(days.0)
            .bind(days.1)
            .fetch_all(reads)
            .await?;
    Ok(kept.into_iter().collect())
}

/// Counts the readers of the days that have changed, and keeps the numbers.
pub(super) async fn recount(database: &Database, project: i64, days: Span) -> Result<(), Failure> {
    let stale: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT day, folds FROM day WHERE project = ? AND day >= ? AND day < ? AND visitors IS NULL",
    )
    .bind(project)
    .bind(days.0)
    .bind(days.1)
    .fetch_all(database.reads())
    .await?;
    let mut counted = Vec::new();
    for (day, folds) in stale {
        counted.push((day, folds, of_day(database.reads(), project, day, &[]).await?.encode()?));
    }
    if counted.is_empty() {
        return Ok(());
    }
    let kept = database.write(move |connection| {
        async move {
            for (day, folds, visitors) in counted {
                // Not if the day has changed since it was counted.
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
    kept.await
}

/// The readers of a day: of its raw events, and of rows that are not among those.
async fn of_day(reads: &SqlitePool, project: i64, day: i64, more: &[Visit]) -> Result<Distinct, Failure> {
    let (from, to) = (day * DAY, (day + 1) * DAY);
    let events = "SELECT COALESCE(SUM(events), 0) FROM block WHERE project = ? AND last >= ? AND first < ?";
    let events: i64 = sqlx::query_scalar(events).bind(project).bind(from).bind(to).fetch_one(reads).await?;
    let passes = (events / MOST + 1).unsigned_abs();
    let mut distinct = Distinct::default();
    for pass in 0..passes {
        let mut visits: Vec<_> =
            more.iter().filter(|visit| visit.visitor % passes == pass).copied().collect();
        let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(
            "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?",
        )
        .bind(project)
        .bind(from)
        .bind(to)
        .fetch(reads);
        while let Some(block) = blocks.try_next().await? {
            each_read(&block, |read, visitor| {
                let visitor =
                    visitor.filter(|visitor| (from..to).contains(&read.at) && visitor % passes == pass);
                visits.extend(visitor.map(|visitor| Visit::new(read, visitor)));
            })?;
        }
        distinct.add(&Distinct::of(visits));
    }
    Ok(distinct)
}

/// The readers of rows, by day.
pub(super) fn of_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> BTreeMap<i64, Distinct> {
    let mut days = BTreeMap::<i64, Vec<Visit>>::new();
    for (read, visitor) in rows.filter_map(|row| Some((row.read()?, row.visitor?))) {
        days.entry(read.at.div_euclid(DAY)).or_default().push(Visit::new(read, visitor));
    }
    days.into_iter().map(|(day, visits)| (day, Distinct::of(visits))).collect()
}

/// Adds readers to days whose raw events are gone. They were hashed with another salt, so that
/// none of them is known there.
pub(super) async fn add(
    connection: &mut SqliteConnection,
    project: i64,
    days: BTreeMap<i64, Distinct>,
) -> Result<(), Failure> {
    for (day, mut distinct) in days {
        let kept: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT visitors FROM day WHERE project = ? AND day = ?")
                .bind(project)
                .bind(day)
                .fetch_one(&mut *connection)
                .await?;
        if let Some(kept) = kept {
            distinct.add(&Distinct::decode(&kept)?);
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

pub(super) async fn recount_later(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
) -> Result<(), Failure> {
    let stale = "UPDATE day SET visitors = NULL WHERE project = ? AND day = ?";
    sqlx::query(stale).bind(project).bind(day).execute(connection).await?;
    Ok(())
}
