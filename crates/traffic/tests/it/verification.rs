//! Tests that agents are verified by their address at intake. `random.rs` compares the counts with a recount.

use std::path::Path;

use base::{Clock, ClockGuard};
use jiff::SignedDuration;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use traffic::{AddressRanges, Class, Event, Limits, ListQuery, Range, RawEvent, Reports, SqliteViews, Views};

use crate::backend::{Home, every_home};
use crate::views::{CLAUDE, FIREFOX, GPTBOT, clock, event, raw};

every_home! { verifications_outlive_addresses_and_raw_events }

/// Addresses that OpenAI publishes for GPTBot, and that it does not.
const PUBLISHED: &str = "132.196.86.9";
const ELSEWHERE: &str = "9.9.9.9";

fn from(ip: &str, agent: &str, path: &str) -> Event {
    event(RawEvent { ip: Some(ip.into()), ..raw(path, agent) })
}

/// Reads of GPTBot: all, verified, claimed and unknown.
async fn gptbot(views: &dyn Reports) -> [u64; 4] {
    let report = views.agents("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap();
    let agent = report.agents.into_iter().find(|agent| agent.product == "GPTBot").unwrap();
    [agent.reads, agent.verified, agent.claimed, agent.unknown()]
}

async fn verifications_outlive_addresses_and_raw_events(home: &dyn Home) {
    let views = &*home.open(Limits::default()).await;
    let (clock, sent) = (home.clock(), home.clock().now_ms());
    let events = vec![
        from(PUBLISHED, GPTBOT, "/a"),
        from(PUBLISHED, GPTBOT, "/b").with_class(Class::Bot),
        from(ELSEWHERE, GPTBOT, "/a"),
        from("10.0.0.1", GPTBOT, "/a"),
        event(raw("/a", GPTBOT)),
        from(PUBLISHED, FIREFOX, "/a"),
        from(PUBLISHED, GPTBOT, "/logo.png"),
    ];
    views.ingest("acme", events).await.unwrap();
    assert_eq!(gptbot(views).await, [4, 1, 1, 2], "the first of two classes");
    assert_eq!(views.reclassify("acme", 0).await.unwrap().changed, 1);
    assert_eq!(gptbot(views).await, [5, 2, 1, 2], "reclassify keeps what the address said");
    clock.advance(SignedDuration::from_hours(24 * 500));
    views.run_maintenance().await;
    assert!(home.raw_from("acme").await > sent, "the raw events are deleted");
    assert_eq!(gptbot(views).await, [5, 2, 1, 2]);
}

async fn block_bytes(file: &Path, ranges: AddressRanges) -> i64 {
    let clock = clock();
    let guard = ClockGuard::trusting(clock.clone());
    let views = SqliteViews::open_guarded(file, clock, Limits::default(), guard, ranges).await.unwrap();
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for _ in 0..8 {
        let any = |next: &mut dyn FnMut(u64) -> u64| {
            let agent = [FIREFOX, FIREFOX, FIREFOX, CLAUDE, GPTBOT][next(5) as usize];
            let someone = format!("8.8.{}.{}", next(256), next(256));
            let ip = match agent {
                GPTBOT => [PUBLISHED, PUBLISHED, ELSEWHERE][next(3) as usize],
                _ => &someone,
            };
            let ago = SignedDuration::from_millis(next(3_600_000) as i64);
            let timestamp = Some("2026-03-01T11:00:00Z".parse::<jiff::Timestamp>().unwrap() - ago);
            let path = format!("/guides/{}", next(40) * next(40));
            event(RawEvent { timestamp, ip: Some(ip.into()), status: Some(200), ..raw(&path, agent) })
        };
        views.ingest("acme", (0..5_000).map(|_| any(&mut next)).collect()).await.unwrap();
    }
    views.run_maintenance().await.unwrap();
    let mut beside = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    sqlx::query_scalar("SELECT SUM(LENGTH(block)) FROM block").fetch_one(&mut beside).await.unwrap()
}

/// A fifth of the reads are verified or claimed.
#[tokio::test]
async fn verifications_take_few_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let without = block_bytes(&folder.path().join("without.db"), AddressRanges::default()).await;
    let with = block_bytes(&folder.path().join("with.db"), AddressRanges::shipped()).await;
    assert!(with > without && with * 100 < without * 103, "{without} bytes without, {with} bytes with");
    println!("{without} bytes without, {with} bytes with, of 40,000 views");
}
