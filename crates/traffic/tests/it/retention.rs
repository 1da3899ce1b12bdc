//! Tests of retention, and of the limit on new pages.

use std::path::Path;

use base::{Clock, TestClock};
use jiff::{SignedDuration, Timestamp};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use traffic::{
    Event, Limits, ListQuery, OTHER_PAGES, Range, RawEvent, Readers, SqliteViews, Views, parse_bound,
    parse_event,
};

use crate::backend::{Home, every_home};
use crate::views::{FIREFOX, all, clock, page, raw, view};

every_home! {
    new_pages_beyond_the_daily_limit_count_as_other,
    counts_stay_when_raw_events_are_deleted,
    without_addresses_each_user_agent_is_one_reader,
}

const DAY: SignedDuration = SignedDuration::from_hours(24);

async fn connect(file: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(file).connect().await.unwrap()
}

fn read(clock: &TestClock, at: &str, ip: &str) -> Event {
    let raw = RawEvent { timestamp: Some(at.parse().unwrap()), ip: Some(ip.into()), ..raw("/a", FIREFOX) };
    parse_event(raw, clock.now()).unwrap()
}

async fn human(views: &dyn Views, from: &str, to: &str) -> u64 {
    let range = Range::new(Some(parse_bound(from).unwrap()), Some(parse_bound(to).unwrap())).unwrap();
    views.count("acme", &range, &ListQuery::new(50, 0)).await.unwrap().totals.human
}

async fn readers(views: &dyn Views) -> u64 {
    let visitors = views.visitors("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap();
    assert_eq!(visitors.pages, [("/a".to_owned(), visitors.totals)]);
    visitors.totals.total
}

async fn new_pages_beyond_the_daily_limit_count_as_other(home: &dyn Home) {
    let limits = Limits { new_pages: 2, ..Limits::default() };
    let paths = |paths: &[&str]| paths.iter().map(|path| view(path, FIREFOX)).collect::<Vec<_>>();
    let views = home.open(limits).await;
    views.ingest("acme", paths(&["/a", "/b", "/c", "/d", "/a"])).await.unwrap();
    drop(views);

    let views = home.open(limits).await;
    views.ingest("acme", paths(&["/c", "/b", "/a"])).await.unwrap();
    let expected = [page(OTHER_PAGES, 3, 0), page("/a", 3, 0), page("/b", 2, 0)];
    assert_eq!(all(&*views, "acme").await.pages, expected);
    home.clock().advance(DAY);
    views.ingest("acme", paths(&["/c"])).await.unwrap();
    assert_eq!(
        all(&*views, "acme").await.pages.last(),
        Some(&page("/c", 1, 0)),
        "another day has room again"
    );
}

#[tokio::test]
async fn missing_paths_do_not_become_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = SqliteViews::open(&file, clock.clone()).await.unwrap();
    let missing = |n: u32| RawEvent { status: Some(404), ..raw(&format!("/wp-{n}"), FIREFOX) };
    let events = (0..500).map(|n| parse_event(missing(n), clock.now()).unwrap()).collect();
    views.ingest("acme", events).await.unwrap();
    views.run_maintenance().await.unwrap();
    let counts: (i64, i64) =
        sqlx::query_as("SELECT (SELECT COUNT(*) FROM page), (SELECT SUM(missing) FROM block)")
            .fetch_one(&mut connect(&file).await)
            .await
            .unwrap();
    assert_eq!(counts, (0, 500));
}

/// The views are 13 months old: raw events are deleted, and counts stay.
async fn counts_stay_when_raw_events_are_deleted(home: &dyn Home) {
    let (views, clock) = (&*home.open(Limits::default()).await, home.clock());
    let times = ["2026-03-01T09:10:00Z", "2026-03-01T09:50:00Z", "2026-03-01T10:00:00Z"];
    let batch = times.map(|at| read(clock, at, "192.0.2.1")).to_vec();
    views.ingest("acme", batch).await.unwrap();
    assert_eq!(human(views, "2026-03-01T09:30:00Z", "2026-03-01T09:55:00Z").await, 1);

    clock.advance(DAY * 400);
    views.run_maintenance().await;
    assert!(home.raw_from("acme").await > times[2].parse::<Timestamp>().unwrap().as_millisecond());
    assert_eq!(human(views, "2026-03-01", "2026-03-02").await, 3);
    assert_eq!(human(views, "2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z").await, 2);
    // Ends within an hour are rounded up to the next full hour.
    assert_eq!(human(views, "2026-03-01T09:30:00Z", "2026-03-01T09:55:00Z").await, 0);
    assert_eq!(human(views, "2026-03-01T08:30:00Z", "2026-03-01T09:01:00Z").await, 2);
    assert_eq!(readers(views).await, 1);

    // A late view counts in its hour, and its raw event is not stored.
    views.ingest("acme", vec![read(clock, times[2], "192.0.2.1")]).await.unwrap();
    assert_eq!(human(views, "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z").await, 2);
    assert_eq!(readers(views).await, 2, "the same reader is no longer recognized");
    views.run_maintenance().await;
    assert_eq!(human(views, "2026-03-01", "2026-03-02").await, 4);
}

#[tokio::test]
async fn a_late_view_stores_no_raw_event() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = SqliteViews::open(&file, clock.clone()).await.unwrap();
    let late = || vec![read(&clock, "2026-03-01T09:00:00Z", "192.0.2.1")];
    views.ingest("acme", late()).await.unwrap();
    clock.advance(DAY * 400);
    views.run_maintenance().await.unwrap();
    views.ingest("acme", late()).await.unwrap();
    views.run_maintenance().await.unwrap();
    let blocks: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM block").fetch_one(&mut connect(&file).await).await.unwrap();
    assert_eq!((blocks, all(&views, "acme").await.totals.human), (0, 2));
}

#[tokio::test]
async fn a_salt_is_deleted_after_its_day() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = SqliteViews::open(&file, clock.clone()).await.unwrap();
    let days = async || -> Vec<i64> {
        let mut beside = connect(&file).await;
        let days =
            sqlx::query_scalar("SELECT day FROM salt ORDER BY day").fetch_all(&mut beside).await.unwrap();
        beside.close().await.unwrap();
        days
    };
    let today = clock.now_ms() / 86_400_000;
    let morning = || vec![read(&clock, "2026-03-01T09:00:00Z", "192.0.2.1")];
    views.ingest("acme", morning()).await.unwrap();
    views.ingest("acme", morning()).await.unwrap();
    assert_eq!((days().await, readers(&views).await), (vec![today, today + 1], 1));

    // A restart does not change the visitors.
    drop(views);
    let views = SqliteViews::open(&file, clock.clone()).await.unwrap();
    views.ingest("acme", morning()).await.unwrap();
    assert_eq!(readers(&views).await, 1);

    clock.advance(DAY);
    views.run_maintenance().await.unwrap();
    assert_eq!(days().await, [today + 1, today + 2], "salts expire without new views");
    views.ingest("acme", morning()).await.unwrap();
    views.ingest("acme", morning()).await.unwrap();
    assert_eq!(readers(&views).await, 2);
}

async fn without_addresses_each_user_agent_is_one_reader(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    views
        .ingest("acme", vec![view("/a", FIREFOX), view("/b", FIREFOX), view("/a", "Firefox/1.0")])
        .await
        .unwrap();
    let visitors = views.visitors("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap();
    assert_eq!(visitors.totals.total, visitors.totals.human);
    assert_eq!(visitors.pages[1], ("/b".to_owned(), Readers { human: 1, ai: 0, total: 1 }));
}
