//! Tests that a write reports trouble of the machine, such as a full disk, and that writes work again
//! afterwards.

use std::fs;
use std::path::Path;

use base::sqlite::{Database, Schema, WriteError};
use futures_util::FutureExt;
use futures_util::future::join_all;
use machine::Cause;
use sqlx::AssertSqlSafe;

const SCHEMA: &[&str] = &["CREATE TABLE n (v INTEGER PRIMARY KEY, text BLOB)"];

async fn open(dir: &Path) -> Database {
    Database::open(&dir.join("x.db"), SCHEMA, Schema::Migrate).await.unwrap()
}

async fn execute(db: &Database, sql: impl Into<String>) -> Result<(), WriteError> {
    let sql = sql.into();
    db.write(|c| async move { Ok(sqlx::raw_sql(AssertSqlSafe(sql)).execute(c).await.map(drop)?) }.boxed())
        .await
}

/// Limits the size of the database, as a full disk does.
async fn limit_pages(db: &Database, pages: u32) {
    execute(db, format!("PRAGMA max_page_count = {pages}")).await.unwrap();
}

#[track_caller]
fn causes(answers: &[Result<(), WriteError>]) -> Vec<Option<Cause>> {
    let cause = |error: &WriteError| error.trouble.as_ref().map(|trouble| trouble.cause);
    answers.iter().map(|answer| cause(answer.as_ref().unwrap_err())).collect()
}

#[tokio::test]
async fn a_full_disk_fails_the_whole_group_until_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path()).await;
    limit_pages(&db, 10).await;
    let write = |n: i64| {
        let db = db.clone();
        async move { execute(&db, format!("INSERT INTO n VALUES ({n}, randomblob(20000))")).await }
    };
    // SQLite then rolls back the whole transaction, so no write of the group is kept.
    let answers = join_all((0..8).map(write)).await;
    assert_eq!(causes(&answers), [Some(Cause::DiskFull); 8]);
    let sentence = answers[0].as_ref().unwrap_err().trouble.as_ref().unwrap().to_string();
    assert_eq!(sentence, "the disk of the data directory is full; free up space");
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM n")
        .fetch_one(&mut *db.reads().acquire().await.unwrap())
        .await
        .unwrap();
    assert_eq!(kept, 0);
    limit_pages(&db, 10_000).await;
    for answer in join_all((0..8).map(write)).await {
        answer.unwrap();
    }
}

#[tokio::test]
async fn a_read_only_disk_fails_writes_that_never_ran() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path()).await;
    execute(&db, "PRAGMA query_only = on").await.unwrap();
    let write = |n: i64| {
        let db = db.clone();
        async move { execute(&db, format!("INSERT INTO n VALUES ({n}, '')")).await }
    };
    let answers = join_all((0..8).map(write)).await;
    assert_eq!(causes(&answers), [Some(Cause::ReadOnly); 8]);
    assert_eq!(causes(&[db.probe_write().await]), [Some(Cause::ReadOnly)]);
}

#[tokio::test]
async fn other_errors_are_not_trouble_of_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path()).await;
    execute(&db, "INSERT INTO n VALUES (1, '')").await.unwrap();
    let twice = execute(&db, "INSERT INTO n VALUES (1, '')").await;
    assert_eq!(causes(&[twice, execute(&db, "nonsense").await]), [None, None]);
}

#[tokio::test]
async fn a_write_probe_writes_to_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path()).await;
    let size = || fs::metadata(dir.path().join("x.db-wal")).unwrap().len();
    let before = size();
    db.probe_write().await.unwrap();
    assert!(size() > before, "nothing was written");
}
