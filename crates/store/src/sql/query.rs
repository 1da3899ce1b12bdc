//! A statement with its arguments, for SQLite and PostgreSQL.
//!
//! Shared statements are written in PostgreSQL's dialect. For SQLite, [`Query::for_sqlite`] binds the time in place of
//! `docwright_now_ms()`, and reads a list from JSON. It removes row locks such as `FOR UPDATE SKIP LOCKED`, because
//! SQLite has no such clause and needs none: it has one writer.

use std::borrow::Cow;

use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Postgres, SqlSafeStr, Sqlite};

use crate::encoding::to_json;

const NOW: &str = "docwright_now_ms()";
/// The clauses of row locks, which SQLite doesn't have. The longest first: a shorter clause can be a part of a longer one.
const LOCKS: [&str; 4] = [" FOR UPDATE SKIP LOCKED", " FOR NO KEY UPDATE", " FOR UPDATE", " FOR SHARE"];

#[derive(Clone)]
pub(crate) struct Query {
    sqlite: &'static str,
    postgres: &'static str,
    values: Vec<Value>,
}

/// The same statement for both databases; `$1` is the first argument.
pub(crate) fn sql(text: &'static str) -> Query {
    sql_for(text, text)
}

/// A statement whose text differs.
pub(crate) fn sql_for(sqlite: &'static str, postgres: &'static str) -> Query {
    Query { sqlite, postgres, values: Vec::new() }
}

impl Query {
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    pub(super) fn for_sqlite(
        self,
        now_ms: impl FnOnce() -> i64,
    ) -> sqlx::query::Query<'static, Sqlite, SqliteArguments> {
        let mut text = Cow::Borrowed(self.sqlite);
        if text.contains(" FOR ") {
            text = LOCKS.iter().fold(text, |text, lock| text.replace(lock, "").into());
        }
        if text.contains("= ANY($1)") {
            text = text.replace("= ANY($1)", "IN (SELECT value FROM json_each($1))").into();
        }
        let now = text.contains(NOW).then(now_ms);
        if now.is_some() {
            text = text.replace(NOW, &format!("${}", self.values.len() + 1)).into();
        }
        let text = match text {
            Cow::Borrowed(text) => text.into_sql_str(),
            // Made from static text alone.
            Cow::Owned(text) => AssertSqlSafe(text).into_sql_str(),
        };
        let bind = |query: sqlx::query::Query<'static, Sqlite, SqliteArguments>, value| match value {
            Value::Text(text) => query.bind(text),
            Value::Integer(number) => query.bind(number),
            Value::Boolean(value) => query.bind(value),
            Value::Bytes(bytes) => query.bind(bytes),
            Value::List(list) => query.bind(to_json(&list)),
        };
        let query = self.values.into_iter().fold(sqlx::query(text), bind);
        if let Some(now) = now { query.bind(now) } else { query }
    }

    pub(crate) fn for_postgres(self) -> sqlx::query::Query<'static, Postgres, PgArguments> {
        let bind = |query: sqlx::query::Query<'static, Postgres, PgArguments>, value| match value {
            Value::Text(text) => query.bind(text.map(without_nul)),
            Value::Integer(number) => query.bind(number),
            Value::Boolean(value) => query.bind(value),
            Value::Bytes(bytes) => query.bind(bytes),
            Value::List(list) => query.bind(list.into_iter().map(without_nul).collect::<Vec<_>>()),
        };
        self.values.into_iter().fold(sqlx::query(self.postgres), bind)
    }
}

/// PostgreSQL's text holds any character except NUL.
pub(crate) fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

/// An argument of a [`Query`].
#[derive(Clone)]
pub(crate) enum Value {
    Text(Option<String>),
    Integer(Option<i64>),
    Boolean(bool),
    Bytes(Vec<u8>),
    /// For `= ANY($1)`.
    List(Vec<String>),
}

macro_rules! value_from {
    ($($source:ty => |$value:ident| $result:expr),+ $(,)?) => {
        $(impl From<$source> for Value {
            fn from($value: $source) -> Self {
                $result
            }
        })+
    };
}

value_from! {
    &str => |text| Self::Text(Some(text.to_owned())),
    &String => |text| Self::Text(Some(text.clone())),
    String => |text| Self::Text(Some(text)),
    Option<&str> => |text| Self::Text(text.map(str::to_owned)),
    Option<&String> => |text| Self::Text(text.cloned()),
    &Option<String> => |text| Self::Text(text.clone()),
    Option<String> => |text| Self::Text(text),
    i64 => |number| Self::Integer(Some(number)),
    u32 => |number| Self::Integer(Some(number.into())),
    Option<i64> => |number| Self::Integer(number),
    bool => |value| Self::Boolean(value),
    Vec<u8> => |bytes| Self::Bytes(bytes),
    &Vec<u8> => |bytes| Self::Bytes(bytes.clone()),
    Vec<String> => |list| Self::List(list),
}

#[cfg(test)]
mod tests {
    use sqlx::Execute;

    use super::*;

    #[test]
    fn sqlite_text() {
        #[track_caller]
        fn check(query: Query, expected: &str) {
            assert_eq!(query.for_sqlite(|| 7).sql().as_str(), expected);
        }
        check(sql("SELECT 1 FROM jobs WHERE id = $1").bind("a"), "SELECT 1 FROM jobs WHERE id = $1");
        check(
            sql("SELECT id FROM jobs WHERE id = $1 AND at < docwright_now_ms() LIMIT 1 FOR UPDATE SKIP LOCKED").bind("a"),
            "SELECT id FROM jobs WHERE id = $1 AND at < $2 LIMIT 1",
        );
        check(sql("SELECT id FROM projects FOR NO KEY UPDATE"), "SELECT id FROM projects");
        check(
            sql("SELECT id FROM jobs WHERE id = ANY($1)").bind(vec![String::new()]),
            "SELECT id FROM jobs WHERE id IN (SELECT value FROM json_each($1))",
        );
    }

    #[test]
    fn postgres_text_has_no_nul() {
        assert_eq!(without_nul("a\0b".to_owned()), "a\u{fffd}b");
    }
}
