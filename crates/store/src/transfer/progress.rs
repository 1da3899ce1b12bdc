//! Records in the target which move it gets, and how far each step of it is.
//!
//! These tables are no part of the schema: only a database that an installation was moved to has them.

use std::collections::BTreeMap;

use base::sqlite::OpenError;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::TransferPlan;
use super::cells::Cells;
use crate::Result;
use crate::encoding::{from_json, to_json};
use crate::postgres::DatabaseUrl;

const CREATE: &str = "CREATE TABLE docwright_move (
        one         BOOLEAN PRIMARY KEY CHECK (one),
        id          TEXT NOT NULL,
        views       TEXT,               -- where page views go; NULL: they stay in the data directory
        began_at    BIGINT NOT NULL,
        finished_at BIGINT              -- NULL: no server may open the database
    );
    CREATE TABLE docwright_move_steps (
        step  TEXT COLLATE \"C\" PRIMARY KEY,
        state TEXT NOT NULL             -- JSON
    );";
/// The prefix of a step that copies a table.
const TABLE: &str = "table ";

/// A move that the target remembers.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) id: String,
    pub(super) views: Option<String>,
    pub(super) is_finished: bool,
}

pub(super) async fn find(db: &mut PgConnection) -> Result<Option<Begun>, sqlx::Error> {
    let exists = "SELECT to_regclass('docwright_move') IS NOT NULL";
    if !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut *db).await? {
        return Ok(None);
    }
    let found = sqlx::query_as("SELECT id, views, finished_at IS NOT NULL FROM docwright_move");
    let found: Option<(String, Option<String>, bool)> = found.fetch_optional(db).await?;
    Ok(found.map(|(id, views, is_finished)| Begun { id, views, is_finished }))
}

/// Fails for a database that an installation was not completely moved to.
pub(crate) async fn refuse_incomplete(db: &mut PgConnection, url: &DatabaseUrl) -> Result<(), OpenError> {
    let unusable = |source| OpenError::Unusable { path: url.to_string(), source };
    match is_incomplete(db).await.map_err(unusable)? {
        true => Err(OpenError::Incomplete { path: url.to_string() }),
        false => Ok(()),
    }
}

pub(crate) async fn is_incomplete(db: &mut PgConnection) -> Result<bool, sqlx::Error> {
    Ok(find(db).await?.is_some_and(|begun| !begun.is_finished))
}

pub(super) async fn begin(db: &mut PgConnection, plan: &TransferPlan) -> Result<Begun> {
    sqlx::raw_sql(CREATE).execute(&mut *db).await?;
    let insert =
        "INSERT INTO docwright_move (one, id, views, began_at) VALUES (true, $1, $2, docwright_now_ms())";
    sqlx::query(insert).bind(&plan.id).bind(&plan.views).execute(db).await?;
    Ok(Begun { id: plan.id.clone(), views: plan.views.clone(), is_finished: false })
}

pub(super) async fn finish(db: &mut PgConnection) -> Result<()> {
    let finish = "UPDATE docwright_move SET finished_at = docwright_now_ms() WHERE finished_at IS NULL";
    sqlx::query(finish).execute(db).await?;
    Ok(())
}

/// The recorded state of a step.
pub(crate) async fn step_state(db: &mut PgConnection, step: &str) -> Result<Option<String>, sqlx::Error> {
    let state = sqlx::query_scalar("SELECT state FROM docwright_move_steps WHERE step = $1");
    state.bind(step).fetch_optional(db).await
}

pub(crate) async fn save_step(db: &mut PgConnection, step: &str, state: &str) -> Result<(), sqlx::Error> {
    let save = "INSERT INTO docwright_move_steps (step, state) VALUES ($1, $2)
        ON CONFLICT (step) DO UPDATE SET state = excluded.state";
    sqlx::query(save).bind(step).bind(state).execute(db).await?;
    Ok(())
}

/// How far a table was copied.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct TableProgress {
    /// The key of the last copied row.
    pub(super) after: Option<Cells>,
    pub(super) rows: u64,
    pub(super) is_complete: bool,
}

impl TableProgress {
    pub(super) fn key(&self, table: &str) -> String {
        format!("{TABLE}{table}")
    }

    pub(super) fn encode(&self) -> String {
        to_json(self)
    }
}

/// How far every table was copied.
pub(super) struct Progress(BTreeMap<String, TableProgress>);

impl Progress {
    pub(super) async fn load(db: &mut PgConnection) -> Result<Self> {
        let steps: Vec<(String, String)> =
            sqlx::query_as("SELECT step, state FROM docwright_move_steps").fetch_all(db).await?;
        let tables = steps.iter().filter_map(|(step, state)| Some((step.strip_prefix(TABLE)?, state)));
        let tables = tables.map(|(table, state)| Ok((table.to_owned(), from_json(state)?)));
        Ok(Self(tables.collect::<Result<_>>()?))
    }

    pub(super) fn is_complete(&self, table: &str) -> bool {
        self.0.get(table).is_some_and(|progress| progress.is_complete)
    }

    pub(super) fn of(&self, table: &str) -> TableProgress {
        self.0.get(table).cloned().unwrap_or_default()
    }
}
