//! Counts readers for one report when the disk takes no writes. The result is the same as after compaction.

use std::collections::BTreeMap;

use super::count_day;
use base::sqlite::ReadPool;

use crate::block::Row;
use crate::distinct_readers::{DistinctReaders, Visit};
use crate::range_parts::Span;
use crate::sqlite::project::DAY;
use crate::sqlite::snapshot::Snapshot;
use crate::views::Failure;

pub(super) async fn each_day(
    reads: &ReadPool,
    snapshot: &Snapshot,
    days: Span,
    mut with: impl FnMut(i64, DistinctReaders),
) -> Result<(), Failure> {
    let (project, raw_from) = {
        let project = snapshot.shared.read();
        (project.id, project.raw_from)
    };
    let mut journal = visits(snapshot.journal_rows(), days);
    let known: Vec<i64> =
        sqlx::query_scalar("SELECT day FROM day WHERE project = ? AND day >= ? AND day < ?")
            .bind(project)
            .bind(days.0)
            .bind(days.1)
            .fetch_all(&mut *reads.acquire().await?)
            .await?;
    for day in known {
        journal.entry(day).or_default();
    }
    for (day, visits) in journal {
        let readers = match day * DAY >= raw_from {
            true => count_raw_day(reads, project, day, &visits).await?,
            false => add_late(reads, project, day, visits).await?,
        };
        with(day, readers);
    }
    Ok(())
}

/// The visits in the journal, by day.
fn visits<'r>(rows: impl Iterator<Item = &'r Row>, days: Span) -> BTreeMap<i64, Vec<Visit>> {
    let mut all = BTreeMap::<i64, Vec<Visit>>::new();
    for (read, visitor) in rows.filter_map(|row| Some((row.read()?, row.visitor?))) {
        let day = read.at.div_euclid(DAY);
        if (days.0..days.1).contains(&day) {
            all.entry(day).or_default().push(Visit::new(read, visitor));
        }
    }
    all
}

/// A day whose raw events are stored: its stored counts are valid if the journal has no visits of the day.
async fn count_raw_day(
    reads: &ReadPool,
    project: i64,
    day: i64,
    journal: &[Visit],
) -> Result<DistinctReaders, Failure> {
    match stored_counts(reads, project, day).await? {
        Some(stored) if journal.is_empty() => Ok(stored),
        _ => count_day(reads, project, day, journal).await,
    }
}

/// A day whose raw events are deleted: late readers were hashed with another salt, so none is counted there
/// already.
async fn add_late(
    reads: &ReadPool,
    project: i64,
    day: i64,
    late: Vec<Visit>,
) -> Result<DistinctReaders, Failure> {
    let mut all = stored_counts(reads, project, day).await?.unwrap_or_default();
    all.add(&DistinctReaders::from_visits(late));
    Ok(all)
}

async fn stored_counts(reads: &ReadPool, project: i64, day: i64) -> Result<Option<DistinctReaders>, Failure> {
    let stored: Option<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT visitors FROM day WHERE project = ? AND day = ?")
            .bind(project)
            .bind(day)
            .fetch_optional(&mut *reads.acquire().await?)
            .await?;
    Ok(stored.flatten().map(|stored| DistinctReaders::decode(&stored)).transpose()?)
}
