//! Tests of SQLite databases: group commit, savepoints, migrations, refused schemas.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod close;
mod copy;
mod inspect;
mod read_pool;
mod temporary;
mod trouble;

use base::sqlite::{Database, Schema, WriteError};
use futures_util::FutureExt;
use futures_util::future::join_all;

const SCHEMA_V1: &[&str] = &["CREATE TABLE n (v INTEGER PRIMARY KEY)"];
const SCHEMA_V2: &[&str] = &[SCHEMA_V1[0], "CREATE TABLE m (v INTEGER)"];

#[derive(Debug)]
struct TestError;
impl From<WriteError> for TestError {
    fn from(_: WriteError) -> Self {
        TestError
    }
}
impl From<sqlx::Error> for TestError {
    fn from(_: sqlx::Error) -> Self {
        TestError
    }
}

async fn insert(db: &Database, v: i64) -> Result<(), TestError> {
    db.write(move |c| {
        async move {
            sqlx::query("INSERT INTO n VALUES (?)").bind(v).execute(c).await?;
            Ok(())
        }
        .boxed()
    })
    .await
}

async fn count(db: &Database) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM n")
        .fetch_one(&mut *db.reads().acquire().await.unwrap())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_failed_write_does_not_fail_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("x.db"), SCHEMA_V1, Schema::Migrate).await.unwrap();
    let answers = join_all((0..200).map(|i| insert(&db, i / 2))).await;
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 100);
    assert_eq!(count(&db).await, 100);
}

#[tokio::test]
async fn a_panic_in_a_write_fails_only_its_caller() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("x.db"), SCHEMA_V1, Schema::Migrate).await.unwrap();
    let broken: Result<(), TestError> = db.write(|_| async { panic!("on purpose") }.boxed()).await;
    assert!(broken.is_err());
    insert(&db, 1).await.unwrap();
    assert_eq!(count(&db).await, 1);
}

#[tokio::test]
async fn migrations_run_once_and_keep_existing_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    insert(&Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap(), 7).await.unwrap();
    let db = Database::open(&path, SCHEMA_V2, Schema::Migrate).await.unwrap();
    assert_eq!(count(&db).await, 1);
    Database::open(&path, SCHEMA_V2, Schema::Migrate).await.unwrap();
}

#[tokio::test]
async fn a_schema_of_another_version_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap();
    let older = Database::open(&path, SCHEMA_V2, Schema::MustMatch).await.unwrap_err().to_string();
    assert!(older.contains("Stop that server first"), "{older}");
    Database::open(&path, SCHEMA_V2, Schema::Migrate).await.unwrap();
    let newer = Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap_err().to_string();
    assert!(newer.contains("newer version of Docwright (schema 2; this version knows 1)"), "{newer}");
}

#[tokio::test]
async fn a_failed_migration_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap();
    const BROKEN: &[&str] = &[SCHEMA_V1[0], "CREATE TABLE k (v INTEGER)", "CREATE TABLE k (v INTEGER)"];
    assert!(Database::open(&path, BROKEN, Schema::Migrate).await.is_err());
    Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap();
}
