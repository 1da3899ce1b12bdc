//! Tests that a database of the first version, with one row per event, is converted with the same counts.

use base::Clock;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use traffic::{Receipt, Tally, Views};

use crate::views::{all, clock, open, page, with_id};

/// A database of the first version: two projects, three reads, a missing page, one id.
const ROWS: &str = "
    INSERT INTO project VALUES (1, 'acme'), (2, 'globex');
    INSERT INTO word VALUES (1, 1, '/a'), (2, 1, '/b'), (3, 1, 'Firefox'), (4, 1, 'duck.example/q'), (5, 2, '/a');
    INSERT INTO event VALUES
        (1, 1, 1772366400123, 1772366400200, 1, 3, 4, 200, 0, 0, 0),
        (2, 1, 1772366400123, 1772366400200, 1, NULL, NULL, NULL, 0, 1, 1),
        (3, 1, 1772300000000, 1772366400200, 2, 3, NULL, 200, 0, 0, 0),
        (4, 1, 1772300000000, 1772366400200, 2, 3, NULL, 404, 1, 0, 0),
        (5, 1, 1772300000000, 1772366400200, 2, 3, NULL, 200, 0, 6, 0),
        (6, 2, 1772300000000, 1772366400200, 5, NULL, NULL, NULL, 0, 0, 0);
    PRAGMA user_version = 1";

#[tokio::test]
async fn rows_of_the_first_version_are_converted_to_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let mut old =
        SqliteConnectOptions::new().filename(&file).create_if_missing(true).connect().await.unwrap();
    sqlx::raw_sql(include_str!("../../src/sqlite/schema.sql")).execute(&mut old).await.unwrap();
    sqlx::raw_sql(ROWS).execute(&mut old).await.unwrap();
    // The first half of the SHA-256 hash of "1".
    let hash = "6b86b273ff34fce19d6b804eff5a3f57";
    sqlx::query("INSERT INTO seen VALUES (1, unhex(?), ?)")
        .bind(hash)
        .bind(clock.now_ms())
        .execute(&mut old)
        .await
        .unwrap();
    old.close().await.unwrap();

    for _ in 0..2 {
        let views = open(&file, &clock).await;
        let counts = all(&views, "acme").await;
        assert_eq!(counts.totals, Tally { human: 2, ai: 1 });
        assert_eq!(counts.pages, [page("/a", 1, 1), page("/b", 1, 0)]);
        assert_eq!(all(&views, "globex").await.pages, [page("/a", 1, 0)]);
        let receipt = views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
        assert_eq!(receipt, Receipt { accepted: 1, duplicates: 1 });
    }
}
