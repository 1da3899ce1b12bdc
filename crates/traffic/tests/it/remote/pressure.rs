//! Tests that shipments, reports, and maintenance end while views arrive all the time, a backup runs, or the engine is slow
//! or silent.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Clock;
use jiff::SignedDuration;
use sqlx::{ConnectOptions, Connection, postgres::PgConnectOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use traffic::{
    Event, Limits, ListQuery, PathGlob, Range, RawEvent, RemoteLimits, RemoteViews, Reports, Views,
};

use super::reads_on_days;
use crate::backend::RemoteHome;
use crate::views::{FIREFOX, all, clock, event, page, raw, view, with_id};

/// Far longer than anything here takes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A way to the engine that can be slow or silent. Returns its port.
async fn way_to(port: u16, delay: Duration, is_silent: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let is_silent = is_silent.clone();
            tokio::spawn(async move {
                sleep(delay).await;
                let mut engine = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut stream, &mut engine) => {}
                    // The connection stays open.
                    () = until(&is_silent, true) => until(&is_silent, false).await,
                }
            });
        }
    });
    local
}

/// A way to the engine on which requests wait while `is_held`. `arrived` becomes true with the first of them. Returns its
/// port.
async fn held_way_to(port: u16, is_held: Arc<AtomicBool>, arrived: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (is_held, arrived) = (is_held.clone(), arrived.clone());
            tokio::spawn(async move {
                let engine = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let (mut requests, mut to_client) = client.into_split();
                let (mut answers, mut to_engine) = engine.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut answers, &mut to_client).await });
                let mut part = vec![0; 1 << 16];
                while let Ok(read @ 1..) = requests.read(&mut part).await {
                    while is_held.load(Ordering::Relaxed) {
                        arrived.store(true, Ordering::Relaxed);
                        sleep(Duration::from_millis(5)).await;
                    }
                    to_engine.write_all(&part[..read]).await.unwrap();
                }
            });
        }
    });
    local
}

/// What a report counted that began before `meanwhile` and ended after it, and what it counts then.
async fn visitors_around(home: &RemoteHome, meanwhile: impl AsyncFnOnce()) -> [u64; 2] {
    let (is_held, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let slow = home.server_through(held_way_to(home.engine.port, is_held.clone(), arrived.clone()).await);
    // So that the tables are known to be there.
    all(&slow, "acme").await;
    is_held.store(true, Ordering::Relaxed);
    let ask = async || {
        let counted = slow.visitors("acme", &Range::default(), &ListQuery::new(9, 0)).await;
        counted.unwrap().totals.total
    };
    let happens = async {
        until(&arrived, true).await;
        meanwhile().await;
        is_held.store(false, Ordering::Relaxed);
    };
    let (first, ()) = tokio::join!(ask(), happens);
    [first, ask().await]
}

async fn until(flag: &AtomicBool, value: bool) {
    while flag.load(Ordering::Relaxed) != value {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Sends views of the project, and ships them at once, until it is dropped.
async fn send_and_ship(views: &RemoteViews) -> ! {
    loop {
        views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
        views.ship().await.unwrap();
    }
}

async fn send(views: &RemoteViews) -> ! {
    loop {
        views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    }
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_shipment_ends_while_views_arrive() {
    let home = RemoteHome::new(clock()).await;
    let (one, other) = (home.quiet_server(), home.quiet_server());
    one.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    tokio::select! {
        () = async { send(&one).await } => {}
        done = timeout(ANSWER_TIMEOUT, other.run_maintenance()) => done.unwrap().unwrap(),
    }
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_slow_report_ends_while_views_are_shipped() {
    let home = RemoteHome::new(clock()).await;
    let port = way_to(home.engine.port, Duration::from_millis(300), Arc::default()).await;
    let (fast, slow) = (home.quiet_server(), home.server_through(port));
    fast.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    fast.ship().await.unwrap();
    tokio::select! {
        () = async { send_and_ship(&fast).await } => {}
        counted = timeout(ANSWER_TIMEOUT, all(&slow, "acme")) => assert!(counted.unwrap().totals.human > 0),
    }
    // The project is shipped again.
    fast.ship().await.unwrap();
    assert_eq!(home.database.sql("SELECT count(*) FROM views_outbox WHERE shipment IS NULL"), "0");
}

/// A report of many days reads the later ones only after it counted the first ones.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_day_that_is_rewritten_during_a_report_is_counted_again() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let views = home.quiet_server();
    let other =
        RawEvent { timestamp: Some(clock.now()), ip: Some("192.0.2.9".into()), ..raw("/gone", FIREFOX) };
    views.ingest("acme", [reads_on_days(&clock, 70), vec![event(other)]].concat()).await.unwrap();
    views.ship().await.unwrap();
    let counted = visitors_around(&home, async || {
        let gone = PathGlob::parse("/gone").unwrap();
        let removed = views.forget_paths("acme", &gone, i64::MIN, false).await.unwrap();
        assert_eq!(removed.views, 1);
    });
    assert_eq!(counted.await, [70, 70]);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_day_whose_raw_events_are_deleted_during_a_report_keeps_its_visitors() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    let limits = Limits { raw_days: 3, ..Limits::default() };
    let views = home.server(limits, RemoteLimits { in_background: false, ..RemoteLimits::default() });
    views.ingest("acme", reads_on_days(&clock, 10)).await.unwrap();
    views.ship().await.unwrap();
    let counted = visitors_around(&home, async || {
        views.run_maintenance().await.unwrap();
        assert_eq!(home.engine.sql("SELECT count() FROM views"), "4");
    });
    assert_eq!(counted.await, [10, 10]);
}

/// So many visitors that a report cannot ask about those that wait: they are shipped first.
#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_report_ends_while_many_visitors_arrive() {
    let home = RemoteHome::new(clock()).await;
    let one = home.quiet_server();
    let batch: Vec<Event> = (0..5_100)
        .map(|number: u32| {
            let ip = Ipv4Addr::from_bits((10 << 24) + number).to_string();
            event(RawEvent { ip: Some(ip), ..raw("/a", FIREFOX) })
        })
        .collect();
    one.ingest("acme", batch.clone()).await.unwrap();
    let (is_held, arrived) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let other = home.server_through(held_way_to(home.engine.port, is_held.clone(), arrived.clone()).await);
    // More arrive whenever it ships, until it keeps the project from being shipped by others.
    let arriving = async {
        while home.database.sql("SELECT lease FROM views_projects").is_empty() {
            one.ingest("acme", batch.clone()).await.unwrap();
            arrived.store(false, Ordering::Relaxed);
            is_held.store(false, Ordering::Relaxed);
            sleep(Duration::from_millis(30)).await;
            is_held.store(true, Ordering::Relaxed);
            until(&arrived, true).await;
        }
        is_held.store(false, Ordering::Relaxed);
    };
    let ask =
        async { other.visitors("acme", &Range::default(), &ListQuery::new(0, 0)).await.unwrap().totals };
    let (counted, ()) = timeout(ANSWER_TIMEOUT, async { tokio::join!(ask, arriving) }).await.unwrap();
    assert_eq!(counted.total, 5_100);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn reports_fail_soon_while_the_engine_is_silent() {
    let home = RemoteHome::new(clock()).await;
    let is_silent = Arc::new(AtomicBool::new(false));
    let port = way_to(home.engine.port, Duration::ZERO, is_silent.clone()).await;
    let views = home.server_through(port);
    views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    assert_eq!(all(&views, "acme").await.pages, [page("/a", 1, 0)]);
    is_silent.store(true, Ordering::Relaxed);
    // The first request waits until it is clear that there is no answer.
    assert!(views.health().await.unwrap().engine_is_away);
    let count = || async { views.count("acme", &Range::default(), &ListQuery::new(9, 0)).await };
    let refused = timeout(Duration::from_secs(5), count()).await.unwrap().unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    is_silent.store(false, Ordering::Relaxed);
    assert_eq!(count().await.unwrap().pages, [page("/a", 1, 0)]);
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn a_backup_of_the_ids_delays_no_views() {
    let clock = clock();
    let home = RemoteHome::new(clock.clone()).await;
    home.database.sql("UPDATE views_ids_current SET since = 0");
    let views = home.quiet_server();
    views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
    clock.advance(SignedDuration::from_hours(24 * 8));
    let options: PgConnectOptions = home.database.url().parse().unwrap();
    let mut backup = options.connect().await.unwrap();
    let mut reading = backup.begin().await.unwrap();
    sqlx::query("LOCK TABLE views_ids_a, views_ids_b IN ACCESS SHARE MODE")
        .execute(&mut *reading)
        .await
        .unwrap();
    let current = || home.database.sql("SELECT is_b FROM views_ids_current");

    timeout(Duration::from_secs(5), views.run_maintenance()).await.unwrap().unwrap();
    assert_eq!(current(), "f", "the tables take turns later");
    views.ingest("acme", vec![with_id("/a", "2")]).await.unwrap();
    reading.rollback().await.unwrap();
    views.run_maintenance().await.unwrap();
    assert_eq!(current(), "t");
}
