//! Values of columns, read from either database and written to PostgreSQL.

use sha2::{Digest, Sha256};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Postgres, Row as _, Sqlite};

use crate::encoding::damaged;
use crate::sql::without_nul;
use crate::{Result, StoreError};

/// The types of columns, by PostgreSQL's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Text,
    Integer,
    Boolean,
    Bytes,
}

impl CellKind {
    pub(super) fn of(postgres_type: &str) -> Result<Self> {
        match postgres_type {
            "text" => Ok(Self::Text),
            "int8" => Ok(Self::Integer),
            "bool" => Ok(Self::Boolean),
            "bytea" => Ok(Self::Bytes),
            other => {
                Err(StoreError::Database(format!("a column has the type {other}, which cannot be copied")))
            }
        }
    }

    /// The type of a list of values, for `unnest`.
    pub(super) fn array(self) -> &'static str {
        match self {
            Self::Text => "text[]",
            Self::Integer => "bigint[]",
            Self::Boolean => "boolean[]",
            Self::Bytes => "bytea[]",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Cell {
    Text(Option<String>),
    Integer(Option<i64>),
    Boolean(Option<bool>),
    Bytes(Option<Vec<u8>>),
}

impl Cell {
    /// As PostgreSQL stores it: text has no NUL, and flags are no numbers.
    pub(super) fn from_sqlite(row: &SqliteRow, index: usize, kind: CellKind) -> Result<Self> {
        Ok(match kind {
            CellKind::Text => Self::Text(row.try_get::<Option<String>, _>(index)?.map(without_nul)),
            CellKind::Integer => Self::Integer(row.try_get(index)?),
            CellKind::Boolean => Self::Boolean(row.try_get::<Option<i64>, _>(index)?.map(|flag| flag != 0)),
            CellKind::Bytes => Self::Bytes(row.try_get(index)?),
        })
    }

    pub(super) fn from_postgres(row: &PgRow, index: usize, kind: CellKind) -> Result<Self> {
        Ok(match kind {
            CellKind::Text => Self::Text(row.try_get(index)?),
            CellKind::Integer => Self::Integer(row.try_get(index)?),
            CellKind::Boolean => Self::Boolean(row.try_get(index)?),
            CellKind::Bytes => Self::Bytes(row.try_get(index)?),
        })
    }

    /// Binds the last key of a piece, to continue after it.
    pub(super) fn bind_to_sqlite(
        self,
        query: Query<'static, Sqlite, SqliteArguments>,
    ) -> Query<'static, Sqlite, SqliteArguments> {
        match self {
            Self::Text(text) => query.bind(text),
            Self::Integer(number) => query.bind(number),
            Self::Boolean(flag) => query.bind(flag),
            Self::Bytes(bytes) => query.bind(bytes),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.as_ref().map_or(0, String::len),
            Self::Bytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
            Self::Integer(_) | Self::Boolean(_) => 8,
        }
    }

    fn add_to(&self, hash: &mut Sha256) {
        let (tag, bytes): (u8, Option<Vec<u8>>) = match self {
            Self::Text(text) => (0, text.as_ref().map(|text| text.as_bytes().to_vec())),
            Self::Integer(number) => (1, number.map(|number| number.to_be_bytes().to_vec())),
            Self::Boolean(flag) => (2, flag.map(|flag| vec![u8::from(flag)])),
            Self::Bytes(bytes) => (3, bytes.clone()),
        };
        hash.update([tag, u8::from(bytes.is_some())]);
        if let Some(bytes) = bytes {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
    }
}

pub(super) type Cells = Vec<Cell>;

/// Binds rows as one list for each column.
pub(super) fn bind_columns(
    mut query: Query<'static, Postgres, PgArguments>,
    kinds: &[CellKind],
    rows: Vec<Cells>,
) -> Result<Query<'static, Postgres, PgArguments>> {
    let mut columns: Vec<Vec<Cell>> = kinds.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    for (kind, column) in kinds.iter().zip(columns) {
        query = match kind {
            CellKind::Text => {
                query.bind(list(column, |cell| if let Cell::Text(text) = cell { Some(text) } else { None })?)
            }
            CellKind::Integer => {
                query.bind(list(
                    column,
                    |cell| if let Cell::Integer(number) = cell { Some(number) } else { None },
                )?)
            }
            CellKind::Boolean => query
                .bind(list(column, |cell| if let Cell::Boolean(flag) = cell { Some(flag) } else { None })?),
            CellKind::Bytes => query
                .bind(list(column, |cell| if let Cell::Bytes(bytes) = cell { Some(bytes) } else { None })?),
        };
    }
    Ok(query)
}

fn list<T>(column: Vec<Cell>, value: impl Fn(Cell) -> Option<T>) -> Result<Vec<T>> {
    column.into_iter().map(|cell| value(cell).ok_or_else(|| damaged("a column"))).collect()
}

/// The number of rows, and the sum of their hashes, so that their order doesn't matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Fingerprint {
    pub(super) rows: u64,
    sum: u128,
}

impl Fingerprint {
    pub(super) fn add(&mut self, row: &[Cell]) {
        let mut hash = Sha256::new();
        row.iter().for_each(|cell| cell.add_to(&mut hash));
        let digest = hash.finalize();
        let number = digest.first_chunk().copied().map_or(0, u128::from_be_bytes);
        self.rows += 1;
        self.sum = self.sum.wrapping_add(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_tell_rows_apart() {
        let of = |rows: &[Vec<Cell>]| {
            let mut fingerprint = Fingerprint::default();
            rows.iter().for_each(|row| fingerprint.add(row));
            fingerprint
        };
        let text = |text: &str| Cell::Text(Some(text.into()));
        let (one, next) = (vec![text("ab"), text("c")], vec![text("a"), text("bc")]);
        assert_eq!(of(&[one.clone(), next.clone()]), of(&[next.clone(), one.clone()]));
        assert_ne!(of(std::slice::from_ref(&one)), of(&[next]));
        assert_ne!(of(&[vec![Cell::Text(None)]]), of(&[vec![text("")]]));
        assert_ne!(of(&[vec![Cell::Integer(Some(1))]]), of(&[vec![Cell::Boolean(Some(true))]]));
        assert_ne!(of(&[one.clone(), one.clone()]), of(&[one]));
    }
}
