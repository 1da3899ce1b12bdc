//! Stores and sums the daily rollups by name.

use base::sqlite::ReadPool;
use futures_util::TryStreamExt;
use sqlx::SqliteConnection;

use crate::block::Block;
use crate::name_counts::NameCounts;
use crate::names::{DailyNames, MAX_NAMES_PER_DAY, MAX_NAMES_PER_REPORT, NameKind, add_rows};
use crate::range_parts::Span;
use crate::views::Failure;

/// Adds names to the stored rollups of their days.
pub(super) async fn add(
    connection: &mut SqliteConnection,
    project: i64,
    days: DailyNames,
) -> Result<(), Failure> {
    for ((about, day), names) in days {
        let kept: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT names FROM named WHERE project = ? AND about = ? AND day = ?")
                .bind(project)
                .bind(about as u8)
                .bind(day)
                .fetch_optional(&mut *connection)
                .await?;
        let mut all = NameCounts::with_capacity(MAX_NAMES_PER_DAY);
        kept.map(|kept| all.add_encoded(&kept)).transpose()?;
        names.iter().for_each(|(name, times)| all.add(name, times));
        sqlx::query(
            "INSERT INTO named (project, about, day, names) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET names = excluded.names",
        )
        .bind(project)
        .bind(about as u8)
        .bind(day)
        .bind(all.encode()?)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Sums the names of whole days and of the edges of a range. Streams the data, so memory is bounded for any
/// range.
pub(super) async fn sum(
    reads: &ReadPool,
    project: i64,
    about: NameKind,
    days: Span,
    edges: &[Span],
) -> Result<NameCounts, Failure> {
    let mut sum = NameCounts::with_capacity(MAX_NAMES_PER_REPORT);
    let kept =
        "SELECT names FROM named WHERE project = ? AND about = ? AND day >= ? AND day < ? ORDER BY day";
    let mut connection = reads.acquire().await?;
    let mut kept = sqlx::query_scalar::<_, Vec<u8>>(kept)
        .bind(project)
        .bind(about as u8)
        .bind(days.0)
        .bind(days.1)
        .fetch(&mut *connection);
    while let Some(names) = kept.try_next().await? {
        sum.add_encoded(&names)?;
    }
    drop(kept);
    for (from, to) in edges {
        let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ? ORDER BY id";
        let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(blocks)
            .bind(project)
            .bind(from)
            .bind(to)
            .fetch(&mut *connection);
        while let Some(block) = blocks.try_next().await? {
            add_rows(&mut sum, &Block::decode(&block)?, about, |at| (*from..*to).contains(&at));
        }
    }
    Ok(sum)
}
