//! Tests that a clock jump deletes no raw views, ids and salts, and that nothing counts twice.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Clock, ClockGuard, ClockName, ClockRecord, TestClock};
use jiff::SignedDuration;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use traffic::{AddressRanges, Event, Limits, ListQuery, Range, RawEvent, SqliteViews, Views, parse_event};

use crate::views::{FIREFOX, clock, raw};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
const YEARS: SignedDuration = SignedDuration::from_hours(24 * 500);

/// Page views on a machine, with the clock record of the server.
struct Machine {
    clock: Arc<TestClock>,
    guard: Arc<ClockGuard>,
    record: ClockRecord,
    views: SqliteViews,
    file: PathBuf,
    _folder: TempDir,
}

impl Machine {
    async fn new() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
        let file = folder.path().join("views.db");
        let guard = ClockGuard::new(clock.clone());
        let record = ClockRecord::first(None, clock.now_ms());
        guard.watch(ClockName::Server, &record, guard.reading());
        let views = open(&file, &clock, &guard).await;
        Self { clock, guard, record, views, file, _folder: folder }
    }

    /// Does what the server's periodic check does.
    fn watch(&mut self) {
        let unsaved = self.guard.watch(ClockName::Server, &self.record, self.guard.reading());
        self.record = unsaved.unwrap_or(self.record);
    }

    fn confirm(&mut self) {
        let version = self.record.version + 1;
        self.record = ClockRecord { trusted: self.clock.now_ms(), version, pause: None, ..self.record };
        self.watch();
    }

    async fn restart(&mut self) {
        self.guard = ClockGuard::new(self.clock.clone());
        self.views = open(&self.file, &self.clock, &self.guard).await;
        self.views.run_maintenance().await.unwrap();
        self.watch();
    }

    /// Sends reads with these ids, dated now. Returns the number of duplicates.
    async fn send(&self, ids: &[&str]) -> u64 {
        let read =
            |id: &&str| self.event(RawEvent { event_id: Some((*id).to_owned()), ..raw("/a", FIREFOX) });
        let batch = ids.iter().map(read).collect();
        let duplicates = self.views.ingest("acme", batch).await.unwrap().duplicates;
        self.views.run_maintenance().await.unwrap();
        duplicates
    }

    fn event(&self, raw: RawEvent) -> Event {
        parse_event(RawEvent { ip: Some("192.0.2.1".into()), ..raw }, self.clock.now()).unwrap()
    }

    /// The numbers of raw views, ids and salts on disk.
    async fn stored(&self) -> (i64, i64, i64) {
        self.views.run_maintenance().await.unwrap();
        let mut beside = SqliteConnectOptions::new().filename(&self.file).connect().await.unwrap();
        let kept =
            "SELECT (SELECT coalesce(sum(events), 0) FROM block), (SELECT coalesce(sum(ids), 0) FROM seen),
            (SELECT count(*) FROM salt)";
        sqlx::query_as(kept).fetch_one(&mut beside).await.unwrap()
    }

    async fn reads(&self) -> u64 {
        self.views.count("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap().totals.human
    }

    async fn readers(&self) -> u64 {
        self.views.visitors("acme", &Range::default(), &ListQuery::new(50, 0)).await.unwrap().totals.total
    }
}

async fn open(file: &std::path::Path, clock: &Arc<TestClock>, guard: &Arc<ClockGuard>) -> SqliteViews {
    SqliteViews::open_guarded(file, clock.clone(), Limits::default(), guard.clone(), AddressRanges::shipped())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_jump_ahead_deletes_no_view_id_or_salt() {
    let mut machine = Machine::new().await;
    machine.send(&["1", "2"]).await;
    machine.clock.jump(YEARS);
    assert_eq!(machine.stored().await, (2, 2, 4), "today's salts and those of what the clock calls today");
    assert_eq!(machine.send(&["1", "2"]).await, 2, "they were sent a moment ago");
    assert_eq!(machine.reads().await, 2);
    machine.watch();
    machine.clock.advance(DAY - HOUR);
    machine.watch();
    assert_eq!((machine.send(&["1"]).await, machine.stored().await.0), (1, 2));

    machine.confirm();
    assert_eq!(machine.stored().await, (0, 0, 2), "the clock is right, so everything is expired");
    assert_eq!((machine.reads().await, machine.send(&["1"]).await), (2, 0), "counts stay");
}

#[tokio::test]
async fn a_steady_day_ends_the_pause_also_across_restarts() {
    let mut machine = Machine::new().await;
    machine.send(&["1"]).await;
    machine.clock.jump(YEARS);
    machine.watch();
    machine.clock.advance(HOUR * 12);
    machine.watch();
    machine.restart().await;
    assert_eq!((machine.send(&["1"]).await, machine.stored().await.0), (1, 1));
    machine.clock.advance(HOUR * 11);
    machine.restart().await;
    assert_eq!(machine.stored().await.0, 1, "the machine was off for these");
    machine.clock.advance(HOUR * 12);
    machine.watch();
    assert_eq!(machine.stored().await.0, 0);
}

#[tokio::test]
async fn a_corrected_clock_has_deleted_nothing() {
    let mut machine = Machine::new().await;
    machine.send(&["1"]).await;
    machine.clock.jump(YEARS);
    machine.restart().await;
    assert_eq!(machine.send(&["1", "2"]).await, 1);
    machine.clock.jump(-YEARS);
    machine.watch();
    assert_eq!(machine.send(&["1", "2", "3"]).await, 2);
    let (views, ids, salts) = machine.stored().await;
    assert_eq!((views, ids, salts), (3, 3, 2), "salts of days that never were are gone");
    assert_eq!((machine.reads().await, machine.readers().await), (3, 2), "one today, one 500 days from now");
}

#[tokio::test]
async fn a_reader_counts_once_per_day_across_a_jump() {
    let machine = Machine::new().await;
    let morning =
        || RawEvent { timestamp: Some("2026-03-01T09:00:00Z".parse().unwrap()), ..raw("/a", FIREFOX) };
    machine.views.ingest("acme", vec![machine.event(morning())]).await.unwrap();
    machine.clock.jump(YEARS);
    machine.views.ingest("acme", vec![machine.event(morning())]).await.unwrap();
    assert_eq!((machine.reads().await, machine.readers().await), (2, 1));
}

#[tokio::test]
async fn a_jump_back_deletes_nothing_and_counts_nothing_twice() {
    let mut machine = Machine::new().await;
    machine.send(&["1"]).await;
    machine.clock.jump(-YEARS);
    machine.watch();
    assert_eq!(machine.send(&["1", "2"]).await, 1);
    machine.restart().await;
    assert_eq!(machine.send(&["1", "2", "3"]).await, 2);
    assert_eq!(machine.stored().await.2, 4, "the salts of the real day are still there");
    // After the correction, ids that were dated by the wrong clock are not expired.
    machine.clock.jump(YEARS);
    machine.watch();
    assert!(!machine.guard.is_paused());
    assert_eq!(machine.send(&["1", "2", "3"]).await, 3);
    assert_eq!(machine.reads().await, 3);
    machine.restart().await;
    assert_eq!(machine.send(&["1", "2", "3"]).await, 3);
    machine.clock.advance(DAY * 7);
    machine.watch();
    assert_eq!(machine.send(&["1", "2", "3"]).await, 3, "they count as of when the clock was right again");
    machine.clock.advance(SignedDuration::from_millis(1));
    assert_eq!(machine.send(&["1", "2", "3"]).await, 0, "seven days are over");
}

#[tokio::test]
async fn a_downtime_of_more_than_a_week_deletes_nothing_at_first() {
    let mut machine = Machine::new().await;
    machine.send(&["1"]).await;
    machine.clock.advance(DAY * 6);
    machine.restart().await;
    assert!(!machine.guard.is_paused());
    machine.clock.advance(DAY * 10);
    machine.restart().await;
    assert!(machine.guard.is_paused());
    assert_eq!(machine.send(&["1"]).await, 1);
    machine.confirm();
    assert_eq!(machine.send(&["1"]).await, 0);
}

#[tokio::test]
async fn a_view_dated_tomorrow_deletes_nothing() {
    let machine = Machine::new().await;
    machine.send(&["1"]).await;
    let tomorrow = machine.clock.now().checked_add(HOUR * 23).unwrap();
    let view = machine.event(RawEvent { timestamp: Some(tomorrow), ..raw("/a", FIREFOX) });
    machine.views.ingest("acme", vec![view]).await.unwrap();
    assert_eq!((machine.stored().await, machine.send(&["1"]).await), ((2, 1, 2), 1));
}

#[tokio::test]
async fn the_newest_timestamp_is_that_of_a_view() {
    let machine = Machine::new().await;
    assert_eq!(machine.views.newest().await.unwrap(), None);
    machine.views.ingest("acme", vec![machine.event(raw("/a", FIREFOX))]).await.unwrap();
    assert_eq!(machine.views.newest().await.unwrap(), Some(machine.clock.now_ms()));
    machine.views.run_maintenance().await.unwrap();
    assert_eq!(machine.views.newest().await.unwrap(), Some(machine.clock.now_ms()));
}
