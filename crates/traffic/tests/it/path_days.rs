//! Tests the counts of paths by day. `random.rs` compares them with a recount.

use base::Clock;
use jiff::SignedDuration;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use traffic::{
    DayCounts, Event, Limits, MAX_PATHS, PathCounts, PathDays, PathDaysQuery, Range, RawEvent, Readers,
    Reports, Tally, Views,
};

use crate::backend::{Home, every_home};
use crate::views::{CLAUDE, FIREFOX, GPTBOT, clock, event, open, raw};

every_home! {
    a_moved_page_is_missing_then_redirected,
    days_stay_exact_after_their_raw_events,
    too_many_paths_are_refused,
}

const DAY: i64 = 24 * 3_600_000;

fn request(time: &str, path: &str, agent: &str, status: u16) -> Event {
    let timestamp = Some(time.parse().unwrap());
    event(RawEvent { timestamp, status: Some(status), ip: Some("192.0.2.1".into()), ..raw(path, agent) })
}

async fn path_days(views: &dyn Reports, range: &Range, paths: &[&str], with_visitors: bool) -> PathDays {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    views.path_days("acme", range, &PathDaysQuery { paths: &paths, with_visitors }).await.unwrap()
}

fn human(human: u64) -> Tally {
    Tally { human, ai: 0 }
}

async fn a_moved_page_is_missing_then_redirected(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    let events = vec![
        request("2026-02-26T23:59:59Z", "/old", FIREFOX, 200),
        request("2026-02-27T10:00:00Z", "/old", FIREFOX, 404),
        request("2026-02-27T11:00:00Z", "/old", CLAUDE, 404),
        request("2026-02-27T12:00:00Z", "/old", GPTBOT, 404),
        request("2026-02-28T00:00:00Z", "/old", FIREFOX, 308),
        request("2026-02-28T00:00:01Z", "/new", FIREFOX, 200),
        request("2026-02-28T00:00:02Z", "/new", FIREFOX, 200),
    ];
    views.ingest("acme", events).await.unwrap();
    let at = clock().now_ms() / DAY * DAY;
    let range = Range::new(Some(at - 2 * DAY), None).unwrap();
    let report = path_days(&*views, &range, &["/old", "/never", "/new"], true).await;
    let missing =
        DayCounts { at: at - 2 * DAY, not_found: Tally { human: 1, ai: 1 }, ..DayCounts::default() };
    let moved = DayCounts { at: at - DAY, redirected: human(1), ..DayCounts::default() };
    let visitors = Readers { human: 1, ai: 0, total: 1 };
    let read = DayCounts { at: at - DAY, views: human(2), visitors, ..DayCounts::default() };
    assert_eq!(report.site, [missing, DayCounts { redirected: human(1), ..read }]);
    let of = |path: &str, days: &[DayCounts]| PathCounts { path: path.into(), days: days.to_vec() };
    assert_eq!(report.paths, [of("/old", &[missing, moved]), of("/never", &[]), of("/new", &[read])]);
}

#[tokio::test]
async fn only_visitors_are_counted_from_raw_events() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("views.db");
    let views = open(&file, &clock()).await;
    let time = "2026-02-28T10:00:00Z";
    let events = [200, 404, 301].map(|status| request(time, "/a", FIREFOX, status));
    views.ingest("acme", events.into()).await.unwrap();
    views.run_maintenance().await.unwrap();
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::query("UPDATE block SET block = x'00'").execute(&mut beside).await.unwrap();
    beside.close().await.unwrap();

    let report = path_days(&views, &Range::default(), &["/a"], false).await;
    let DayCounts { views: read, not_found, redirected, visitors, .. } = report.paths[0].days[0];
    assert_eq!(([read, not_found, redirected], visitors), ([human(1); 3], Readers::default()));
    let paths = ["/a".to_owned()];
    let query = PathDaysQuery { paths: &paths, with_visitors: true };
    views.path_days("acme", &Range::default(), &query).await.unwrap_err();
}

async fn days_stay_exact_after_their_raw_events(home: &dyn Home) {
    let views = &*home.open(Limits::default()).await;
    let (clock, sent) = (home.clock(), home.clock().now_ms());
    let time = "2026-02-28T10:00:00Z";
    let events = [200, 404, 301].map(|status| request(time, "/a", FIREFOX, status));
    views.ingest("acme", events.into()).await.unwrap();
    let before = path_days(views, &Range::default(), &["/a"], true).await;
    clock.advance(SignedDuration::from_hours(24 * 500));
    views.run_maintenance().await;
    assert!(home.raw_from("acme").await > sent, "the raw events are deleted");
    assert_eq!(path_days(views, &Range::default(), &["/a"], true).await, before);
    assert_eq!(before.paths[0].days.len(), 1);
}

async fn too_many_paths_are_refused(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    let paths = vec!["/a".to_owned(); MAX_PATHS + 1];
    let ask = async |paths| {
        let query = PathDaysQuery { paths, with_visitors: false };
        views.path_days("nobody", &Range::default(), &query).await
    };
    ask(&paths).await.unwrap_err();
    assert_eq!(ask(&paths[1..]).await.unwrap().paths.len(), MAX_PATHS);
}
