//! A connection of either database inside a transaction.

use std::time::Duration;

use base::{Clock, ClockGuard, Cutoff};
use sqlx::{PgConnection, SqliteConnection};

use super::query::{Query, sql, without_nul};
use super::row::{FromRow, Row};
use crate::Result;
use crate::id::sha256;

pub(crate) struct Connection<'c> {
    pub(crate) database: Database<'c>,
    is_discarded: bool,
}

pub(crate) enum Database<'c> {
    /// One server has the database, so its clock is the database's.
    Sqlite(&'c mut SqliteConnection, &'c dyn Clock),
    Postgres(&'c mut PgConnection),
}

impl<'c> Connection<'c> {
    pub(crate) fn sqlite(db: &'c mut SqliteConnection, clock: &'c dyn Clock) -> Self {
        Self { database: Database::Sqlite(db, clock), is_discarded: false }
    }

    pub(crate) fn postgres(db: &'c mut PgConnection) -> Self {
        Self { database: Database::Postgres(db), is_discarded: false }
    }

    pub(crate) async fn rows(&mut self, query: Query) -> Result<Vec<Row>> {
        Ok(match &mut self.database {
            Database::Sqlite(db, clock) => {
                let rows = query.for_sqlite(|| clock.now_ms()).fetch_all(&mut **db).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Database::Postgres(db) => {
                let rows = query.for_postgres().fetch_all(&mut **db).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn row(&mut self, query: Query) -> Result<Option<Row>> {
        Ok(match &mut self.database {
            Database::Sqlite(db, clock) => {
                query.for_sqlite(|| clock.now_ms()).fetch_optional(&mut **db).await?.map(Row::Sqlite)
            }
            Database::Postgres(db) => {
                query.for_postgres().fetch_optional(&mut **db).await?.map(Row::Postgres)
            }
        })
    }

    /// Answers how many rows changed.
    pub(crate) async fn execute(&mut self, query: Query) -> Result<u64> {
        Ok(match &mut self.database {
            Database::Sqlite(db, clock) => {
                query.for_sqlite(|| clock.now_ms()).execute(&mut **db).await?.rows_affected()
            }
            Database::Postgres(db) => query.for_postgres().execute(&mut **db).await?.rows_affected(),
        })
    }

    pub(crate) async fn all<T: FromRow>(&mut self, query: Query) -> Result<Vec<T>> {
        self.rows(query).await?.iter().map(T::from_row).collect()
    }

    pub(crate) async fn optional<T: FromRow>(&mut self, query: Query) -> Result<Option<T>> {
        self.row(query).await?.as_ref().map(T::from_row).transpose()
    }

    pub(crate) async fn exists(&mut self, query: Query) -> Result<bool> {
        Ok(self.row(query).await?.is_some())
    }

    /// Locks rows until the end of the transaction. SQLite needs no lock: it has one writer.
    pub(crate) async fn lock(&mut self, rows: Query) -> Result<()> {
        if let Database::Postgres(_) = self.database {
            self.rows(rows).await?;
        }
        Ok(())
    }

    /// Takes an advisory lock of this name until the end of the transaction. SQLite needs none.
    pub(crate) async fn lock_name(&mut self, name: &[&str]) -> Result<()> {
        self.lock(sql("SELECT 1 FROM pg_advisory_xact_lock($1)").bind(lock_number(name))).await
    }

    /// The time in milliseconds. Read it after the locks are taken: a lease can end while a transaction waits for them.
    pub(crate) async fn now(&mut self) -> Result<i64> {
        Ok(match &mut self.database {
            Database::Sqlite(_, clock) => clock.now_ms(),
            Database::Postgres(db) => {
                sqlx::query_scalar("SELECT docwright_now_ms()").fetch_one(&mut **db).await?
            }
        })
    }

    /// What is older than `age` at the time `now`, as far as the clock can be trusted.
    pub(crate) fn cutoff(&self, guard: &ClockGuard, now: i64, age: Duration) -> Cutoff {
        match self.database {
            Database::Sqlite(..) => guard.cutoff(age),
            Database::Postgres(_) => guard.database_cutoff(now, age),
        }
    }

    /// The text as a column holds it.
    pub(crate) fn stored_text(&self, text: &str) -> String {
        match self.database {
            Database::Sqlite(..) => text.to_owned(),
            Database::Postgres(_) => without_nul(text.to_owned()),
        }
    }

    /// Ends the transaction without a commit on PostgreSQL, because it wrote nothing that has to stay.
    pub(crate) fn discard(&mut self) {
        self.is_discarded = true;
    }

    pub(crate) fn is_discarded(&self) -> bool {
        self.is_discarded
    }
}

/// The number of an advisory lock.
pub(crate) fn lock_number(name: &[&str]) -> i64 {
    let hash = sha256(name.join("\0").as_bytes());
    hash.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}
