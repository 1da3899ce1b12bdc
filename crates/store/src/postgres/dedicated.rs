//! Dedicated connections for the reads that every request makes. A pool pings a connection that it gets back, and each
//! ping takes as long as the query did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Clock;
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::time::Instant;

use super::{PING_AFTER, in_time, set_time};
use crate::Result;
use crate::sql::{Fetch, Query, Row};

/// In addition to those of the pool, which serves the rest of a crowd.
const MAX_CONNECTIONS: usize = 4;

#[derive(Clone)]
pub(super) struct DedicatedReader {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

struct Idle {
    db: PgConnection,
    since: Instant,
}

impl Fetch for DedicatedReader {
    async fn rows(&self, query: Query) -> Result<Vec<Row>> {
        Ok(in_time(self.fetch(query)).await?.into_iter().map(Row::Postgres).collect())
    }
}

impl DedicatedReader {
    pub(super) fn new(pool: PgPool, clock: Arc<dyn Clock>) -> Self {
        Self { pool, clock, idle: Arc::default() }
    }

    /// Drops a connection that fails or whose query is canceled.
    async fn fetch(&self, query: Query) -> Result<Vec<PgRow>> {
        let query = query.for_postgres();
        if let Some(mut db) = self.take().await? {
            let rows = query.fetch_all(&mut db).await?;
            self.put_back(db);
            return Ok(rows);
        }
        let mut db = self.pool.acquire().await?;
        let rows = query.fetch_all(&mut *db).await?;
        if self.idle().len() < MAX_CONNECTIONS {
            self.put_back(db.detach());
        }
        Ok(rows)
    }

    /// Pings a connection that was idle for a while, like the pool.
    async fn take(&self) -> Result<Option<PgConnection>> {
        let Some(Idle { mut db, since }) = self.idle().pop() else { return Ok(None) };
        if since.elapsed() > PING_AFTER && db.ping().await.is_err() {
            return Ok(None);
        }
        set_time(&mut db, self.clock.test_override()).await?;
        Ok(Some(db))
    }

    fn put_back(&self, db: PgConnection) {
        let mut idle = self.idle();
        if idle.len() < MAX_CONNECTIONS {
            idle.push(Idle { db, since: Instant::now() });
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
