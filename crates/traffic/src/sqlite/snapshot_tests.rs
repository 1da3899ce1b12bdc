//! Tests that reports are the same while the disk takes no writes.

use std::path::Path;
use std::sync::Arc;

use base::{Clock, TestClock};
use futures_util::FutureExt;
use jiff::SignedDuration;

use crate::event::{Event, RawEvent, parse_event};
use crate::limits::Limits;
use crate::views::{Failure, Views};
use crate::{Interval, ListQuery, Range, Reports, SqliteViews};

const HOUR: i64 = 3_600_000;
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const CLAUDE: &str = "Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)";

/// A deterministic pseudorandom generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one_of(&mut self, texts: &[&str]) -> Option<String> {
        texts.get(self.roll(texts.len() as u64 + 1) as usize).map(|text| (*text).to_owned())
    }

    fn event(&mut self, clock: &TestClock) -> Event {
        let ago = SignedDuration::from_millis((self.roll(6 * 24) as i64 - 2) * HOUR + self.roll(2) as i64);
        let raw = RawEvent {
            path: Some(format!("/p{}", self.roll(5))),
            timestamp: Some(clock.now() - ago),
            user_agent: self.one_of(&[FIREFOX, FIREFOX, CLAUDE, "curl/8.5.0"]),
            status: [Some(200), None, Some(404)][self.roll(3) as usize],
            ip: self.one_of(&["192.0.2.1", "192.0.2.2", "192.0.2.3"]),
            referrer: self.one_of(&[
                "https://chatgpt.com/",
                "https://duck.example/a",
                "https://duck.example/b",
            ]),
            event_id: (self.roll(2) == 0).then(|| self.roll(50).to_string()),
            ..RawEvent::default()
        };
        parse_event(raw, clock.now()).unwrap()
    }

    fn events(&mut self, clock: &TestClock) -> Vec<Event> {
        (0..=self.roll(40)).map(|_| self.event(clock)).collect()
    }
}

async fn open(path: &Path, clock: &Arc<TestClock>) -> SqliteViews {
    let limits = Limits { raw_days: 3, ..Limits::default() };
    SqliteViews::open_with(path, clock.clone(), limits).await.unwrap()
}

/// Makes every later write fail, as on a read-only disk.
async fn make_read_only(views: &SqliteViews) {
    let close = views.database.write(|connection| {
        async {
            Ok::<_, Failure>(sqlx::raw_sql("PRAGMA query_only = on").execute(connection).await.map(drop)?)
        }
        .boxed()
    });
    close.await.unwrap();
}

async fn reports(views: &SqliteViews, clock: &TestClock) -> Vec<String> {
    let now = clock.now_ms();
    let ranges = [(None, None), (Some(now - 60 * HOUR), None), (Some(now - 30 * HOUR - 1), Some(now - HOUR))];
    let mut all = vec![format!("{:?}", views.live("acme").await.unwrap())];
    for (from, to) in ranges {
        let (range, query) = (Range::new(from, to).unwrap(), ListQuery::new(50, 0));
        all.push(format!("{:?}", views.agents("acme", &range, &query).await.unwrap()));
        all.push(format!("{:?}", views.referrers("acme", &range, &query).await.unwrap()));
        all.push(format!("{:?}", views.not_found("acme", &range, &query).await.unwrap()));
        all.push(format!("{:?}", views.visitors("acme", &range, &query).await.unwrap()));
        all.push(format!("{:?}", views.visitors("acme", &range, &ListQuery::new(0, 0)).await.unwrap()));
        all.push(format!("{:?}", views.count("acme", &range, &query).await.unwrap()));
        all.push(format!("{:?}", views.series("acme", &range, Interval::Hour, None).await.unwrap()));
    }
    all
}

#[tokio::test]
async fn reports_are_the_same_while_the_disk_takes_no_writes() {
    for seed in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("views.db");
        let clock = Arc::new(TestClock::at("2026-03-10T12:00:00Z".parse().unwrap()));
        let (views, mut dice) = (open(&path, &clock).await, Dice(seed));
        for _ in 0..5 {
            views.ingest("acme", dice.events(&clock)).await.unwrap();
            if dice.roll(2) == 0 {
                views.run_maintenance().await.unwrap();
            }
            if dice.roll(3) == 0 {
                views.visitors("acme", &Range::default(), &ListQuery::new(5, 0)).await.unwrap();
            }
            clock.advance(SignedDuration::from_hours(dice.roll(30) as i64));
        }
        // In half of the cases the journal is not empty; in the others, counts of visitors may be stale.
        if dice.roll(2) == 0 {
            views.ingest("acme", dice.events(&clock)).await.unwrap();
        } else {
            views.run_maintenance().await.unwrap();
        }
        make_read_only(&views).await;
        assert!(views.ingest("acme", dice.events(&clock)).await.is_err(), "the write succeeded");
        let read_only = reports(&views, &clock).await;
        assert_eq!(read_only, reports(&open(&path, &clock).await, &clock).await, "seed {seed}");
    }
}
