//! Compaction: moves events from the journal to blocks, rollups and the ids of the last seven days.
//!
//! Events go to blocks sorted by time, reads to the cells of hours and days, names to the names of their day.
//! Compaction is one transaction, so that an event is either in the journal or in all the others.

use std::collections::BTreeMap;

use base::sqlite::ReadPool;
use sqlx::SqliteConnection;

use super::event_ids::{self, Ids, Segment};
use super::project::{DAY, HOUR};
use super::{names, visitors};
use crate::block::{Block, Row};
use crate::cells::Cells;
use crate::event::Kind;
use crate::names::count_block;
use crate::views::Failure;

/// Few enough that the edge of a range reads little, and enough to compress well.
const EVENTS_PER_BLOCK: usize = 8_192;
/// A newest block with fewer events is merged with the new events.
const MIN_BLOCK_EVENTS: i64 = 4_096;
pub(super) const COMPRESSION_LEVEL: i32 = 3;

/// The projects whose journal is not empty.
pub(super) async fn projects_with_journal(reads: &ReadPool) -> Result<Vec<String>, Failure> {
    let select = "SELECT name FROM project WHERE EXISTS (SELECT 1 FROM journal WHERE project = project.id)";
    Ok(sqlx::query_scalar(select).fetch_all(&mut *reads.acquire().await?).await?)
}

/// Compacts a project's journal. Returns the new segments of ids, each with the segment that it replaces.
pub(super) async fn compact(
    connection: &mut SqliteConnection,
    project: i64,
    raw_from: i64,
) -> Result<Vec<(Option<i64>, Segment)>, Failure> {
    let (mut block, ids) = take_journal(connection, project).await?;
    let hours = hourly_cells(&block);
    let names = count_block(&block);
    let late = visitors::count_rows(block.rows.iter().filter(|row| row.at < raw_from));
    add_cells(connection, project, raw_from, hours).await?;
    names::add(connection, project, names).await?;
    visitors::add(connection, project, late).await?;
    block.rows.retain(|row| row.at >= raw_from);
    if !block.rows.is_empty() {
        merge_small_block(connection, project, &mut block).await?;
        block.rows.sort_by_key(|row| row.at);
        write_blocks(connection, project, &block).await?;
    }
    event_ids::write(connection, project, ids).await
}

async fn take_journal(connection: &mut SqliteConnection, project: i64) -> Result<(Block, Ids), Failure> {
    let journal = read_journal(connection, project).await?;
    sqlx::query("DELETE FROM journal WHERE project = ?").bind(project).execute(connection).await?;
    Ok(journal)
}

/// The events since the last compaction, and their ids.
pub(super) async fn read_journal(
    connection: &mut SqliteConnection,
    project: i64,
) -> Result<(Block, Ids), Failure> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT received, block FROM journal WHERE project = ? ORDER BY id")
            .bind(project)
            .fetch_all(connection)
            .await?;
    let (mut all, mut ids) = (Block::default(), Ids::new());
    for (received, packed) in rows {
        let mut block = Block::decode(&packed)?;
        ids.extend(block.rows.iter_mut().filter_map(|row| Some((row.id.take()?, received))));
        all.append(block);
    }
    Ok((all, ids))
}

pub(super) fn hourly_cells(block: &Block) -> BTreeMap<i64, Cells> {
    let mut reads: Vec<_> = block
        .rows
        .iter()
        .filter_map(Row::read)
        .map(|read| (read.at.div_euclid(HOUR), read.page, read.class))
        .collect();
    reads.sort_unstable();
    let mut hours = BTreeMap::<i64, Cells>::new();
    for same in reads.chunk_by(|read, next| read == next) {
        let (hour, page, class) = same[0];
        hours.entry(hour).or_default().add(page, class, same.len() as u64);
    }
    hours
}

pub(super) async fn add_cells(
    connection: &mut SqliteConnection,
    project: i64,
    raw_from: i64,
    hours: BTreeMap<i64, Cells>,
) -> Result<(), Failure> {
    let mut days = BTreeMap::<i64, Cells>::new();
    for (hour, cells) in hours {
        let day = days.entry((hour * HOUR).div_euclid(DAY)).or_default();
        cells.iter().for_each(|(page, cell)| day.add_all(page, cell));
        add_to_hour(connection, project, hour, cells).await?;
    }
    for (day, cells) in days {
        add_to_day(connection, project, day, cells).await?;
        if day * DAY >= raw_from {
            visitors::mark_stale(connection, project, day).await?;
        }
    }
    Ok(())
}

async fn add_to_hour(
    connection: &mut SqliteConnection,
    project: i64,
    hour: i64,
    mut cells: Cells,
) -> Result<(), Failure> {
    let kept: Option<Vec<u8>> = sqlx::query_scalar("SELECT cells FROM hour WHERE project = ? AND hour = ?")
        .bind(project)
        .bind(hour)
        .fetch_optional(&mut *connection)
        .await?;
    kept.map(|kept| cells.add_encoded(&kept)).transpose()?;
    sqlx::query(
        "INSERT INTO hour (project, hour, cells) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET cells = excluded.cells",
    )
    .bind(project)
    .bind(hour)
    .bind(cells.encode()?)
    .execute(connection)
    .await?;
    Ok(())
}

async fn add_to_day(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    mut cells: Cells,
) -> Result<(), Failure> {
    let kept: Option<Vec<u8>> = sqlx::query_scalar("SELECT cells FROM day WHERE project = ? AND day = ?")
        .bind(project)
        .bind(day)
        .fetch_optional(&mut *connection)
        .await?;
    kept.map(|kept| cells.add_encoded(&kept)).transpose()?;
    sqlx::query(
        "INSERT INTO day (project, day, folds, cells) VALUES (?, ?, 1, ?)
         ON CONFLICT DO UPDATE SET cells = excluded.cells, folds = folds + 1",
    )
    .bind(project)
    .bind(day)
    .bind(cells.encode()?)
    .execute(connection)
    .await?;
    Ok(())
}

/// Moves the events of a small newest block into `into`, so that quiet days do not leave many small blocks.
async fn merge_small_block(
    connection: &mut SqliteConnection,
    project: i64,
    into: &mut Block,
) -> Result<(), Failure> {
    let newest: Option<(i64, i64, Vec<u8>)> =
        sqlx::query_as("SELECT id, events, block FROM block WHERE project = ? ORDER BY id DESC LIMIT 1")
            .bind(project)
            .fetch_optional(&mut *connection)
            .await?;
    if let Some((id, _, packed)) = newest.filter(|(_, events, _)| *events < MIN_BLOCK_EVENTS) {
        into.append(Block::decode(&packed)?);
        sqlx::query("DELETE FROM block WHERE id = ?").bind(id).execute(connection).await?;
    }
    Ok(())
}

async fn write_blocks(connection: &mut SqliteConnection, project: i64, block: &Block) -> Result<(), Failure> {
    for rows in block.rows.chunks(EVENTS_PER_BLOCK) {
        let missing = rows.iter().filter(|row| row.kind == Kind::NotFound).count();
        let (first, last) = (rows[0].at, rows[rows.len() - 1].at);
        sqlx::query(
            "INSERT INTO block (project, first, last, events, missing, block) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(project)
        .bind(first)
        .bind(last)
        .bind(rows.len() as i64)
        .bind(missing as i64)
        .bind(block.encode(rows, COMPRESSION_LEVEL)?)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
