//! A request deletes a bounded number of expired answers.

use base::TestClock;
use jiff::SignedDuration;
use sqlx::Connection;
use store::{Receipt, Store};

use crate::follow_ups::once;
use crate::jobs::new_job;
use crate::{PostgresTest, SqliteTest, project};

const COUNT: &str = "SELECT count(*) FROM answers";

/// Stores 150 answers, and makes one more request after they have expired.
async fn expire_answers(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    for n in 0..150 {
        store.insert(&new_job(&project), &once(&n.to_string(), "body")).await.unwrap();
    }
    clock.advance(SignedDuration::from_hours(24));
    // An expired answer that is still stored is not replayed.
    let last = store.insert(&new_job(&project), &once("149", "other body")).await.unwrap();
    assert!(matches!(last, Receipt::Done { .. }));
}

#[tokio::test]
async fn a_request_deletes_some_expired_answers_on_sqlite() {
    let test = SqliteTest::new().await;
    expire_answers(&test.store, &test.clock).await;
    let path = test.dir.path().join("docwright.db");
    let mut db = sqlx::SqliteConnection::connect(path.to_str().unwrap()).await.unwrap();
    let stored: i64 = sqlx::query_scalar(COUNT).fetch_one(&mut db).await.unwrap();
    assert!([50, 51].contains(&stored), "100 of 150 are deleted, and one is added or replaced: {stored}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_request_deletes_some_expired_answers_on_postgres() {
    let test = PostgresTest::new().await;
    expire_answers(&test.store, &test.clock).await;
    let mut db = sqlx::PgConnection::connect(&test.database.url()).await.unwrap();
    let stored: i64 = sqlx::query_scalar(COUNT).fetch_one(&mut db).await.unwrap();
    assert!([50, 51].contains(&stored), "100 of 150 are deleted, and one is added or replaced: {stored}");
}
