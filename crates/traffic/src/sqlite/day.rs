//! Changes the raw events of a day and recomputes its rollups, in one transaction, so that both always agree.

use sqlx::SqliteConnection;

use super::project::DAY;
use super::{compaction, names};
use crate::block::Block;
use crate::cells::Cells;
use crate::event::Kind;
use crate::names::count_block;
use crate::views::Failure;

/// `change` gets each block of the day and the day's start and end, and returns the number of changed rows.
/// Returns the day's number of events after the change, and the number of changes.
pub(super) async fn rewrite(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    mut change: impl FnMut(&mut Block, i64, i64) -> u64,
) -> Result<(u64, u64), Failure> {
    let (from, to) = (day * DAY, (day + 1) * DAY);
    clear_rollups(connection, project, day).await?;
    let mut done = (0, 0);
    for id in blocks(connection, project, day).await? {
        let mut block = read_block(connection, id).await?;
        let changed = change(&mut block, from, to);
        if changed > 0 {
            write_block(connection, id, &block).await?;
        }
        block.rows.retain(|row| (from..to).contains(&row.at));
        compaction::add_cells(connection, project, i64::MIN, compaction::hourly_cells(&block)).await?;
        names::add(connection, project, count_block(&block)).await?;
        done = (done.0 + block.rows.len() as u64, done.1 + changed);
    }
    Ok(done)
}

/// The blocks with events of a day.
pub(super) async fn blocks(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
) -> Result<Vec<i64>, Failure> {
    let blocks = "SELECT id FROM block WHERE project = ? AND last >= ? AND first < ? ORDER BY id";
    let blocks = sqlx::query_scalar(blocks).bind(project).bind(day * DAY).bind((day + 1) * DAY);
    Ok(blocks.fetch_all(connection).await?)
}

pub(super) async fn read_block(connection: &mut SqliteConnection, id: i64) -> Result<Block, Failure> {
    let packed: Vec<u8> =
        sqlx::query_scalar("SELECT block FROM block WHERE id = ?").bind(id).fetch_one(connection).await?;
    Ok(Block::decode(&packed)?)
}

/// Replaces a block, or deletes it if it has no rows.
pub(super) async fn write_block(
    connection: &mut SqliteConnection,
    id: i64,
    block: &Block,
) -> Result<(), Failure> {
    let (Some(first), Some(last)) = (block.rows.first(), block.rows.last()) else {
        sqlx::query("DELETE FROM block WHERE id = ?").bind(id).execute(connection).await?;
        return Ok(());
    };
    let missing = block.rows.iter().filter(|row| row.kind == Kind::NotFound).count();
    let write = "UPDATE block SET first = ?, last = ?, events = ?, missing = ?, block = ? WHERE id = ?";
    sqlx::query(write)
        .bind(first.at)
        .bind(last.at)
        .bind(block.rows.len() as i64)
        .bind(missing as i64)
        .bind(block.encode(&block.rows, compaction::COMPRESSION_LEVEL)?)
        .bind(id)
        .execute(connection)
        .await?;
    Ok(())
}

async fn clear_rollups(connection: &mut SqliteConnection, project: i64, day: i64) -> Result<(), Failure> {
    sqlx::query("DELETE FROM hour WHERE project = ? AND hour >= ? AND hour < ?")
        .bind(project)
        .bind(day * 24)
        .bind((day + 1) * 24)
        .execute(&mut *connection)
        .await?;
    sqlx::query("DELETE FROM named WHERE project = ? AND day = ?")
        .bind(project)
        .bind(day)
        .execute(&mut *connection)
        .await?;
    // Keep the row even if the day is empty, because it has the version of the day.
    sqlx::query("UPDATE day SET cells = ?, visitors = NULL, folds = folds + 1 WHERE project = ? AND day = ?")
        .bind(Cells::default().encode()?)
        .bind(project)
        .bind(day)
        .execute(connection)
        .await?;
    Ok(())
}
