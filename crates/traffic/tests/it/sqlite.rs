//! What only a backend with a file and a bounded queue can show.

use base::sqlite::OpenError;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use traffic::{Counts, Limits, Receipt, SqliteViews, TakeError, Views};

use crate::views::{CLAUDE, FIREFOX, all, clock, open, page, view, with_id};

#[tokio::test]
async fn reopening_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let before = open(&file, &clock).await;
    before.take("acme", vec![with_id("/a", "1"), view("/b", CLAUDE)]).await.unwrap();
    let counts = all(&before, "acme").await;
    drop(before);

    let after = open(&file, &clock).await;
    assert_eq!(all(&after, "acme").await, counts);
    let receipt = after.take("acme", vec![with_id("/a", "1")]).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 1, duplicates: 1 });
    assert_eq!(all(&after, "acme").await, counts);
}

#[tokio::test]
async fn a_full_queue_refuses_and_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { batches: 1, ..Limits::default() };
    let file = folder.path().join("views.db");
    let views = SqliteViews::open_with(&file, clock(), limits).await.unwrap();
    // The writer runs on this thread, so it has taken neither when the second arrives.
    let (first, second) = tokio::join!(
        views.take("acme", vec![view("/a", FIREFOX)]),
        views.take("acme", vec![view("/b", FIREFOX)]),
    );
    assert_eq!(first.unwrap().accepted, 1);
    assert!(matches!(second, Err(TakeError::Busy)));
    assert_eq!(all(&views, "acme").await.pages, [page("/a", 1, 0)]);
    views.take("acme", vec![view("/b", FIREFOX)]).await.unwrap();
    assert_eq!(all(&views, "acme").await.totals.human, 2);
}

#[tokio::test]
async fn a_batch_that_fails_half_way_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql(
        "CREATE TRIGGER fail BEFORE INSERT ON event
         WHEN (SELECT text FROM word WHERE id = NEW.path) = '/bad'
         BEGIN SELECT RAISE(ABORT, 'disk on fire'); END",
    )
    .execute(&mut beside)
    .await
    .unwrap();
    let broken = vec![with_id("/a", "1"), with_id("/bad", "2")];
    let (failed, good) =
        tokio::join!(views.take("acme", broken), views.take("globex", vec![view("/a", FIREFOX)]),);
    assert!(matches!(failed, Err(TakeError::Failed(_))));
    assert_eq!(good.unwrap().accepted, 1, "others in the same commit are not undone");
    assert_eq!(all(&views, "acme").await, Counts::default());
    let left: (i64, i64) = sqlx::query_as(
        "SELECT (SELECT COUNT(*) FROM seen), (SELECT COUNT(*) FROM project WHERE name = 'acme')",
    )
    .fetch_one(&mut beside)
    .await
    .unwrap();
    assert_eq!(left, (0, 0));
    beside.close().await.unwrap();
    assert_eq!(views.take("acme", vec![with_id("/a", "1")]).await.unwrap().duplicates, 0);
}

#[tokio::test]
async fn old_event_ids_are_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    let ids = |from: u32| (from..from + 10).map(|id| with_id("/a", &id.to_string())).collect();
    views.take("acme", ids(0)).await.unwrap();
    clock.advance(jiff::SignedDuration::from_hours(8 * 24));
    views.take("globex", ids(100)).await.unwrap();
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let seen: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM seen").fetch_one(&mut beside).await.unwrap();
    assert_eq!(seen, 10);
}

#[tokio::test]
async fn counting_reads_the_index_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("views.db");
    let _views = open(&file, &clock()).await;
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(
        "EXPLAIN QUERY PLAN SELECT path, SUM(class = 0) FROM event
         WHERE project = 1 AND kind = 0 AND at >= 0 AND at < 9 AND class <= 1 GROUP BY path",
    )
    .fetch_all(&mut beside)
    .await
    .unwrap();
    assert!(plan.iter().any(|step| step.3.contains("COVERING INDEX event_count")), "{plan:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("views.db");
    std::fs::write(&file, "this is a text and not a database, however long it may be").unwrap();
    let opened = SqliteViews::open(&file, clock()).await;
    assert!(matches!(opened, Err(OpenError::Unusable { .. })));
}
