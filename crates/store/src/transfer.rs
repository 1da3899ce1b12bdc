//! Copies an installation from SQLite to PostgreSQL, piece by piece.
//!
//! Each piece is one transaction of the target, which also records how far the table was copied. So a copy that was
//! interrupted continues after its last piece. Until the copy is marked as complete, no server opens the target.
//!
//! Nobody may write to the source meanwhile: the caller has the lock of the data directory, and its marker refuses new
//! commands.

mod cells;
mod pieces;
mod progress;
mod source;
mod tables;
mod target;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Clock;
use base::sqlite::OpenError;
use sqlx::{Connection as _, PgConnection};

use crate::postgres::{DatabaseUrl, PostgresStore};
use crate::sqlite::SqliteStore;
use crate::{MasterKey, StoreError};
use cells::Fingerprint;
use progress::{Begun, Progress};
pub(crate) use progress::{is_incomplete, refuse_incomplete, save_step, step_state};
use source::Source;
use tables::TABLES;
use target::{Table, lock_for_move};

/// Why an installation cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(
        "the database {url} already has data ({table}): create an empty database and name it instead. A move to it that was interrupted can't continue once the file `moved` was deleted"
    )]
    NotEmpty { url: String, table: String },
    #[error(
        "the move to the database {url} began with other page views ({was}): repeat that command, or create an empty database and name it instead"
    )]
    OtherViews { url: String, was: String },
    #[error(
        "servers with another master key used the database {0}: create an empty database and name it instead"
    )]
    OtherKey(String),
    #[error(
        "the database {0} has the schema of an older version of Docwright: create an empty database and name it instead. If an earlier version began this move, continue with that version"
    )]
    Older(String),
    #[error(
        "another process moves an installation to the database {0}, or a server or a command uses it: stop it first"
    )]
    InUse(String),
    #[error(
        "after the copy, the table {table} has {found} in PostgreSQL and {expected} in SQLite: nothing was changed in the data directory. Create an empty database, and move again"
    )]
    Differs { table: &'static str, expected: String, found: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for TransferError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// What a move is, as both sides remember it.
#[derive(Debug, Clone)]
pub struct TransferPlan {
    /// Random: distinguishes this move from earlier ones of the same directory.
    pub id: String,
    /// The id of the data directory.
    pub directory: String,
    /// Where page views go; `None`: they stay in the data directory.
    pub views: Option<String>,
}

/// How far the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferState {
    /// The target is empty.
    New,
    /// A move of this plan was interrupted.
    Interrupted,
    /// This plan was completed.
    Complete,
}

/// A copied table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedTable {
    pub name: &'static str,
    pub rows: u64,
}

/// A copy from one installation on SQLite to one database.
pub struct Transfer {
    source: Source,
    target: PgConnection,
    url: DatabaseUrl,
    master: MasterKey,
    clock: Arc<dyn Clock>,
    plan: TransferPlan,
    begun: Option<Begun>,
    tables: BTreeMap<&'static str, Table>,
}

impl Transfer {
    /// Connects, creates the target's tables if it is empty, and checks that the target is empty or has an interrupted
    /// move of this plan. Copies nothing yet.
    pub async fn open(
        source: &SqliteStore,
        url: &DatabaseUrl,
        master: MasterKey,
        clock: Arc<dyn Clock>,
        plan: TransferPlan,
    ) -> Result<(Self, TransferState), TransferError> {
        let mut target = match PostgresStore::connect_for_move(url).await {
            Err(OpenError::Older { path, .. }) => return Err(TransferError::Older(path)),
            connected => connected?,
        };
        lock_for_move(&mut target, url).await?;
        let mut tables = BTreeMap::new();
        for spec in TABLES {
            tables.insert(spec.name, Table::describe(&mut target, spec).await?);
        }
        let begun = progress::find(&mut target).await?;
        let mut transfer = Self {
            source: Source::new(source.reads().clone()),
            target,
            url: url.clone(),
            master,
            clock,
            plan,
            begun,
            tables,
        };
        let Self { target, url, master, plan, begun, .. } = &mut transfer;
        let state = check_target(target, url, master, plan, begun.as_ref()).await?;
        Ok((transfer, state))
    }

    /// The number of rows of each table that has any, in the source.
    pub async fn source_rows(&self) -> Result<Vec<CopiedTable>, TransferError> {
        let mut found = Vec::new();
        for spec in TABLES {
            let rows = self.source.count(spec).await?;
            found.extend((rows > 0).then_some(CopiedTable { name: spec.name, rows }));
        }
        Ok(found)
    }

    /// The id of the ClickHouse database that the target is bound to, if it is.
    pub async fn views_id(&mut self) -> Result<Option<String>, TransferError> {
        let id = sqlx::query_scalar("SELECT id FROM views_engine");
        Ok(id.fetch_optional(&mut self.target).await?)
    }

    /// Records in the target that the move began. From then on, no server opens it.
    pub async fn begin(&mut self) -> Result<(), TransferError> {
        if self.begun.is_some() {
            return Ok(());
        }
        let clock = self.source.clock_record().await?;
        let mut tx = self.target.begin().await?;
        // A server may have started since the target was checked. From here to the commit, none starts.
        target::lock_out_servers(&mut tx, &self.url).await?;
        let begun = progress::find(&mut tx).await?;
        check_target(&mut tx, &self.url, &self.master, &self.plan, begun.as_ref()).await?;
        let begun = progress::begin(&mut tx, &self.plan).await?;
        target::clear_traces_of_servers(&mut tx).await?;
        target::copy_clock(&mut tx, clock.as_ref(), &self.plan.directory).await?;
        tx.commit().await?;
        self.begun = Some(begun);
        Ok(())
    }

    /// Copies the next piece, and says of which table it is. `None`: every table is copied.
    pub async fn copy_piece(&mut self) -> Result<Option<CopiedTable>, TransferError> {
        let progress = Progress::load(&mut self.target).await?;
        let Some(spec) = TABLES.iter().find(|spec| !progress.is_complete(spec.name)) else { return Ok(None) };
        let Some(table) = self.tables.get(spec.name) else { return Ok(None) };
        let rows = pieces::copy(&self.source, &mut self.target, table, progress.of(spec.name)).await?;
        Ok(Some(CopiedTable { name: spec.name, rows }))
    }

    /// Compares the rows of every table on both sides.
    pub async fn compare(&mut self) -> Result<Vec<CopiedTable>, TransferError> {
        let mut compared = Vec::new();
        for spec in TABLES {
            let Some(table) = self.tables.get(spec.name) else { continue };
            let (expected, found) =
                (self.source.fingerprint(table).await?, table.fingerprint(&mut self.target).await?);
            if expected != found {
                let (expected, found) = describe(&expected, &found);
                return Err(TransferError::Differs { table: spec.name, expected, found });
            }
            compared.push(CopiedTable { name: spec.name, rows: found.rows });
        }
        Ok(compared)
    }

    /// Records that the move is complete: servers can open the target.
    pub async fn finish(&mut self) -> Result<(), TransferError> {
        Ok(progress::finish(&mut self.target).await?)
    }

    /// The target as a store, which servers cannot open yet.
    pub async fn target_store(&self) -> Result<PostgresStore, TransferError> {
        Ok(PostgresStore::open_during_move(&self.url, self.master.clone(), self.clock.clone()).await?)
    }

    /// Releases the target for other processes.
    pub async fn close(self) {
        let _ = self.target.close().await;
    }
}

/// Fails unless the target is empty, or has the move of this plan.
async fn check_target(
    db: &mut PgConnection,
    url: &DatabaseUrl,
    master: &MasterKey,
    plan: &TransferPlan,
    begun: Option<&Begun>,
) -> Result<TransferState, TransferError> {
    let url = url.to_string();
    let Some(begun) = begun else {
        return match first_foreign_table(db, &url, master).await? {
            Some(table) => Err(TransferError::NotEmpty { url, table }),
            None => Ok(TransferState::New),
        };
    };
    if begun.id != plan.id {
        return Err(TransferError::NotEmpty { url, table: "an earlier move".into() });
    }
    if begun.views != plan.views {
        let was = begun.views.clone().unwrap_or_else(|| "those in the data directory".into());
        return Err(TransferError::OtherViews { url, was });
    }
    Ok(if begun.is_finished { TransferState::Complete } else { TransferState::Interrupted })
}

/// A table with rows that are not from a server that only started.
async fn first_foreign_table(
    db: &mut PgConnection,
    url: &str,
    master: &MasterKey,
) -> Result<Option<String>, TransferError> {
    if !target::is_sealed_with(db, master).await? {
        return Err(TransferError::OtherKey(url.to_owned()));
    }
    Ok(target::first_used_table(db).await?)
}

fn describe(expected: &Fingerprint, found: &Fingerprint) -> (String, String) {
    let count = |side: &Fingerprint| match side.rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    match expected.rows == found.rows {
        true => ("the same number of rows with other values".into(), count(found)),
        false => (count(expected), count(found)),
    }
}

impl From<OpenError> for TransferError {
    fn from(error: OpenError) -> Self {
        Self::Store(error.into())
    }
}
