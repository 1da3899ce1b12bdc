//! Readers whose numbers cannot be written down, because the disk takes no writes: counted for one answer, as a fold and
//! a recount would.

use std::collections::BTreeMap;

use sqlx::SqlitePool;

use super::{Sum, of_day};
use crate::block::Row;
use crate::distinct::{Distinct, Visit};
use crate::sqlite::parts::Span;
use crate::sqlite::project::DAY;
use crate::sqlite::sorted::Sorted;
use crate::views::Failure;

pub(super) async fn add(
    sum: &mut Sum,
    reads: &SqlitePool,
    sorted: &Sorted,
    days: Span,
) -> Result<(), Failure> {
    let (project, raw_from) = {
        let project = sorted.shared.read();
        (project.id, project.raw_from)
    };
    let mut waiting = visits(sorted.unsorted_rows(), days);
    let known: Vec<i64> =
        sqlx::query_scalar("SELECT day FROM day WHERE project = ? AND day >= ? AND day < ?")
            .bind(project)
            .bind(days.0)
            .bind(days.1)
            .fetch_all(reads)
            .await?;
    for day in known {
        waiting.entry(day).or_default();
    }
    for (day, visits) in waiting {
        sum.add(match day * DAY >= raw_from {
            true => of_whole_day(reads, project, day, &visits).await?,
            false => with_late(reads, project, day, visits).await?,
        });
    }
    Ok(())
}

/// The visits among rows that wait to be sorted, by day.
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

/// A day whose raw events are there: what was counted of it is good as long as nothing came.
async fn of_whole_day(
    reads: &SqlitePool,
    project: i64,
    day: i64,
    waiting: &[Visit],
) -> Result<Distinct, Failure> {
    match kept(reads, project, day).await? {
        Some(kept) if waiting.is_empty() => Ok(kept),
        _ => of_day(reads, project, day, waiting).await,
    }
}

/// A day whose raw events are gone: who came late was hashed with another salt, and is nobody who is known there.
async fn with_late(
    reads: &SqlitePool,
    project: i64,
    day: i64,
    late: Vec<Visit>,
) -> Result<Distinct, Failure> {
    let mut all = kept(reads, project, day).await?.unwrap_or_default();
    all.add(&Distinct::of(late));
    Ok(all)
}

async fn kept(reads: &SqlitePool, project: i64, day: i64) -> Result<Option<Distinct>, Failure> {
    let kept: Option<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT visitors FROM day WHERE project = ? AND day = ?")
            .bind(project)
            .bind(day)
            .fetch_optional(reads)
            .await?;
    Ok(kept.flatten().map(|kept| Distinct::decode(&kept)).transpose()?)
}
