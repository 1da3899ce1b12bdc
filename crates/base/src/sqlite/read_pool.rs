//! The read connections of a database, lent one at a time.
//!
//! sqlx's own pool asks a connection whether it is alive before and after each use. For SQLite, each question is a switch
//! to the connection's thread and back, so a small read would cost three of them instead of one.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Error, SqliteConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

const CONNECTIONS: u32 = 4;
/// How long a read waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a close waits for reads that are still running.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Clones share the connections.
#[derive(Debug, Clone)]
pub struct ReadPool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    idle: Mutex<Vec<SqliteConnection>>,
    /// One for each connection. Closed together with the connections.
    permits: Arc<Semaphore>,
}

impl ReadPool {
    /// Opens all connections now: one that opened later would open the file that has the name then.
    pub(super) async fn open(options: &SqliteConnectOptions) -> Result<Self, Error> {
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS {
            idle.push(options.connect().await?);
        }
        let permits = Arc::new(Semaphore::new(idle.len()));
        Ok(Self(Arc::new(Shared { idle: Mutex::new(idle), permits })))
    }

    /// Waits for a connection. It is returned on drop, also when a query on it was cut short: sqlx ends that query, or
    /// rolls the transaction back, before the next one begins.
    pub async fn acquire(&self) -> Result<ReadConnection, Error> {
        let permits = self.0.permits.clone();
        let permit = match permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => timeout(ACQUIRE_TIMEOUT, permits.acquire_owned())
                .await
                .map_err(|_| Error::PoolTimedOut)?
                .map_err(|_| Error::PoolClosed)?,
        };
        let connection = self.0.idle().pop().ok_or(Error::PoolClosed)?;
        Ok(ReadConnection { connection: Some(connection), shared: self.0.clone(), _permit: permit })
    }

    /// Waits a little for running reads, then closes the connections. Later reads fail.
    pub(super) async fn close(&self) {
        let _ = timeout(CLOSE_TIMEOUT, self.0.permits.acquire_many(CONNECTIONS)).await;
        self.0.permits.close();
        let idle = std::mem::take(&mut *self.0.idle());
        for connection in idle {
            if let Err(error) = connection.close().await {
                tracing::warn!("a read connection was not closed: {error}");
            }
        }
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is lent out.
#[derive(Debug)]
pub struct ReadConnection {
    /// `None` only while it is dropped.
    connection: Option<SqliteConnection>,
    shared: Arc<Shared>,
    /// Dropped after the connection is back.
    _permit: OwnedSemaphorePermit,
}

impl Deref for ReadConnection {
    type Target = SqliteConnection;

    #[expect(clippy::expect_used, reason = "only `drop` takes it")]
    fn deref(&self) -> &SqliteConnection {
        self.connection.as_ref().expect("a connection until the drop")
    }
}

impl DerefMut for ReadConnection {
    #[expect(clippy::expect_used, reason = "only `drop` takes it")]
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("a connection until the drop")
    }
}

impl Drop for ReadConnection {
    fn drop(&mut self) {
        if !self.shared.permits.is_closed() {
            self.shared.idle().extend(self.connection.take());
        }
    }
}
