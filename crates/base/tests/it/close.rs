//! Tests that closing a database checkpoints its write-ahead log.

use base::sqlite::{Database, Schema};
use futures_util::future::join_all;

use super::{SCHEMA_V1, count, insert};

#[tokio::test]
async fn a_closed_database_is_one_complete_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    let db = Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap();
    let writes = join_all((0..500).map(|v| insert(&db, v)));
    // The clone is closed while writes are queued: they are committed first.
    let closing = async {
        tokio::task::yield_now().await;
        db.clone().close().await;
    };
    let (answers, ()) = tokio::join!(writes, closing);
    let acknowledged = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(acknowledged > 0);
    assert!(insert(&db, 1000).await.is_err(), "closed for every clone");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["x.db"]);

    let alone = dir.path().join("alone.db");
    std::fs::copy(&path, &alone).unwrap();
    let copied = Database::open(&alone, SCHEMA_V1, Schema::MustMatch).await.unwrap();
    assert_eq!(count(&copied).await, acknowledged as i64);
}

#[tokio::test]
async fn a_close_does_not_wait_for_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    let db = Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap();
    let other = Database::open(&path, SCHEMA_V1, Schema::MustMatch).await.unwrap();
    insert(&db, 1).await.unwrap();
    db.close().await;
    db.close().await;
    assert_eq!(std::fs::metadata(dir.path().join("x.db-wal")).unwrap().len(), 0, "the log is empty");
    insert(&other, 2).await.unwrap();
    assert_eq!(count(&other).await, 2);
}
