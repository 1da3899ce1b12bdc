//! The read connections: shared by more readers than there are, given back by reads that are cut short, closed.

use base::sqlite::{Database, Schema};
use futures_util::future::{join_all, poll_immediate};
use sqlx::Connection as _;

use super::SCHEMA_V1;

const COUNT: &str = "SELECT count(*) FROM n";
/// Enough steps that the first poll cannot finish it.
const SLOW: &str =
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 300000) SELECT count(*) FROM r";

async fn open() -> (tempfile::TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("n.db"), SCHEMA_V1, Schema::Migrate).await.unwrap();
    (dir, db)
}

async fn count(db: &Database) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(COUNT).fetch_one(&mut *db.reads().acquire().await?).await
}

#[tokio::test]
async fn more_reads_than_connections_wait_for_their_turn() {
    let (_dir, db) = open().await;
    let counts = join_all((0..50).map(|_| count(&db))).await;
    assert!(counts.iter().all(|count| matches!(count, Ok(0))), "{counts:?}");
}

#[tokio::test]
async fn a_read_that_is_cut_short_gives_its_connection_back() {
    let (_dir, db) = open().await;
    for _ in 0..6 {
        let mut connection = db.reads().acquire().await.unwrap();
        let mut transaction = connection.begin().await.unwrap();
        let read = sqlx::query_scalar::<_, i64>(SLOW).fetch_one(&mut *transaction);
        assert!(poll_immediate(read).await.is_none(), "the read was not slow");
    }
    assert_eq!(count(&db).await.unwrap(), 0);
    // No transaction of a reader is left open: it would keep the log from being emptied.
    assert!(db.checkpoint().await.unwrap());
}

#[tokio::test]
async fn a_closed_pool_refuses_reads_and_waits_for_the_ones_that_run() {
    let (_dir, db) = open().await;
    let mut connection = db.reads().acquire().await.unwrap();
    let running = async {
        let read = sqlx::query_scalar::<_, i64>(SLOW).fetch_one(&mut *connection).await;
        drop(connection);
        read
    };
    let (read, ()) = tokio::join!(running, db.close());
    assert_eq!(read.unwrap(), 300_000);
    assert!(matches!(count(&db).await, Err(sqlx::Error::PoolClosed)));
}
