//! Tests of the backend on PostgreSQL and ClickHouse: several servers, an engine that is away, passwords.

mod kills;
mod pressure;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Clock, TestClock};
use jiff::SignedDuration;
use tempfile::TempDir;
use traffic::{
    Class, Event, Failure, FilePart, IngestError, Interval, Lag, Limits, ListQuery, Progress, Range,
    RawEvent, Receipt, RemoteLimits, RemoteViews, Reports, SeriesError, Views,
};

use crate::backend::{Home, RemoteHome};
use crate::engine::{EngineDatabase, OwnServer};
use crate::views::{FIREFOX, GPTBOT, all, clock, event, page, raw, view, with_id};

/// A home whose engine a test can kill.
struct Breakable {
    home: RemoteHome,
    engine: OwnServer,
    _folder: TempDir,
}

impl Breakable {
    async fn new(clock: Arc<TestClock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = OwnServer::start(folder.path(), "");
        let home = RemoteHome::on(clock, EngineDatabase::create_on(engine.port)).await;
        Self { home, engine, _folder: folder }
    }
}

fn part(from: u64, to: u64) -> FilePart {
    FilePart { file: "log".into(), from, to: Progress { bytes: to, hash: format!("hash at {to}") } }
}

async fn readers(views: &RemoteViews) -> u64 {
    views.visitors("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap().totals.total
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn servers_share_ids_salts_imports_and_counts() {
    let home = RemoteHome::new(clock()).await;
    let (one, other) = (home.quiet_server(), home.quiet_server());
    let from = |ip: &str| event(RawEvent { ip: Some(ip.into()), ..raw("/a", FIREFOX) });
    one.ingest("acme", vec![from("192.0.2.1"), with_id("/b", "1")]).await.unwrap();
    let receipt = other.ingest("acme", vec![from("192.0.2.1"), with_id("/b", "1")]).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 2, duplicates: 1 });
    assert_eq!(readers(&one).await, 2, "both servers have the salt of the day");
    one.ship().await.unwrap();
    assert_eq!(readers(&other).await, 2);
    assert_eq!(all(&other, "acme").await.pages, [page("/a", 2, 0), page("/b", 1, 0)]);

    let send = async |views: &RemoteViews, from, to| {
        views.ingest_part("acme", part(from, to), vec![view("/log", FIREFOX)]).await
    };
    let (first, second) = tokio::join!(send(&one, 0, 10), send(&other, 0, 10));
    let refused = [first, second].into_iter().filter_map(Result::err).collect::<Vec<_>>();
    assert!(matches!(refused[..], [IngestError::UnexpectedPart(10)]), "{refused:?}");
    assert_eq!(send(&other, 10, 20).await.unwrap().accepted, 1);
    assert_eq!(one.progress("acme", "log").await.unwrap(), Some(part(10, 20).to));
    assert_eq!(one.progress("globex", "log").await.unwrap(), None);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn ids_expire_in_two_tables() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    // The migration used the real clock.
    home.database.sql("UPDATE views_ids_current SET since = 0");
    let views = home.quiet_server();
    let send = async |id: &str| views.ingest("acme", vec![with_id("/a", id)]).await.unwrap().duplicates;
    for day in 0..40 {
        // It counts again after more than seven days, whichever table has it.
        assert_eq!(send("daily").await, u64::from(day % 8 != 0), "day {day}");
        clock.advance(SignedDuration::from_hours(24));
        views.run_maintenance().await.unwrap();
    }
    let ids = || {
        home.database.sql("SELECT (SELECT count(*) FROM views_ids_a) + (SELECT count(*) FROM views_ids_b)")
    };
    assert_ne!(ids(), "0");
    for _ in 0..16 {
        clock.advance(SignedDuration::from_hours(24));
        views.run_maintenance().await.unwrap();
    }
    assert_eq!(ids(), "0", "both tables were emptied");
    assert_eq!(send("daily").await, 0);
}

/// `clock.rs` has more of the embedded backend, with the same guard.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_jump_of_the_clock_deletes_no_view_id_or_salt() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    home.database.sql("UPDATE views_ids_current SET since = 0");
    let views = home.quiet_server();
    let send = async || {
        let ip = Some("192.0.2.1".into());
        let read = event(RawEvent { event_id: Some("1".into()), ip, ..raw("/a", FIREFOX) });
        views.ingest("acme", vec![read]).await.unwrap().duplicates
    };
    let salts = || home.database.sql("SELECT count(*) FROM views_salts");
    send().await;
    views.run_maintenance().await.unwrap();
    let (raw_from, kept) = (home.raw_from("acme").await, salts());
    clock.jump(SignedDuration::from_hours(24 * 500));
    for _ in 0..3 {
        views.run_maintenance().await.unwrap();
        assert_eq!(send().await, 1, "it was sent a moment ago");
        clock.advance(SignedDuration::from_mins(10));
    }
    assert_eq!((home.raw_from("acme").await, readers(&views).await), (raw_from, 1));
    assert!(salts() >= kept);

    home.confirm_clocks();
    for _ in 0..3 {
        views.run_maintenance().await.unwrap();
        clock.advance(SignedDuration::from_hours(1));
    }
    assert!(home.raw_from("acme").await > raw_from, "the clock is right, so everything is expired");
    assert_eq!((all(&views, "acme").await.totals.human, send().await), (1, 0), "counts stay");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn views_are_taken_while_the_engine_is_away_up_to_a_bound() {
    let clock = clock();
    let mut away = Breakable::new(clock.clone()).await;
    let remote = RemoteLimits { max_waiting: 5, in_background: false };
    let views = away.home.server(Limits::default(), remote);
    views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    views.ship().await.unwrap();
    away.engine.kill();
    let began = Instant::now();
    views.ingest("acme", vec![view("/a", FIREFOX), view("/b", FIREFOX)]).await.unwrap();
    assert!(views.ship().await.unwrap_err().is_unavailable());
    let failure = views.count("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap_err();
    assert!(failure.is_unavailable(), "{failure:?}");
    let failure = views.series("acme", &Range::default(), Interval::Day, None).await.unwrap_err();
    assert!(matches!(failure, SeriesError::Failed(failure) if failure.is_unavailable()));
    assert!(began.elapsed() < Duration::from_secs(5), "a report hung");
    clock.advance(SignedDuration::from_secs(90));
    let lag = views.health().await.unwrap();
    let expected = Lag { waiting_events: 2, oldest_age: Some(Duration::from_secs(90)), engine_is_away: true };
    assert_eq!(lag, expected);
    views.ingest("acme", vec![view("/c", FIREFOX); 3]).await.unwrap();
    let refused = views.ingest("acme", vec![view("/d", FIREFOX)]).await;
    assert!(matches!(refused, Err(IngestError::Busy)), "{refused:?}");

    away.engine.restart();
    views.ship().await.unwrap();
    assert_eq!(views.health().await.unwrap(), Lag::default());
    views.ingest("acme", vec![view("/d", FIREFOX)]).await.unwrap();
    let pages = [page("/c", 3, 0), page("/a", 2, 0), page("/b", 1, 0), page("/d", 1, 0)];
    assert_eq!(all(&views, "acme").await.pages, pages);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_lost_ledger_refuses_and_does_not_hang() {
    let home = RemoteHome::new(clock()).await;
    let views = home.quiet_server();
    views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    home.database.close();
    let began = Instant::now();
    let failed = views.ingest("acme", vec![view("/a", FIREFOX)]).await;
    assert!(matches!(failed, Err(IngestError::Failed(failure)) if failure.is_unavailable()));
    let failure = views.live("acme").await.unwrap_err();
    assert!(failure.is_unavailable() && began.elapsed() < Duration::from_secs(30), "{failure:?}");
    home.database.open_again();
    assert_eq!(all(&views, "acme").await.totals.human, 1);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn the_password_is_a_header_and_in_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let engine = OwnServer::start(folder.path(), "s3cret");
    let home = RemoteHome::new(clock()).await;
    for (password, is_right) in [("s3cret", true), ("wr0ng", false)] {
        let url = format!("http://docs:{password}@127.0.0.1:{}/default", engine.port);
        let views = home.server_at(&url);
        let checked = views.check().await;
        assert_eq!(checked.is_ok(), is_right, "{checked:?}");
        if let Err(failure) = checked {
            assert!(failure.is_unavailable() && !format!("{failure:?}").contains(password), "{failure:?}");
        }
    }
}

/// ClickHouse drops equal blocks as retries, unless it is told not to.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_rewrite_keeps_equal_rows() {
    const ROWS: u64 = 2_300_000;
    let home = RemoteHome::new(clock()).await;
    let views = home.quiet_server();
    let mistaken = |class| view("/a", GPTBOT).with_class(class);
    let batch: Vec<Event> = vec![mistaken(Class::Human), mistaken(Class::AiTraining)];
    views.ingest("acme", batch).await.unwrap();
    views.ship().await.unwrap();
    home.engine.sql(&format!(
        "INSERT INTO views SELECT views.* FROM views CROSS JOIN numbers({}) AS n WHERE class = 0 SETTINGS insert_deduplicate = 0",
        ROWS - 1
    ));
    assert_eq!(all(&views, "acme").await.totals.human, ROWS);
    let done = views.reclassify("acme", 0).await.unwrap();
    assert_eq!((done.events, done.changed), (ROWS + 1, ROWS));
    assert_eq!(all(&views, "acme").await.totals.human, 0);
    assert_eq!(home.engine.sql("SELECT count() FROM views"), (ROWS + 1).to_string());
    assert_eq!(home.engine.sql("SELECT sum(n), max(class) FROM views_daily"), format!("{}\t3", ROWS + 1));
    let agents = views.agents("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap();
    assert_eq!(agents.agents[0].reads, ROWS + 1);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_deleted_project_leaves_nothing_in_either_database() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let views = home.quiet_server();
    for project in ["acme", "globex"] {
        views.ingest(project, vec![with_id("/a", "1"), view("/b", FIREFOX)]).await.unwrap();
    }
    views.ship().await.unwrap();
    views.ingest("acme", vec![with_id("/a", "2")]).await.unwrap();
    views.forget("acme").await.unwrap();
    assert_eq!(home.engine.sql("SELECT count(), uniqExact(project) FROM views"), "2\t1");
    assert_eq!(home.engine.sql("SELECT uniqExact(project) FROM views_names"), "1");
    let counted = "SELECT (SELECT count(*) FROM views_ids_a) || ' ' || (SELECT count(*) FROM views_outbox)
        || ' ' || (SELECT count(*) FROM views_days) || ' ' || (SELECT count(*) FROM views_purges)";
    assert_eq!(home.database.sql(counted), "1 0 1 1");
    clock.advance(SignedDuration::from_hours(2));
    views.run_maintenance().await.unwrap();
    assert_eq!(home.database.sql("SELECT count(*) FROM views_purges"), "0");
    assert_eq!(all(&views, "globex").await.totals.human, 2);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn another_database_is_refused() {
    #[track_caller]
    fn refused(checked: Result<(), Failure>, sentence: &str) {
        let failure = checked.unwrap_err();
        assert!(failure.is_unavailable() && format!("{failure:?}").contains(sentence), "{failure:?}");
    }
    let clock = clock();
    let (home, other) = (RemoteHome::new(clock.clone()).await, RemoteHome::new(clock).await);
    let empty = EngineDatabase::create();
    home.quiet_server().check().await.unwrap();
    other.quiet_server().check().await.unwrap();
    let mistaken = home.server_at(&other.engine.url());
    refused(mistaken.check().await, "belongs to another installation");
    // The view waits, and is in neither database.
    mistaken.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    refused(mistaken.ship().await, "belongs to another installation");
    refused(home.server_at(&empty.url()).check().await, "it was emptied, or it is another one");
    let forced = home.server_that_begins_anew(&other.engine.url());
    refused(forced.check().await, "belongs to another installation");
    assert_eq!(other.engine.sql("SELECT count() FROM views"), "0");

    let anew = home.server_that_begins_anew(&empty.url());
    assert_eq!(all(&anew, "acme").await.totals.human, 1);
    refused(home.quiet_server().check().await, "belongs to another installation");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn servers_that_ship_every_second_insert_once_a_second() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let (one, other) = (home.quiet_server(), home.quiet_server());
    let shipped = || home.engine.sql("SELECT count() FROM views");
    one.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    one.ship_if_due().await.unwrap();
    assert_eq!(shipped(), "0");
    clock.advance(SignedDuration::from_secs(1));
    other.ingest("acme", vec![view("/b", FIREFOX)]).await.unwrap();
    other.ship_if_due().await.unwrap();
    assert_eq!(shipped(), "2", "one insert has both");
    one.ingest("acme", vec![view("/c", FIREFOX)]).await.unwrap();
    one.ship_if_due().await.unwrap();
    assert_eq!(shipped(), "2");
}

/// A ledger that was restored from an older backup has not the projects that ClickHouse has.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_new_project_never_gets_the_views_of_another_one() {
    let home = RemoteHome::new(clock()).await;
    let before = home.quiet_server();
    for project in ["acme", "globex"] {
        before.ingest(project, vec![view("/private", FIREFOX)]).await.unwrap();
    }
    before.ship().await.unwrap();
    home.database.sql("DELETE FROM views_projects; ALTER SEQUENCE views_projects_id_seq RESTART");

    let restored = home.quiet_server();
    restored.check().await.unwrap();
    for project in ["initech", "umbrella"] {
        restored.ingest(project, vec![view("/public", FIREFOX)]).await.unwrap();
        assert_eq!(all(&restored, project).await.pages, [page("/public", 1, 0)]);
    }
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_binding_that_was_interrupted_continues() {
    let home = RemoteHome::new(clock()).await;
    home.quiet_server().check().await.unwrap();
    // ClickHouse got the id, and the server was killed before the ledger recorded it.
    home.database.sql("UPDATE views_engine SET is_bound = false");
    home.quiet_server().check().await.unwrap();
    // The ledger has the id, and the server was killed before ClickHouse got it.
    home.database.sql("UPDATE views_engine SET is_bound = false");
    home.engine.sql("TRUNCATE TABLE docwright_ledger");
    home.quiet_server().check().await.unwrap();
    let id = home.database.sql("SELECT id FROM views_engine WHERE is_bound");
    assert_eq!(home.engine.sql("SELECT id FROM docwright_ledger"), id);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_report_lists_the_names_with_the_most_requests_and_sums_the_others() {
    let home = RemoteHome::new(clock()).await;
    let views = home.quiet_server();
    let missing = |path: &str| event(RawEvent { status: Some(404), ..raw(path, FIREFOX) });
    views.ingest("acme", vec![missing("/zzz"); 3]).await.unwrap();
    views.ship().await.unwrap();
    home.engine.sql(
        "INSERT INTO views_names
         SELECT project, 2, day, concat('/a/', leftPad(toString(n.number), 9, '0'), '\\t'), 0, 0, 1
         FROM views_names CROSS JOIN numbers(150000) AS n WHERE about = 2",
    );
    views.ingest("acme", vec![missing("/waits")]).await.unwrap();
    let report = async |query| views.not_found("acme", &Range::default(), &query).await.unwrap();
    let top = report(ListQuery::new(3, 0)).await;
    let found: Vec<_> = top.pages.iter().map(|page| (page.path.as_str(), page.requests.human)).collect();
    // 150,004 others and the one that waits, without the 99,999 that are listed.
    assert_eq!(found, [("(other)", 50_002), ("/zzz", 3), ("/a/000000000", 1)]);
    assert_eq!((top.totals.human, top.has_more), (150_004, true));
    let totals = report(ListQuery::new(0, 0)).await;
    assert_eq!((totals.totals, totals.has_more, totals.pages.len()), (top.totals, true, 0));
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn pages_are_listed_with_the_reads_that_wait() {
    let home = RemoteHome::new(clock()).await;
    let views = home.quiet_server();
    let reads = |path: &str, times| vec![view(path, FIREFOX); times];
    for (path, times) in [("/a", 4), ("/b", 3), ("/c", 2), ("/d", 1)] {
        views.ingest("acme", reads(path, times)).await.unwrap();
    }
    views.ship().await.unwrap();
    views.ingest("acme", [reads("/d", 3), reads("/e", 2), reads("/a", 1)].concat()).await.unwrap();
    let count = async |query: ListQuery| {
        let counts = views.count("acme", &Range::default(), &query).await.unwrap();
        assert_eq!(counts.totals.human, if query.path.is_some() { 4 } else { 16 });
        (counts.pages, counts.has_more)
    };
    let all = [page("/a", 5, 0), page("/d", 4, 0), page("/b", 3, 0), page("/c", 2, 0), page("/e", 2, 0)];
    for offset in 0..5 {
        let listed = count(ListQuery::new(2, offset as u64)).await;
        let end = all.len().min(offset + 2);
        assert_eq!(listed, (all[offset..end].to_vec(), end < all.len()), "{offset}");
    }
    assert_eq!(count(ListQuery::new(u32::MAX, 0)).await, (all.to_vec(), false));
    assert_eq!(count(ListQuery::new(0, 4)).await, (vec![], true));
    let of_d = ListQuery { path: Some("/d".into()), ..ListQuery::new(9, 0) };
    assert_eq!(count(of_d).await, (vec![page("/d", 4, 0)], false));
}

/// A read on each of the last days.
fn reads_on_days(clock: &TestClock, days: i64) -> Vec<Event> {
    let at = |ago| clock.now() - SignedDuration::from_hours(24 * ago);
    let read = |ago| {
        event(RawEvent { timestamp: Some(at(ago)), ip: Some("192.0.2.1".into()), ..raw("/a", FIREFOX) })
    };
    (0..days).map(read).collect()
}

const COUNTED_DAYS: &str = "SELECT count(*) FROM views_days WHERE visitors IS NOT NULL";

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn visitors_of_many_days_are_counted_in_parts_and_stored() {
    let clock = clock();
    let mut away = Breakable::new(clock.clone()).await;
    let views = away.home.quiet_server();
    views.ingest("acme", reads_on_days(&clock, 70)).await.unwrap();
    views.ship().await.unwrap();
    // The third part is not answered: the first two stay.
    EngineDatabase::die(away.engine.port, 3, "before");
    let failure = views.visitors("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap_err();
    assert!(failure.is_unavailable(), "{failure:?}");
    assert_eq!(away.home.database.sql(COUNTED_DAYS), "62");
    away.engine.restart();
    assert_eq!(readers(&views).await, 70);
    assert_eq!(away.home.database.sql(COUNTED_DAYS), "70");
    let totals = views.visitors("acme", &Range::default(), &ListQuery::new(0, 0)).await.unwrap();
    assert_eq!((totals.totals.total, totals.pages.len(), totals.has_more), (70, 0, false));
}

/// 31 days with 15,000 long paths each are more than a part may have.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_part_that_is_too_large_is_counted_in_smaller_ones() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let views = home.quiet_server();
    views.ingest("acme", reads_on_days(&clock, 31)).await.unwrap();
    views.ship().await.unwrap();
    home.engine.sql(
        "INSERT INTO views SELECT views.* REPLACE(concat('/', leftPad(toString(n.number), 80, '0')) AS path)
         FROM views CROSS JOIN numbers(15000) AS n",
    );
    let visitors = views.visitors("acme", &Range::default(), &ListQuery::new(1, 0)).await.unwrap();
    assert_eq!((visitors.totals.total, visitors.has_more), (31, true));
    assert_eq!(visitors.pages[0].1.total, 31);
    assert_eq!(home.database.sql(COUNTED_DAYS), "31");
}

/// The names of 250 full days are 300 MB, more than an answer and more than a server remembers.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_shipment_of_many_full_days_keeps_known_names() {
    const DAYS: i64 = 250;
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let missing = |path: &str| -> Vec<Event> {
        let at = |ago| clock.now() - SignedDuration::from_hours(24 * ago);
        let request = |ago| RawEvent { timestamp: Some(at(ago)), status: Some(404), ..raw(path, FIREFOX) };
        (0..DAYS).map(|ago| event(request(ago))).collect()
    };
    let first = home.quiet_server();
    first.ingest("acme", missing("/é's")).await.unwrap();
    first.ship().await.unwrap();
    home.engine.sql(
        "INSERT INTO views_names
         SELECT project, 2, day, concat('/', leftPad(toString(n.number), 110, '0'), '\\t'), 0, 0, 1
         FROM views_names CROSS JOIN numbers(9999) AS n WHERE about = 2",
    );
    let next = home.quiet_server();
    let known = format!("/{:0>110}", 9_998);
    next.ingest("acme", [missing("/new"), missing(&known), missing("/é's")].concat()).await.unwrap();
    next.ship().await.unwrap();
    let counted = "SELECT countIf(views = 250), countIf(views = 500)
        FROM (SELECT sum(n) AS views FROM views_names GROUP BY name)";
    // 9,998 names and what was folded; the two that were known.
    assert_eq!(home.engine.sql(counted), "9999\t2");
    assert_eq!(home.engine.sql("SELECT sum(n) FROM views_names WHERE name = '(other)'"), DAYS.to_string());
}
