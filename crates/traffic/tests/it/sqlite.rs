//! What only a backend with a file and a bounded queue can show.

use base::Clock;
use base::sqlite::OpenError;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use traffic::{
    Interval, Limits, Portion, Range, RawEvent, Receipt, Reports, Series, SqliteViews, TakeError, Views,
};

use crate::views::{CLAUDE, FIREFOX, all, clock, event, open, page, raw, view, with_id};

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

const DAY: i64 = 24 * 3_600_000;

/// Nothing read yet is no reason to count hours from the year 2000, and to refuse for their number.
#[tokio::test]
async fn a_series_until_now_of_a_project_that_nobody_read_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let clock = clock();
    let views = open(&folder.path().join("views.db"), &clock).await;
    let a_day = Range::new(Some(clock.now_ms() - DAY), Some(clock.now_ms())).unwrap();
    let steps = views.series("nobody", &a_day, Interval::Hour, None).await.unwrap();
    assert_eq!((steps.points.len(), steps.totals.total()), (24, 0), "all steps of a range are told");
    for unread in [view("/logo.png", FIREFOX), event(RawEvent { status: Some(500), ..raw("/a", FIREFOX) })] {
        views.take("acme", vec![unread]).await.unwrap();
        for interval in [Interval::Hour, Interval::Day, Interval::Week, Interval::Month] {
            let until_now = Range::new(None, Some(clock.now_ms())).unwrap();
            let series = views.series("acme", &until_now, interval, None).await.unwrap();
            assert_eq!(series, Series::default(), "{interval:?}");
        }
    }
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
async fn a_write_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    views.take("acme", vec![with_id("/a", "1")]).await.unwrap();
    let before = all(&views, "acme").await;
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let broken =
        "CREATE TRIGGER fail BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'disk on fire'); END";
    sqlx::raw_sql(broken).execute(&mut beside).await.unwrap();
    let failed = views.take("acme", vec![with_id("/b", "2"), with_id("/c", "3")]).await;
    assert!(matches!(failed, Err(TakeError::Failed(_))));
    assert_eq!(all(&views, "acme").await, before);
    let pages: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM page").fetch_one(&mut beside).await.unwrap();
    assert_eq!(pages, 1);

    sqlx::raw_sql("DROP TRIGGER fail").execute(&mut beside).await.unwrap();
    let again = views.take("acme", vec![with_id("/c", "3"), with_id("/b", "2")]).await.unwrap();
    assert_eq!(again.duplicates, 0, "what was not written was not seen");
    assert_eq!(all(&views, "acme").await.pages, [page("/a", 1, 0), page("/b", 1, 0), page("/c", 1, 0)]);
}

#[tokio::test]
async fn old_event_ids_are_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    let ids = |from: u32| (from..from + 10).map(|id| with_id("/a", &id.to_string())).collect();
    views.take("acme", ids(0)).await.unwrap();
    views.tidy().await.unwrap();
    clock.advance(jiff::SignedDuration::from_hours(8 * 24));
    views.take("globex", ids(100)).await.unwrap();
    views.tidy().await.unwrap();
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let seen: (i64, i64) = sqlx::query_as("SELECT SUM(ids), (SELECT COUNT(*) FROM seen_page) FROM seen")
        .fetch_one(&mut beside)
        .await
        .unwrap();
    assert_eq!(seen, (10, 1));
}

#[tokio::test]
async fn a_damaged_piece_is_an_error_and_not_a_wrong_count() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    views.take("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    views.tidy().await.unwrap();
    drop(views);
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql("UPDATE day SET cells = zeroblob(20)").execute(&mut beside).await.unwrap();
    let views = open(&file, &clock).await;
    let failure = views.count("acme", &Range::default(), &Portion::new(50, 0)).await.unwrap_err();
    let cause = std::error::Error::source(&failure).unwrap().to_string();
    assert!(cause.starts_with("a piece of the page views on disk is damaged"), "{cause}");
    views.take("acme", vec![view("/a", FIREFOX)]).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("views.db");
    std::fs::write(&file, "this is a text and not a database, however long it may be").unwrap();
    let opened = SqliteViews::open(&file, clock()).await;
    assert!(matches!(opened, Err(OpenError::Unusable { .. })));
}
