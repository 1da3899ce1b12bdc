//! Tests that shipments, reports, and maintenance end while views arrive all the time, a backup runs, or the engine is slow
//! or silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use sqlx::{ConnectOptions, Connection, postgres::PgConnectOptions};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use traffic::{ListQuery, Range, RemoteViews, Views};

use crate::backend::RemoteHome;
use crate::views::{FIREFOX, all, clock, page, view, with_id};

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
