//! A row of either database, and how columns are decoded. Each record type decodes itself once, by [`FromRow`].

use std::str::FromStr;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};

use crate::Result;
use crate::encoding::{damaged, from_json, from_ms};

pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

pub(crate) trait FromRow: Sized {
    fn from_row(row: &Row) -> Result<Self>;
}

impl Row {
    pub(crate) fn get<'r, T>(&'r self, column: &str) -> Result<T>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: &str) -> Result<T> {
        self.get::<i64>(column)?.try_into().map_err(|_| damaged("a number"))
    }

    /// A column of milliseconds since 1970.
    pub(crate) fn time(&self, column: &str) -> Result<Timestamp> {
        from_ms(self.get(column)?)
    }

    pub(crate) fn time_or_none(&self, column: &str) -> Result<Option<Timestamp>> {
        self.get::<Option<i64>>(column)?.map(from_ms).transpose()
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T> {
        from_json(self.get(column)?)
    }

    pub(crate) fn json_or_none<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>> {
        self.get::<Option<&str>>(column)?.map(from_json).transpose()
    }

    /// `what` names the value in the error.
    pub(crate) fn parse<T: FromStr>(&self, column: &str, what: &str) -> Result<T> {
        self.get::<&str>(column)?.parse().map_err(|_| damaged(what))
    }
}
