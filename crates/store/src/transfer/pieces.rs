//! Copies one piece of a table, and records how far the table was copied, in one transaction.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqlSafeStr};

use super::cells::bind_columns;
use super::progress::{TableProgress, save_step};
use super::source::Source;
use super::target::Table;
use crate::Result;

/// Answers how many rows were copied.
pub(super) async fn copy(
    source: &Source,
    target: &mut PgConnection,
    table: &Table,
    progress: TableProgress,
) -> Result<u64> {
    let name = table.spec().name;
    // Before the transaction begins: the database ends one that is idle.
    let piece = source.piece(table, progress.after.clone()).await?;
    let rows = piece.rows.len() as u64;
    let next = TableProgress {
        after: piece.last.or(progress.after),
        rows: progress.rows + rows,
        is_complete: rows == 0,
    };
    let highest = source.highest_number(name).await?;
    let mut tx = target.begin().await?;
    if rows > 0 {
        let insert = sqlx::query(AssertSqlSafe(table.insert()).into_sql_str());
        bind_columns(insert, &table.kinds(), piece.rows)?.execute(&mut *tx).await?;
    } else {
        table.continue_numbers(&mut tx, highest).await?;
    }
    save_step(&mut tx, &next.key(name), &next.encode()).await?;
    tx.commit().await?;
    Ok(rows)
}
