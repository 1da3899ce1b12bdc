//! Reads the installation on SQLite.

use base::sqlite::ReadPool;
use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr};

use super::cells::{Cell, CellKind, Cells, Fingerprint};
use super::tables::TableSpec;
use super::target::{Column, Table};
use crate::Result;

/// Bounds of a piece: it is one statement, and the database cancels one that takes long.
const MAX_ROWS: i64 = 1_000;
const MAX_BYTES: usize = 4 << 20;

pub(super) struct Source(ReadPool);

/// Rows of a table, and whether there can be more.
pub(super) struct Piece {
    pub(super) rows: Vec<Cells>,
    /// The key of the last row.
    pub(super) last: Option<Cells>,
}

impl Source {
    pub(super) fn new(reads: ReadPool) -> Self {
        Self(reads)
    }

    pub(super) async fn count(&self, spec: &TableSpec) -> Result<u64> {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {}", spec.name));
        let rows: i64 = sqlx::query_scalar(count).fetch_one(&mut *self.0.acquire().await?).await?;
        Ok(rows.unsigned_abs())
    }

    /// Reads rows in the order of the table's key, after the row with the key `after`.
    pub(super) async fn piece(&self, table: &Table, after: Option<Cells>) -> Result<Piece> {
        let keys = table.keys();
        let names = join(keys.iter().map(|key| quote(&key.name)));
        let condition = match &after {
            Some(_) => format!("WHERE ({names}) > ({})", join(keys.iter().map(|_| "?".to_owned()))),
            None => String::new(),
        };
        let select = format!("{} {condition} ORDER BY {names} LIMIT {MAX_ROWS}", select(table));
        let query = sqlx::query(AssertSqlSafe(select).into_sql_str());
        let query = after.into_iter().flatten().fold(query, |query, cell| cell.bind_to_sqlite(query));
        let mut connection = self.0.acquire().await?;
        let mut found = query.fetch(&mut *connection);
        let (mut piece, mut bytes) = (Piece { rows: Vec::new(), last: None }, 0);
        while let Some(row) = found.try_next().await? {
            let cells = read(&row, table.columns())?;
            bytes += cells.iter().map(Cell::bytes).sum::<usize>();
            piece.last = Some(key_of(&row, table)?);
            piece.rows.push(cells);
            if bytes >= MAX_BYTES {
                break;
            }
        }
        Ok(piece)
    }

    pub(super) async fn fingerprint(&self, table: &Table) -> Result<Fingerprint> {
        let mut connection = self.0.acquire().await?;
        let mut found = sqlx::query(AssertSqlSafe(select(table)).into_sql_str()).fetch(&mut *connection);
        let mut fingerprint = Fingerprint::default();
        while let Some(row) = found.try_next().await? {
            fingerprint.add(&read(&row, table.columns())?);
        }
        Ok(fingerprint)
    }

    /// The highest number that a table with numbered rows ever had.
    pub(super) async fn highest_number(&self, table: &str) -> Result<Option<i64>> {
        let highest =
            sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = ?").bind(table.to_owned());
        Ok(highest.fetch_optional(&mut *self.0.acquire().await?).await?)
    }

    /// What deletions by age depend on: the values of the server's clock, after its name.
    pub(super) async fn clock_record(&self) -> Result<Option<Cells>> {
        let select = "SELECT trusted, version, cause, began, last_wall, steady, misdated_from, misdated_to, misdated_until
            FROM clocks WHERE name = 'server'";
        let row = sqlx::query(select).fetch_optional(&mut *self.0.acquire().await?).await?;
        let kind = |index| if index == 2 { CellKind::Text } else { CellKind::Integer };
        row.map(|row| (0..row.len()).map(|index| Cell::from_sqlite(&row, index, kind(index))).collect())
            .transpose()
    }
}

fn select(table: &Table) -> String {
    let expressions = table.columns().iter().map(|column| match table.spec().expression(&column.name) {
        Some(expression) => expression.to_owned(),
        None => quote(&column.name),
    });
    // The keys follow, as SQLite has them: a position in the table isn't changed by what PostgreSQL's text can hold.
    let keys = table.keys().iter().map(|key| quote(&key.name));
    format!("SELECT {} FROM {}", join(expressions.chain(keys)), table.spec().name)
}

fn read(row: &sqlx::sqlite::SqliteRow, columns: &[Column]) -> Result<Cells> {
    let cells = columns.iter().enumerate();
    cells.map(|(index, column)| Cell::from_sqlite(row, index, column.kind)).collect()
}

fn key_of(row: &sqlx::sqlite::SqliteRow, table: &Table) -> Result<Cells> {
    let first = table.columns().len();
    let keys = table.keys().iter().enumerate();
    keys.map(|(index, key)| match key.kind {
        CellKind::Text => Ok(Cell::Text(row.try_get(first + index)?)),
        kind => Cell::from_sqlite(row, first + index, kind),
    })
    .collect()
}

impl TableSpec {
    fn expression(&self, column: &str) -> Option<&'static str> {
        self.expressions.iter().find(|(name, _)| *name == column).map(|(_, expression)| *expression)
    }
}

fn quote(name: &str) -> String {
    format!("\"{name}\"")
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
