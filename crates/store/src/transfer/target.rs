//! Checks and describes the target, and reads what it has.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, PgConnection, SqlSafeStr};
use tokio::time::sleep;

use super::TransferError;
use super::cells::{Cell, CellKind, Cells, Fingerprint};
use super::tables::{TABLES, TableSpec};
use crate::postgres::{DatabaseUrl, IN_USE};
use crate::secret::CHECK;
use crate::sql::lock_number;
use crate::{MasterKey, Result};

/// Held while a move runs, so that there is one at a time.
const MOVE: &[&str] = &["move"];
const LOCK_TRIES: u32 = 20;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: CellKind,
}

/// A table of the target.
#[derive(Debug)]
pub(super) struct Table {
    spec: &'static TableSpec,
    columns: Vec<Column>,
    keys: Vec<Column>,
    /// The column that the database numbers, if there is one.
    identity: Option<String>,
}

impl Table {
    pub(super) async fn describe(db: &mut PgConnection, spec: &'static TableSpec) -> Result<Self> {
        let columns = "SELECT attname::text, typname::text, attidentity <> '' FROM pg_attribute
            JOIN pg_type ON pg_type.oid = atttypid
            WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
        let columns: Vec<(String, String, bool)> =
            sqlx::query_as(columns).bind(spec.name).fetch_all(&mut *db).await?;
        let identity = columns.iter().find(|(.., is_identity)| *is_identity).map(|(name, ..)| name.clone());
        let column =
            |(name, kind, _): (String, String, bool)| Ok(Column { name, kind: CellKind::of(&kind)? });
        let columns: Vec<Column> = columns.into_iter().map(column).collect::<Result<_>>()?;
        let keys = "SELECT attname::text FROM pg_index
            JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
            WHERE indrelid = $1::regclass AND indisprimary ORDER BY array_position(indkey::smallint[], attnum)";
        let keys: Vec<String> = sqlx::query_scalar(keys).bind(spec.name).fetch_all(db).await?;
        let keys = keys.iter().filter_map(|key| columns.iter().find(|column| column.name == *key).cloned());
        Ok(Self { spec, keys: keys.collect(), columns, identity })
    }

    pub(super) fn spec(&self) -> &'static TableSpec {
        self.spec
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns of the primary key.
    pub(super) fn keys(&self) -> &[Column] {
        &self.keys
    }

    pub(super) fn kinds(&self) -> Vec<CellKind> {
        self.columns.iter().map(|column| column.kind).collect()
    }

    /// Inserts rows that are bound as one list for each column.
    pub(super) fn insert(&self) -> String {
        let names = self.names();
        let lists =
            (1..).zip(&self.columns).map(|(number, column)| format!("${number}::{}", column.kind.array()));
        let lists = lists.collect::<Vec<_>>().join(", ");
        format!(
            "INSERT INTO {} ({names}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest({lists})",
            self.spec.name
        )
    }

    /// Lets the database continue its numbers after the highest one.
    pub(super) async fn continue_numbers(&self, db: &mut PgConnection, highest: Option<i64>) -> Result<()> {
        let (Some(column), Some(highest)) = (&self.identity, highest.filter(|highest| *highest > 0)) else {
            return Ok(());
        };
        let set = sqlx::query("SELECT setval(pg_get_serial_sequence($1, $2), $3)");
        set.bind(self.spec.name).bind(column).bind(highest).execute(db).await?;
        Ok(())
    }

    pub(super) async fn fingerprint(&self, db: &mut PgConnection) -> Result<Fingerprint> {
        let select = AssertSqlSafe(format!("SELECT {} FROM {}", self.names(), self.spec.name)).into_sql_str();
        let mut found = sqlx::query(select).fetch(db);
        let mut fingerprint = Fingerprint::default();
        while let Some(row) = found.try_next().await? {
            let cells = self.columns.iter().enumerate();
            let cells = cells.map(|(index, column)| Cell::from_postgres(&row, index, column.kind));
            fingerprint.add(&cells.collect::<Result<Cells>>()?);
        }
        Ok(fingerprint)
    }

    fn names(&self) -> String {
        self.columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ")
    }
}

/// Takes the lock of a move, and checks that no server uses the database.
pub(super) async fn lock_for_move(db: &mut PgConnection, url: &DatabaseUrl) -> Result<(), TransferError> {
    // Copying and comparing a large table takes a while.
    sqlx::raw_sql("SET statement_timeout = 0").execute(&mut *db).await?;
    for name in [MOVE, IN_USE] {
        let mut tries = 0;
        loop {
            let lock = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(lock_number(name));
            if lock.fetch_one(&mut *db).await? {
                break;
            }
            // A process that was killed has the lock until the database notices.
            tries += 1;
            if tries == LOCK_TRIES {
                return Err(TransferError::InUse(url.to_string()));
            }
            sleep(LOCK_RETRY_DELAY).await;
        }
    }
    // The move itself uses the database with further connections.
    let release = sqlx::query("SELECT pg_advisory_unlock($1)").bind(lock_number(IN_USE));
    release.execute(db).await?;
    Ok(())
}

/// Keeps servers from starting until the transaction ends. Fails if one uses the database.
pub(super) async fn lock_out_servers(db: &mut PgConnection, url: &DatabaseUrl) -> Result<(), TransferError> {
    let lock = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)").bind(lock_number(IN_USE));
    match lock.fetch_one(db).await? {
        true => Ok(()),
        false => Err(TransferError::InUse(url.to_string())),
    }
}

/// Tables that a server fills when it only starts.
const FILLED_BY_A_START: [&str; 2] = ["rates", "secrets"];
/// Tables of the ledger that have rows once it was used.
const LEDGER: [&str; 3] = ["views_projects", "views_purges", "views_outbox"];

/// A table with rows of an installation.
pub(super) async fn first_used_table(db: &mut PgConnection) -> Result<Option<String>> {
    let copied = TABLES.iter().map(|spec| spec.name).filter(|name| !FILLED_BY_A_START.contains(name));
    for name in copied.chain(LEDGER) {
        let used = AssertSqlSafe(format!("SELECT EXISTS (SELECT 1 FROM {name})"));
        if sqlx::query_scalar(used).fetch_one(&mut *db).await? {
            return Ok(Some(name.to_owned()));
        }
    }
    let sealed = "SELECT EXISTS (SELECT 1 FROM secrets WHERE (owner, name) <> ($1, $2))";
    let sealed: bool = sqlx::query_scalar(sealed).bind(CHECK.0).bind(CHECK.1).fetch_one(db).await?;
    Ok(sealed.then(|| "secrets".to_owned()))
}

/// Whether no server with another master key started on the database.
pub(super) async fn is_sealed_with(db: &mut PgConnection, master: &MasterKey) -> Result<bool> {
    let sealed = sqlx::query_scalar("SELECT sealed FROM secrets WHERE owner = $1 AND name = $2");
    let sealed: Option<Vec<u8>> = sealed.bind(CHECK.0).bind(CHECK.1).fetch_optional(db).await?;
    Ok(sealed.is_none_or(|sealed| master.open(CHECK.0, CHECK.1, &sealed).is_ok()))
}

/// Deletes what a server writes when it only starts.
pub(super) async fn clear_traces_of_servers(db: &mut PgConnection) -> Result<()> {
    let clear = "DELETE FROM secrets; DELETE FROM rates; DELETE FROM clocks; DELETE FROM workers;
        DELETE FROM views_home; DELETE FROM views_salts;";
    sqlx::raw_sql(clear).execute(db).await?;
    Ok(())
}

/// Page views of the data directory keep its server's clock. The database's clock dates jobs from now on: what was dated
/// wrongly, and a pause of deletion, hold for it, too.
pub(super) async fn copy_clock(db: &mut PgConnection, record: Option<&Cells>, directory: &str) -> Result<()> {
    let Some(record) = record else { return Ok(()) };
    for name in [format!("server {directory}"), "database".to_owned()] {
        let insert = "INSERT INTO clocks (name, trusted, version, cause, began, last_wall, steady,
                misdated_from, misdated_to, misdated_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let insert = record.iter().fold(sqlx::query(insert).bind(name), |insert, cell| match cell {
            Cell::Text(text) => insert.bind(text.clone()),
            Cell::Integer(number) => insert.bind(*number),
            Cell::Boolean(flag) => insert.bind(*flag),
            Cell::Bytes(bytes) => insert.bind(bytes.clone()),
        });
        insert.execute(&mut *db).await?;
    }
    Ok(())
}
