//! Tests that every view counts exactly once, whatever is killed when: ids claimed = rows = distinct ids = sum of the daily
//! rollup.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use tokio::time::sleep;
use traffic::{Limits, RemoteLimits, RemoteViews, Reports, Views};

use super::Breakable;
use crate::backend::RemoteHome;
use crate::engine::EngineDatabase;
use crate::views::{CLAUDE, all, clock, view, with_id};

/// Longer than the lease of a shipment or of a project.
const LEASE_END: SignedDuration = SignedDuration::from_mins(6);

/// Polls a future so many times, and drops it then: as if its process was killed at that moment.
async fn kill_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(move |context| {
        let Some(rest) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = rest;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// Sends a batch of a visitor per id until it is acknowledged, also after a kill: the sender retries.
async fn send(views: &RemoteViews, ids: std::ops::Range<u64>) {
    let batch = ids.map(|id| with_id(&format!("/{}", id % 7), &id.to_string())).collect::<Vec<_>>();
    while views.ingest("acme", batch.clone()).await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
}

/// Compares what both databases have with the number of ids that were sent.
async fn check_exactly_once(home: &RemoteHome, views: &RemoteViews, clock: &TestClock, sent: u64) {
    clock.advance(LEASE_END);
    views.ship().await.unwrap();
    let count = |sql: &str| home.database.sql(sql).parse::<u64>().unwrap();
    let claimed = count("SELECT (SELECT count(*) FROM views_ids_a) + (SELECT count(*) FROM views_ids_b)");
    assert_eq!(claimed, sent, "claimed ids");
    assert_eq!(
        count("SELECT (SELECT count(*) FROM views_outbox) + (SELECT count(*) FROM views_shipments)"),
        0
    );
    let rows = home.engine.sql("SELECT count() FROM views WHERE kind = 0");
    let daily = home.engine.sql("SELECT sum(n) FROM views_daily");
    let hourly = home.engine.sql("SELECT sum(n) FROM views_hourly");
    let products = home.engine.sql("SELECT sum(n) FROM views_names WHERE about = 0");
    assert_eq!([rows, daily, hourly, products], [(); 4].map(|()| sent.to_string()));
    assert_eq!(all(views, "acme").await.totals.human, sent);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_shipment_that_is_killed_at_any_step_counts_once() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let (mut sent, mut finished) = (0, 0);
    for polls in 0.. {
        let killed = home.quiet_server();
        send(&killed, sent..sent + 10).await;
        sent += 10;
        if kill_after(polls, killed.ship()).await.is_some() {
            finished += 1;
        }
        drop(killed);
        let report = all(&home.quiet_server(), "acme").await;
        assert_eq!(report.totals.human, sent, "a report after {polls} polls");
        if finished == 3 {
            break;
        }
        if polls % 4 == 0 {
            clock.advance(LEASE_END);
        }
    }
    check_exactly_once(&home, &home.quiet_server(), &clock, sent).await;
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_batch_whose_server_is_killed_at_any_step_counts_once() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let mut sent = 0;
    for delay in 0..40 {
        let killed = home.quiet_server();
        let batch: Vec<_> = (sent..sent + 10).map(|id| with_id("/a", &id.to_string())).collect();
        let ingest = killed.ingest("acme", batch);
        // Drops the request, and with it the server and its transaction.
        let _ = tokio::time::timeout(Duration::from_micros(delay * 300), ingest).await;
        drop(killed);
        let views = home.quiet_server();
        let retried = (sent..sent + 10).map(|id| with_id("/a", &id.to_string())).collect();
        views.ingest("acme", retried).await.unwrap();
        sent += 10;
        assert_eq!(all(&views, "acme").await.totals.human, sent, "{delay}");
    }
    check_exactly_once(&home, &home.quiet_server(), &clock, sent).await;
}

/// A rewrite that is killed changes nothing, or all of a day.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_rewrite_that_is_killed_at_any_step_leaves_whole_days() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let views = home.quiet_server();
    let mut total = 0;
    for polls in (0..).step_by(2) {
        let mistaken = view("/a", CLAUDE).with_class(traffic::Class::Human);
        views.ingest("acme", vec![mistaken; 5]).await.unwrap();
        total += 5;
        views.ship().await.unwrap();
        let before = all(&views, "acme").await.totals;
        let done = kill_after(polls, views.reclassify("acme", 0)).await;
        let after = all(&home.quiet_server(), "acme").await.totals;
        assert_eq!(after.total(), total, "{polls} polls");
        assert!(after == before || after.human == 0, "{polls} polls: {before:?} {after:?}");
        if done.is_some() {
            break;
        }
        clock.advance(LEASE_END);
    }
    views.reclassify("acme", 0).await.unwrap();
    assert_eq!(
        home.engine.sql("SELECT sum(n) FROM views_daily"),
        total.to_string(),
        "no old generation is left"
    );
    assert_eq!(home.engine.sql("SELECT count() FROM views"), total.to_string());
}

/// Three servers that take, ship and report at the same time, while they and the engine are killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn three_servers_and_the_engine_are_killed_at_random() {
    let clock = clock();
    let mut breakable = Breakable::new(clock.clone()).await;
    let next = Arc::new(AtomicU64::new(0));
    for round in 0..4_u64 {
        let mut tasks = Vec::new();
        for server in 0..3_u64 {
            let views = breakable.home.server(Limits::default(), RemoteLimits::default());
            let next = next.clone();
            tasks.push(tokio::spawn(async move {
                for kill in 0..4_u64 {
                    let first = next.fetch_add(50, Ordering::Relaxed);
                    send(&views, first..first + 50).await;
                    // Any of them may be cut off by the engine's death.
                    let polls = ((round * 31 + server * 17 + kill * 7) % 23) as usize;
                    let _ = kill_after(polls, views.ship()).await;
                    let _ = views.live("acme").await;
                }
            }));
        }
        sleep(Duration::from_millis(100 + 130 * round)).await;
        breakable.engine.restart();
        clock.advance(LEASE_END);
        for task in tasks {
            task.await.unwrap();
        }
    }
    let sent = next.load(Ordering::Relaxed);
    assert_eq!(sent, 4 * 3 * 4 * 50);
    check_exactly_once(&breakable.home, &breakable.home.quiet_server(), &clock, sent).await;
}

/// The engine dies before and after it ran each of the next statements.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn an_engine_that_dies_at_any_statement_loses_and_doubles_nothing() {
    let clock = clock();
    let mut breakable = Breakable::new(clock.clone()).await;
    let views = breakable.home.quiet_server();
    let mut sent = 0;
    for (statement, when) in [(1, "before"), (1, "after"), (2, "before"), (2, "after")] {
        send(&views, sent..sent + 10).await;
        sent += 10;
        EngineDatabase::die(breakable.engine.port, statement, when);
        let _ = views.ship().await;
        breakable.engine.restart();
        clock.advance(LEASE_END);
        views.ship().await.unwrap();
        assert_eq!(all(&views, "acme").await.totals.human, sent, "{statement} {when}");
    }
    check_exactly_once(&breakable.home, &views, &clock, sent).await;
}
