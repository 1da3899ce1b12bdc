//! What every request asks for, over connections that are held on to: a pool looks twice at one that it gets back,
//! and each look takes as long as the answer did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Clock;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Connection, PgConnection, PgPool, Postgres};
use tokio::time::Instant;

use super::{FRESH, in_time, tell_time};
use crate::Result;

/// Beside those of the pool, which has the rest of a crowd.
const HELD: usize = 4;

#[derive(Clone)]
pub(super) struct Reads {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    held: Arc<Mutex<Vec<Held>>>,
}

struct Held {
    db: PgConnection,
    since: Instant,
}

impl Reads {
    pub(super) fn new(pool: PgPool, clock: Arc<dyn Clock>) -> Self {
        Self { pool, clock, held: Arc::default() }
    }

    pub(super) async fn rows(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Vec<PgRow>> {
        in_time(self.answered(query)).await
    }

    pub(super) async fn row(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Option<PgRow>> {
        Ok(self.rows(query).await?.pop())
    }

    /// A connection that failed, or whose answer was not waited for, is not held on to.
    async fn answered(&self, query: Query<'_, Postgres, PgArguments>) -> Result<Vec<PgRow>> {
        if let Some(mut db) = self.take().await? {
            let rows = query.fetch_all(&mut db).await?;
            self.hold(db);
            return Ok(rows);
        }
        let mut db = self.pool.acquire().await?;
        let rows = query.fetch_all(&mut *db).await?;
        if self.held().len() < HELD {
            self.hold(db.detach());
        }
        Ok(rows)
    }

    /// One that nobody used for a while is looked at first, as in the pool.
    async fn take(&self) -> Result<Option<PgConnection>> {
        let Some(Held { mut db, since }) = self.held().pop() else { return Ok(None) };
        if since.elapsed() > FRESH && db.ping().await.is_err() {
            return Ok(None);
        }
        tell_time(&mut db, self.clock.test_override()).await?;
        Ok(Some(db))
    }

    fn hold(&self, db: PgConnection) {
        let mut held = self.held();
        if held.len() < HELD {
            held.push(Held { db, since: Instant::now() });
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
