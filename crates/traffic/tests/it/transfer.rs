//! Tests the move of page views from a data directory to PostgreSQL and ClickHouse.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Clock, ClockGuard, TestClock};
use jiff::{SignedDuration, Timestamp};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;
use traffic::{
    AddressRanges, Event, FilePart, Limits, ListQuery, OTHER_NAMES, OTHER_PAGES, PathGlob, Progress, Range,
    RawEvent, Readers, RemoteViews, Reports, SqliteViews, Views, ViewsTransfer, compare_reports, parse_event,
};

use crate::backend::RemoteHome;
use crate::views::{CLAUDE, FIREFOX, GPTBOT, clock, raw};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const LIMITS: fn() -> Limits = || Limits { raw_days: 3, new_pages: 40, ..Limits::default() };
/// Of the table that the program creates when a move begins.
const STEPS: &str = "CREATE TABLE docwright_move_steps (step TEXT PRIMARY KEY, state TEXT NOT NULL)";
const OF_GPTBOT: &str = "132.196.86.9";

struct Moving {
    home: RemoteHome,
    file: PathBuf,
    clock: Arc<TestClock>,
    _folder: TempDir,
}

impl Moving {
    async fn new() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
        let home = RemoteHome::new(clock.clone()).await;
        home.database.sql(STEPS);
        Self { home, file: folder.path().join("views.db"), clock, _folder: folder }
    }

    /// A server on the data directory.
    async fn server(&self) -> SqliteViews {
        SqliteViews::open_with(&self.file, self.clock.clone(), LIMITS()).await.unwrap()
    }

    /// As the move opens the source: nothing is deleted by age.
    async fn source(&self) -> SqliteViews {
        let guard = ClockGuard::new(self.clock.clone());
        let ranges = AddressRanges::shipped();
        SqliteViews::open_guarded(&self.file, self.clock.clone(), LIMITS(), guard, ranges).await.unwrap()
    }

    async fn transfer(&self, from: &SqliteViews) -> ViewsTransfer {
        ViewsTransfer::open(from, &self.home.quiet_server()).await.unwrap().with_part_rows(500)
    }

    async fn move_all(&self) -> (SqliteViews, RemoteViews) {
        let source = self.source().await;
        let mut transfer = self.transfer(&source).await;
        while transfer.step().await.unwrap().is_some() {}
        assert_eq!(transfer.compare_events().await.unwrap(), None);
        (source, self.home.quiet_server())
    }

    /// Nine days of views, of which the first ones have no raw events any more.
    async fn fill(&self) {
        let views = self.server().await;
        views.ingest("deleted", vec![self.event(1, 0)]).await.unwrap();
        for day in 0..9_u64 {
            for project in ["acme", "globex"] {
                let size = if project == "acme" { 1_500 } else { 30 };
                let events = (0..size).map(|n| self.event(day * 100_000 + n, n)).collect();
                views.ingest(project, events).await.unwrap();
            }
            views.run_maintenance().await.unwrap();
            self.clock.advance(DAY);
        }
        let part = FilePart { file: "log".into(), from: 0, to: Progress { bytes: 77, hash: "h77".into() } };
        views.ingest_part("acme", part, vec![self.event(1, 1)]).await.unwrap();
        views.forget("deleted").await.unwrap();
        let removed = PathGlob::parse("/p7").unwrap();
        views.forget_paths("acme", &removed, i64::MIN, false).await.unwrap();
        views.run_maintenance().await.unwrap();
        // Some views are only in the journal.
        views.ingest("acme", (0..50).map(|n| self.event(n, n + 3)).collect()).await.unwrap();
        views.close().await;
    }

    /// Events of few visitors, pages and referrers. Some are late, and some have an id.
    fn event(&self, number: u64, other: u64) -> Event {
        let pick = |from: &[&'static str], by: u64| from[(mix(number + by) % from.len() as u64) as usize];
        let agent = pick(&[FIREFOX, FIREFOX, CLAUDE, GPTBOT, "curl/8.5.0"], 1);
        let statuses = [None, Some(200), Some(200), Some(404), Some(301), Some(500)];
        let ago = match mix(number + 2) % 20 {
            0 => 5 * 86_400,
            1 => 9 * 3_600,
            n => n.cast_signed() * 997,
        };
        let address = if agent == GPTBOT {
            pick(&[OF_GPTBOT, "9.9.9.9"], 3)
        } else {
            pick(&["192.0.2.1", "192.0.2.2", "2001:db8::1"], 4)
        };
        let at = self.clock.now() - SignedDuration::from_secs(ago);
        let raw = RawEvent {
            status: statuses[(mix(number + 5) % 6) as usize],
            timestamp: Some(Timestamp::from_millisecond(at.as_millisecond() + other.cast_signed()).unwrap()),
            event_id: number.is_multiple_of(3).then(|| format!("id {number}")),
            ip: Some(address.into()),
            referrer: Some(pick(&["https://chatgpt.com/", "https://duck.example/a", ""], 6).into()),
            ..raw(&format!("/p{}", mix(number) % 60), agent)
        };
        parse_event(raw, self.clock.now()).unwrap()
    }
}

fn mix(number: u64) -> u64 {
    let mixed = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ 0x94d0_49bb_1331_11eb;
    (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

async fn check_equal(old: &SqliteViews, new: &RemoteViews, questions: u32) {
    for (project, seed) in [("acme", 1), ("globex", 2), ("deleted", 3), ("unknown", 4)] {
        let comparison = compare_reports(old, new, project, questions, seed).await.unwrap();
        assert_eq!(comparison.difference, None, "{project}");
        let asked = if ["acme", "globex"].contains(&project) { questions } else { 8 };
        assert_eq!(comparison.questions, asked, "{project}");
    }
}

async fn readers(views: &dyn Views) -> Readers {
    views.visitors("acme", &Range::default(), &ListQuery::new(0, 0)).await.unwrap().totals
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn every_report_is_the_same_after_a_move() {
    let moving = Moving::new().await;
    moving.fill().await;
    let (old, new) = moving.move_all().await;
    check_equal(&old, &new, 48).await;
    let counts = new.count("acme", &Range::default(), &ListQuery::new(250, 0)).await.unwrap();
    assert!(counts.pages.iter().any(|page| page.path == OTHER_PAGES), "the names of pages were limited");
    assert_eq!(new.progress("acme", "log").await.unwrap(), old.progress("acme", "log").await.unwrap());
    let raw_from = new.raw_from("acme").await.unwrap().unwrap();
    assert_eq!(raw_from, (moving.clock.now_ms() / 86_400_000 - 3) * 86_400_000);

    // Changes of moved days have the same results.
    let junk = PathGlob::parse("/p1*").unwrap();
    for views in [&old as &dyn Reports, &new as &dyn Reports] {
        let removed = views.forget_paths("acme", &junk, i64::MIN, false).await.unwrap();
        assert!(removed.views > 500 && removed.pages > 2, "{removed:?}");
        assert_eq!(views.reclassify("acme", i64::MIN).await.unwrap().changed, 0);
    }
    check_equal(&old, &new, 48).await;
    moving.clock.advance(DAY * 2);
    new.run_maintenance().await.unwrap();
    assert_eq!(readers(&new).await, readers(&old).await, "counted before their raw events were deleted");
}

/// The process ends after each step in turn, also between sending a part and recording that it was sent.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn an_interrupted_move_of_views_continues() {
    let moving = Moving::new().await;
    moving.fill().await;
    let source = moving.source().await;
    let (mut lives, mut is_complete) = (0, false);
    while !is_complete {
        let mut transfer = moving.transfer(&source).await;
        for _ in 0..[1, 3, 2][lives % 3] {
            is_complete = transfer.step().await.unwrap().is_none();
        }
        lives += 1;
    }
    assert!(lives > 20, "{lives}");
    let transfer = moving.transfer(&source).await;
    assert_eq!(transfer.compare_events().await.unwrap(), None);
    assert_eq!(transfer.compare_ledger().await.unwrap(), None);
    assert!(!transfer.has_other_views().await.unwrap());
    check_equal(&source, &moving.home.quiet_server(), 24).await;
}

/// One transaction could not move them all in time.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn the_progress_of_many_files_is_moved() {
    let moving = Moving::new().await;
    let views = moving.server().await;
    views.ingest("acme", vec![moving.event(1, 1)]).await.unwrap();
    views.close().await;
    let mut beside = SqliteConnectOptions::new().filename(&moving.file).connect().await.unwrap();
    let files = "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 30000)
        INSERT INTO import (project, file, bytes, hash, at) SELECT project.id, 'log ' || n, n, 'h' || n, 0 FROM n, project";
    sqlx::query(files).execute(&mut beside).await.unwrap();
    beside.close().await.unwrap();
    moving.move_all().await;
    let moved = "SELECT count(*), sum(bytes), max(hash) FROM views_imports";
    assert_eq!(moving.home.database.sql(moved), "30000|450015000|h9999");
}

/// A day that is compacted again after it was full has `(other)` in the place of a name.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn names_that_a_full_day_folded_stay_folded() {
    let moving = Moving::new().await;
    let missing = |n: u32| {
        let raw = RawEvent {
            status: Some(404),
            ip: Some(format!("198.18.{}.{}", n / 250, n % 250)),
            ..raw(&format!("/missing/{n}"), FIREFOX)
        };
        parse_event(raw, moving.clock.now()).unwrap()
    };
    let views = moving.server().await;
    views.ingest("acme", (0..10_050).map(missing).collect()).await.unwrap();
    views.run_maintenance().await.unwrap();
    views.ingest("acme", vec![missing(20_000)]).await.unwrap();
    views.run_maintenance().await.unwrap();
    views.close().await;
    let (old, new) = moving.move_all().await;
    for views in [&old as &dyn Reports, &new as &dyn Reports] {
        let query = ListQuery::new(1, 0);
        let missing = views.not_found("acme", &Range::default(), &query).await.unwrap();
        let first = &missing.pages[0];
        assert_eq!((first.path.as_str(), first.requests.human), (OTHER_NAMES, 52));
    }
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn views_that_follow_a_move_know_ids_visitors_and_files() {
    let moving = Moving::new().await;
    let visit = |id: Option<&str>| {
        let raw =
            RawEvent { ip: Some("192.0.2.7".into()), event_id: id.map(str::to_owned), ..raw("/a", FIREFOX) };
        vec![parse_event(raw, moving.clock.now()).unwrap()]
    };
    let views = moving.server().await;
    views.ingest("first", visit(None)).await.unwrap();
    views.ingest("acme", visit(Some("known"))).await.unwrap();
    let part =
        |from, to| FilePart { file: "log".into(), from, to: Progress { bytes: to, hash: to.to_string() } };
    views.ingest_part("acme", part(0, 10), visit(None)).await.unwrap();
    views.close().await;

    let (old, new) = moving.move_all().await;
    assert_eq!(new.ingest("acme", visit(Some("known"))).await.unwrap().duplicates, 1);
    assert!(new.ingest_part("acme", part(0, 10), visit(None)).await.is_err(), "the part was imported before");
    new.ingest_part("acme", part(10, 20), visit(None)).await.unwrap();
    let one = Readers { human: 1, ai: 0, total: 1 };
    assert_eq!(
        (readers(&old).await, readers(&new).await),
        (one, one),
        "the reader is known by the same salt"
    );
    // A project that is created later has a number of its own.
    new.ingest("later", visit(None)).await.unwrap();
    assert_eq!(moving.home.database.sql("SELECT count(DISTINCT id) FROM views_projects"), "3");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_difference_between_reports_is_found() {
    let moving = Moving::new().await;
    moving.fill().await;
    let (old, new) = moving.move_all().await;
    new.ingest("acme", vec![moving.event(1, 1)]).await.unwrap();
    let comparison = compare_reports(&old, &new, "acme", 200, 1).await.unwrap();
    let difference = comparison.difference.unwrap().to_string();
    assert!(difference.contains("before") && difference.contains("after"), "{difference}");
    moving.home.engine.sql("INSERT INTO views SELECT * FROM views LIMIT 1");
    let transfer = moving.transfer(&old).await;
    let difference = transfer.compare_events().await.unwrap().unwrap().to_string();
    assert!(difference.contains("the number of raw events of "), "{difference}");
}

/// Reports don't show what the ledger alone has.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn differences_in_the_ledger_are_found() {
    let moving = Moving::new().await;
    moving.fill().await;
    let (old, _) = moving.move_all().await;
    let transfer = moving.transfer(&old).await;
    assert_eq!(transfer.compare_ledger().await.unwrap(), None);
    for (change, question) in [
        (
            "DELETE FROM views_ids_a WHERE id = (SELECT id FROM views_ids_a LIMIT 1)",
            "the number of event ids of ",
        ),
        ("UPDATE views_imports SET bytes = 76", "the progress of imported files of acme"),
    ] {
        moving.home.database.sql(change);
        let difference = transfer.compare_ledger().await.unwrap().unwrap().to_string();
        assert!(difference.contains(question), "{difference}");
    }
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_project_without_reads_is_compared() {
    let moving = Moving::new().await;
    let missing = |n: u32| {
        let raw = RawEvent { status: Some(404), ..raw(&format!("/missing/{n}"), FIREFOX) };
        parse_event(raw, moving.clock.now()).unwrap()
    };
    let views = moving.server().await;
    views.ingest("acme", (0..9).map(missing).collect()).await.unwrap();
    views.close().await;
    let (old, new) = moving.move_all().await;
    let comparison = compare_reports(&old, &new, "acme", 40, 1).await.unwrap();
    assert_eq!((comparison.questions, comparison.difference), (40, None));
    new.ingest("acme", vec![missing(7)]).await.unwrap();
    let difference = compare_reports(&old, &new, "acme", 40, 1).await.unwrap().difference;
    assert!(difference.is_some(), "one more missing path");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn other_page_views_in_clickhouse_are_noticed() {
    let moving = Moving::new().await;
    moving.fill().await;
    let url = || moving.home.engine.url().parse().unwrap();
    let found = traffic::find_page_views(url(), None).await.unwrap();
    assert!(!found.has_views && found.ids.is_empty(), "{found:?}");
    let source = moving.source().await;
    assert!(!moving.transfer(&source).await.has_other_views().await.unwrap());
    let other = moving.home.quiet_server();
    other.ingest("other", vec![moving.event(1, 1)]).await.unwrap();
    other.ship().await.unwrap();
    let found = traffic::find_page_views(url(), None).await.unwrap();
    assert!(found.has_views && found.ids.len() == 1, "{found:?}");
    assert!(moving.transfer(&source).await.has_other_views().await.unwrap());
}
