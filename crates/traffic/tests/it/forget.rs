//! Tests of removing paths from every report, and of the quota of new pages per network.

use std::path::Path;
use std::time::Duration;

use base::{Clock, TestClock};
use jiff::SignedDuration;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use tokio::time::timeout;
use traffic::{
    Event, Limits, ListQuery, OTHER_PAGES, PathGlob, Range, RawEvent, RemovalProgress, Reports, SqliteViews,
    Views, parse_bound, parse_event,
};

use crate::backend::{Backend, Home, every_home};
use crate::views::{CLAUDE, FIREFOX, all, clock, page, raw};

every_home! {
    removed_paths_are_in_no_report_and_do_not_come_back,
    an_interrupted_removal_continues,
    counts_in_memory_are_recomputed,
    paths_are_also_removed_from_days_without_raw_events,
    one_network_cannot_use_up_the_new_pages_of_a_day,
}

fn at(clock: &TestClock, time: &str, id: &str, raw: RawEvent) -> Event {
    let (timestamp, event_id) = (Some(time.parse().unwrap()), Some(id.to_owned()));
    let ip = Some("192.0.2.1".to_owned());
    parse_event(RawEvent { timestamp, event_id, ip, ..raw }, clock.now()).unwrap()
}

async fn forget(views: &dyn Backend, glob: &str, from: &str, dry_run: bool) -> RemovalProgress {
    let paths = PathGlob::parse(glob).unwrap();
    views.forget_paths("acme", &paths, parse_bound(from).unwrap(), dry_run).await.unwrap()
}

async fn missing(views: &dyn Backend) -> Vec<String> {
    let found = views.not_found("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap();
    found.pages.into_iter().map(|page| page.path).collect()
}

fn batch(clock: &TestClock) -> Vec<Event> {
    let not_found = |path: &str| RawEvent { status: Some(404), ..raw(path, FIREFOX) };
    vec![
        at(clock, "2026-02-27T10:00:00Z", "1", raw("/junk/a", FIREFOX)),
        at(clock, "2026-02-27T11:00:00Z", "2", raw("/docs", FIREFOX)),
        at(clock, "2026-02-28T10:00:00Z", "3", raw("/junk/b", CLAUDE)),
        at(clock, "2026-02-28T11:00:00Z", "4", not_found("/junk/c")),
        at(clock, "2026-02-28T12:00:00Z", "5", not_found("/setup")),
        at(clock, "2026-02-28T13:00:00Z", "6", RawEvent { status: Some(500), ..raw("/junk/d", FIREFOX) }),
    ]
}

fn removed(views: u64, pages: u64) -> RemovalProgress {
    RemovalProgress { views, pages, next: None }
}

async fn removed_paths_are_in_no_report_and_do_not_come_back(home: &dyn Home) {
    let (views, clock) = (&*home.open(Limits::default()).await, home.clock());
    views.ingest("acme", batch(clock)).await.unwrap();
    views.ingest("globex", batch(clock)).await.unwrap();
    assert_eq!(all(views, "acme").await.pages.len(), 3, "the prefix sums are in memory");

    assert_eq!(forget(views, "/junk/**", "2026-01-01", true).await, removed(4, 2));
    assert_eq!(all(views, "acme").await.pages.len(), 3, "a dry run removes nothing");
    assert_eq!(forget(views, "/junk/**", "2026-01-01", false).await, removed(4, 2));
    assert_eq!(all(views, "acme").await.pages, [page("/docs", 1, 0)]);
    assert_eq!(missing(views).await, ["/setup"]);
    let visitors = views.visitors("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap();
    assert_eq!((visitors.totals.human, visitors.totals.ai, visitors.pages.len()), (1, 0, 1));
    let agents = views.agents("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap();
    assert_eq!(agents.agents.iter().map(|agent| agent.reads).sum::<u64>(), 1);
    assert_eq!(all(views, "globex").await.pages.len(), 3, "of this project alone");

    let receipt = views.ingest("acme", batch(clock)).await.unwrap();
    assert_eq!((receipt.accepted, receipt.duplicates), (6, 6), "a view that is sent again stays away");
    views.close().await;
    let views = &*home.open(Limits::default()).await;
    assert_eq!(views.ingest("acme", batch(clock)).await.unwrap().duplicates, 6);
    assert_eq!(all(views, "acme").await.pages, [page("/docs", 1, 0)]);
    let again = at(clock, "2026-02-28T14:00:00Z", "7", raw("/junk/a", FIREFOX));
    views.ingest("acme", vec![again]).await.unwrap();
    assert_eq!(all(views, "acme").await.pages, [page("/docs", 1, 0), page("/junk/a", 1, 0)]);
}

async fn an_interrupted_removal_continues(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    views.ingest("acme", batch(home.clock())).await.unwrap();
    assert_eq!(forget(&*views, "/junk/**", "2026-02-28", false).await, removed(3, 1), "the later day alone");
    assert_eq!(all(&*views, "acme").await.pages, [page("/docs", 1, 0), page("/junk/a", 1, 0)]);
    drop(views);
    let views = home.open(Limits::default()).await;
    assert_eq!(forget(&*views, "/junk/**", "2026-01-01", false).await, removed(1, 1));
    assert_eq!(all(&*views, "acme").await.pages, [page("/docs", 1, 0)]);
}

/// A removal that stops between two days, as after a kill, leaves counts that agree with the raw events.
#[tokio::test]
async fn a_dropped_request_leaves_whole_days() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = SqliteViews::open(&file, clock.clone()).await.unwrap();
    views.ingest("acme", batch(&clock)).await.unwrap();
    let paths = PathGlob::parse("/junk/**").unwrap();
    // The request is dropped during the removal of the first day, so the second day is never removed.
    let cut_off = timeout(Duration::ZERO, views.forget_paths("acme", &paths, 0, false)).await;
    assert!(cut_off.is_err());
    let pages = all(&views, "acme").await.pages;
    assert_eq!(pages, [page("/docs", 1, 0), page("/junk/b", 0, 1)]);
    assert_eq!(raw_events(&file).await, 5);
    assert_eq!(forget(&views, "/junk/**", "2026-01-01", false).await.pages, 2);
    assert_eq!(all(&views, "acme").await.pages, [page("/docs", 1, 0)]);
}

/// The page keeps its name, so the project stays in memory.
async fn counts_in_memory_are_recomputed(home: &dyn Home) {
    let (views, clock) = (&*home.open(Limits::default()).await, home.clock());
    let read = |time: &str, id: &str| at(clock, time, id, raw("/junk/a", FIREFOX));
    views
        .ingest("acme", vec![read("2026-02-27T10:00:00Z", "1"), read("2026-02-28T10:00:00Z", "2")])
        .await
        .unwrap();
    assert_eq!(all(views, "acme").await.pages, [page("/junk/a", 2, 0)]);
    assert_eq!(forget(views, "/junk/**", "2026-02-28", false).await, removed(1, 0));
    assert_eq!(all(views, "acme").await.pages, [page("/junk/a", 1, 0)]);
}

async fn paths_are_also_removed_from_days_without_raw_events(home: &dyn Home) {
    let limits = Limits { raw_days: 3, ..Limits::default() };
    let (views, clock) = (&*home.open(limits).await, home.clock());
    let last = parse_bound("2026-02-28T13:00:00Z").unwrap();
    views.ingest("acme", batch(clock)).await.unwrap();
    views.run_maintenance().await;
    for _ in 0..8 {
        clock.advance(SignedDuration::from_hours(24));
        views.run_maintenance().await;
    }
    assert!(home.raw_from("acme").await > last, "the raw events are deleted");
    assert_eq!(forget(views, "/junk/**", "2026-01-01", false).await.pages, 2);
    assert_eq!(all(views, "acme").await.pages, [page("/docs", 1, 0)]);
    assert_eq!(missing(views).await, ["/setup"]);
}

async fn raw_events(file: &Path) -> i64 {
    let mut beside = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    sqlx::query_scalar("SELECT coalesce(SUM(events), 0) FROM block").fetch_one(&mut beside).await.unwrap()
}

async fn one_network_cannot_use_up_the_new_pages_of_a_day(home: &dyn Home) {
    let limits = Limits { new_pages: 20, memory: 0, ..Limits::default() };
    let (views, clock) = (&*home.open(limits).await, home.clock());
    let read = |path: &str, ip: &str| {
        parse_event(RawEvent { ip: Some(ip.into()), ..raw(path, FIREFOX) }, clock.now()).unwrap()
    };
    for n in 0..50 {
        let ip = format!("203.0.113.{n}");
        views.ingest("acme", vec![read(&format!("/junk-{n}"), &ip), read("/docs", &ip)]).await.unwrap();
    }
    views.ingest("acme", vec![read("/guide", "198.51.100.7"), read("/api", "2001:db8::1")]).await.unwrap();
    let pages =
        || async { all(views, "acme").await.pages.into_iter().map(|page| page.path).collect::<Vec<_>>() };
    assert_eq!(pages().await, ["/docs", OTHER_PAGES, "/api", "/guide", "/junk-0"]);
    clock.advance(SignedDuration::from_hours(24));
    let more = (0..50).map(|n| read(&format!("/more-{n}"), "203.0.113.1")).collect();
    views.ingest("acme", more).await.unwrap();
    assert_eq!(pages().await.len(), 7, "two more on another day");
}
