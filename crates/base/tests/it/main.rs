//! SQLite as opened by us: groups, savepoints, migrations, refusals.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod close;
mod copy;
mod look;
mod temporary;
mod trouble;

use base::sqlite::{Database, Schema, WriteError};
use futures_util::FutureExt;
use futures_util::future::join_all;

const ONE: &[&str] = &["CREATE TABLE n (v INTEGER PRIMARY KEY)"];
const TWO: &[&str] = &[ONE[0], "CREATE TABLE m (v INTEGER)"];

#[derive(Debug)]
struct Failed;
impl From<WriteError> for Failed {
    fn from(_: WriteError) -> Self {
        Failed
    }
}
impl From<sqlx::Error> for Failed {
    fn from(_: sqlx::Error) -> Self {
        Failed
    }
}

async fn insert(db: &Database, v: i64) -> Result<(), Failed> {
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
    sqlx::query_scalar("SELECT count(*) FROM n").fetch_one(db.reads()).await.unwrap()
}

#[tokio::test]
async fn a_failed_write_does_not_take_its_group_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("x.db"), ONE, Schema::Migrate).await.unwrap();
    let answers = join_all((0..200).map(|i| insert(&db, i / 2))).await;
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 100);
    assert_eq!(count(&db).await, 100);
}

#[tokio::test]
async fn a_panic_in_a_write_is_an_error_for_its_caller_alone() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("x.db"), ONE, Schema::Migrate).await.unwrap();
    let broken: Result<(), Failed> = db.write(|_| async { panic!("on purpose") }.boxed()).await;
    assert!(broken.is_err());
    insert(&db, 1).await.unwrap();
    assert_eq!(count(&db).await, 1);
}

#[tokio::test]
async fn migrations_run_once_and_keep_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    insert(&Database::open(&path, ONE, Schema::Migrate).await.unwrap(), 7).await.unwrap();
    let db = Database::open(&path, TWO, Schema::Migrate).await.unwrap();
    assert_eq!(count(&db).await, 1);
    Database::open(&path, TWO, Schema::Migrate).await.unwrap();
}

#[tokio::test]
async fn a_schema_of_another_version_is_refused_with_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    Database::open(&path, ONE, Schema::Migrate).await.unwrap();
    let older = Database::open(&path, TWO, Schema::MustMatch).await.unwrap_err().to_string();
    assert!(older.contains("stop that server first"), "{older}");
    Database::open(&path, TWO, Schema::Migrate).await.unwrap();
    let newer = Database::open(&path, ONE, Schema::Migrate).await.unwrap_err().to_string();
    assert!(newer.contains("newer version of Docwright (schema 2; this one knows 1)"), "{newer}");
}

#[tokio::test]
async fn a_failed_migration_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    Database::open(&path, ONE, Schema::Migrate).await.unwrap();
    const BROKEN: &[&str] = &[ONE[0], "CREATE TABLE k (v INTEGER)", "CREATE TABLE k (v INTEGER)"];
    assert!(Database::open(&path, BROKEN, Schema::Migrate).await.is_err());
    Database::open(&path, ONE, Schema::Migrate).await.unwrap();
}
