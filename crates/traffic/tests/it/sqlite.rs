//! Tests of the SQLite backend: reopening, a full queue, failed writes, damaged files.

use base::Clock;
use base::sqlite::OpenError;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use traffic::{
    IngestError, Interval, Limits, ListQuery, Range, RawEvent, Receipt, Reports, Series, SqliteViews, Views,
};

use crate::views::{CLAUDE, FIREFOX, all, clock, event, open, page, raw, view, with_id};

#[tokio::test]
async fn a_reopened_file_has_all_views() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let before = open(&file, &clock).await;
    before.ingest("acme", vec![with_id("/a", "1"), view("/b", CLAUDE)]).await.unwrap();
    let counts = all(&before, "acme").await;
    drop(before);

    let after = open(&file, &clock).await;
    assert_eq!(all(&after, "acme").await, counts);
    let receipt = after.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 1, duplicates: 1 });
    assert_eq!(all(&after, "acme").await, counts);
}

const DAY: i64 = 24 * 3_600_000;

/// Without reads, the series must not start in the year 2000 and fail with too many points.
#[tokio::test]
async fn a_series_without_reads_and_start_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let clock = clock();
    let views = open(&folder.path().join("views.db"), &clock).await;
    let a_day = Range::new(Some(clock.now_ms() - DAY), Some(clock.now_ms())).unwrap();
    let steps = views.series("nobody", &a_day, Interval::Hour, None).await.unwrap();
    assert_eq!((steps.points.len(), steps.totals.total()), (24, 0), "every step of the range has a point");
    for unread in [view("/logo.png", FIREFOX), event(RawEvent { status: Some(500), ..raw("/a", FIREFOX) })] {
        views.ingest("acme", vec![unread]).await.unwrap();
        for interval in [Interval::Hour, Interval::Day, Interval::Week, Interval::Month] {
            let until_now = Range::new(None, Some(clock.now_ms())).unwrap();
            let series = views.series("acme", &until_now, interval, None).await.unwrap();
            assert_eq!(series, Series::default(), "{interval:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_over_the_limit_is_refused_and_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { batches: 1, ..Limits::default() };
    let file = folder.path().join("views.db");
    let views = SqliteViews::open_with(&file, clock(), limits).await.unwrap();
    // The keeper runs on this thread, so the first batch is still queued when the second arrives.
    let (first, second) = tokio::join!(
        views.ingest("acme", vec![view("/a", FIREFOX)]),
        views.ingest("acme", vec![view("/b", FIREFOX)]),
    );
    assert_eq!(first.unwrap().accepted, 1);
    assert!(matches!(second, Err(IngestError::Busy)));
    assert_eq!(all(&views, "acme").await.pages, [page("/a", 1, 0)]);
    views.ingest("acme", vec![view("/b", FIREFOX)]).await.unwrap();
    assert_eq!(all(&views, "acme").await.totals.human, 2);
}

#[tokio::test]
async fn a_failed_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
    let before = all(&views, "acme").await;
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let broken =
        "CREATE TRIGGER fail BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'disk on fire'); END";
    sqlx::raw_sql(broken).execute(&mut beside).await.unwrap();
    let failed = views.ingest("acme", vec![with_id("/b", "2"), with_id("/c", "3")]).await;
    assert!(matches!(failed, Err(IngestError::Failed(_))));
    assert_eq!(all(&views, "acme").await, before);
    let pages: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM page").fetch_one(&mut beside).await.unwrap();
    assert_eq!(pages, 1);

    sqlx::raw_sql("DROP TRIGGER fail").execute(&mut beside).await.unwrap();
    let again = views.ingest("acme", vec![with_id("/c", "3"), with_id("/b", "2")]).await.unwrap();
    assert_eq!(again.duplicates, 0, "what was not written was not seen");
    assert_eq!(all(&views, "acme").await.pages, [page("/a", 1, 0), page("/b", 1, 0), page("/c", 1, 0)]);
}

#[tokio::test]
async fn expired_event_ids_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    let ids = |from: u32| (from..from + 10).map(|id| with_id("/a", &id.to_string())).collect();
    views.ingest("acme", ids(0)).await.unwrap();
    views.run_maintenance().await.unwrap();
    clock.advance(jiff::SignedDuration::from_hours(8 * 24));
    views.ingest("globex", ids(100)).await.unwrap();
    views.run_maintenance().await.unwrap();
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let seen: (i64, i64) = sqlx::query_as("SELECT SUM(ids), (SELECT COUNT(*) FROM seen_page) FROM seen")
        .fetch_one(&mut beside)
        .await
        .unwrap();
    assert_eq!(seen, (10, 1));
}

#[tokio::test]
async fn damaged_data_is_an_error_and_not_a_wrong_count() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    views.run_maintenance().await.unwrap();
    drop(views);
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql("UPDATE day SET cells = zeroblob(20)").execute(&mut beside).await.unwrap();
    let views = open(&file, &clock).await;
    let failure = views.count("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap_err();
    let cause = std::error::Error::source(&failure).unwrap().to_string();
    assert!(cause.starts_with("page views on disk are damaged"), "{cause}");
    views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("views.db");
    std::fs::write(&file, "this is a text and not a database, however long it may be").unwrap();
    let opened = SqliteViews::open(&file, clock()).await;
    assert!(matches!(opened, Err(OpenError::Unusable { .. })));
}
