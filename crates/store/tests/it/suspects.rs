//! Suspects: jobs in whose current step two workers died. They run alone.

use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use store::{LEASE, MAX_SUSPECT_WAIT, MIN_WORKER_AGE, NewEvent, Status, Store};

use crate::deaths::{dies, find, last_words, lease, steady, suspect};
use crate::jobs::{MILLISECOND, done, job, worker};
use crate::{PostgresTest, every_backend, open_postgres, project};

every_backend! {
    a_suspect_waits_for_a_steady_worker,
    a_suspect_runs_alone_and_other_jobs_come_first_for_a_while,
    other_jobs_have_the_worker_between_two_suspects,
    a_suspect_that_is_put_off_waits_again,
    a_suspect_is_archived_at_once,
}

async fn a_suspect_waits_for_a_steady_worker(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = suspect(store, clock, &project).await;
    clock.advance(MAX_SUSPECT_WAIT);
    // Servers that are killed soon after they started do not take it.
    for n in 1..=5 {
        store.heartbeat(&worker(n)).await.unwrap();
        clock.advance(MIN_WORKER_AGE - MILLISECOND);
        assert!(lease(store, &worker(n)).await.is_none());
    }
    clock.advance(MILLISECOND);
    let lease = lease(store, &worker(5)).await.unwrap();
    assert_eq!((lease.job.id.clone(), lease.job.attempt, lease.is_given_up()), (made.id.clone(), 3, false));
    assert_eq!(last_words(store, &made).await, "started: Attempt 3 began with no other job on its worker");
}

async fn a_suspect_runs_alone_and_other_jobs_come_first_for_a_while(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let suspect = suspect(store, clock, &project).await;
    let first = job(store, &project).await;
    let busy = steady(store, clock).await;
    // An idle worker takes others first, and a busy one takes more of them.
    let running = lease(store, &busy).await.unwrap();
    assert_eq!(running.job.id, first.id);
    let second = job(store, &project).await;
    clock.advance(SignedDuration::from_secs(12));
    store.heartbeat(&busy).await.unwrap();
    assert_eq!(lease(store, &busy).await.unwrap().job.id, second.id);

    // After its wait the worker takes the suspect, which waits for the others, and then no more.
    for _ in 0..4 {
        clock.advance(SignedDuration::from_secs(12));
        store.heartbeat(&busy).await.unwrap();
    }
    let third = job(store, &project).await;
    let alone = lease(store, &busy).await.unwrap();
    assert_eq!(alone.job.id, suspect.id);
    assert!(lease(store, &busy).await.is_none());
    store.finish(&running, done(None), 0).await.unwrap();
    assert!(lease(store, &busy).await.is_none());
    assert!(store.is_suspect(&alone).await.unwrap());

    // It gets on, and others join it.
    store.set_base(&alone, "main", "ba5e").await.unwrap();
    assert!(!store.is_suspect(&alone).await.unwrap());
    assert_eq!(lease(store, &busy).await.unwrap().job.id, third.id);
    store.finish(&alone, done(None), 0).await.unwrap();
}

async fn other_jobs_have_the_worker_between_two_suspects(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let suspects = [job(store, &project).await.id, job(store, &project).await.id];
    for n in 1..=2 {
        assert!(lease(store, &worker(n)).await.is_some() && lease(store, &worker(n)).await.is_some());
        clock.advance(LEASE);
    }
    assert!(lease(store, &worker(3)).await.is_none());
    clock.advance(MAX_SUSPECT_WAIT);
    let other = job(store, &project).await;
    let busy = steady(store, clock).await;
    let first = lease(store, &busy).await.unwrap();
    assert!(suspects.contains(&first.job.id), "it has waited for long enough");
    store.finish(&first, done(None), 0).await.unwrap();
    let between = lease(store, &busy).await.unwrap();
    assert_eq!(between.job.id, other.id);
    store.finish(&between, done(None), 0).await.unwrap();
    // When nobody else waits there is nothing to wait for.
    let second = lease(store, &busy).await.unwrap();
    assert!(suspects.contains(&second.job.id) && second.job.id != first.job.id);
}

async fn a_suspect_that_is_put_off_waits_again(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let suspect = suspect(store, clock, &project).await;
    let alone = steady(store, clock).await;
    let held = lease(store, &alone).await.unwrap();
    let long = Duration::from_secs(300);
    store.put_off(&held, long, NewEvent::new("waiting", "The host is in trouble")).await.unwrap();
    clock.advance(SignedDuration::from_secs(300));
    let other = job(store, &project).await;
    store.heartbeat(&alone).await.unwrap();
    assert_eq!(lease(store, &alone).await.unwrap().job.id, other.id, "others are not held up for it");
    store.release_all(&alone).await.unwrap();
    store.archive(&project.id, &other.id).await.unwrap();
    assert_eq!(lease(store, &alone).await.unwrap().job.id, suspect.id);
}

async fn a_suspect_is_archived_at_once(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    dies(store, clock).await;
    lease(store, &worker(1)).await.unwrap();
    store.archive(&project.id, &made.id).await.unwrap();
    clock.advance(LEASE);
    assert!(lease(store, &worker(2)).await.is_none());
    assert_eq!(find(store, &made).await.status, Status::Archived);
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_worker_with_the_fewest_jobs_runs_a_suspect() {
    let kept = PostgresTest::new().await;
    let (store, clock) = (&kept.store, &*kept.clock);
    let project = project(store, "acme").await;
    let suspect = suspect(store, clock, &project).await;
    clock.advance(MAX_SUSPECT_WAIT);
    for _ in 0..3 {
        job(store, &project).await;
    }
    // Neither has been there for long, so each takes what else there is.
    let (one, two) = (worker(1), worker(2));
    let leased = [
        lease(store, &one).await.unwrap(),
        lease(store, &two).await.unwrap(),
        lease(store, &two).await.unwrap(),
    ];
    assert!(leased.iter().all(|lease| lease.job.id != suspect.id));
    clock.advance(MIN_WORKER_AGE);
    let other = job(store, &project).await;
    assert_eq!(lease(store, &two).await.unwrap().job.id, other.id, "the other has fewer jobs");
    assert_eq!(lease(store, &one).await.unwrap().job.id, suspect.id);
    let more = job(store, &project).await;
    assert!(lease(store, &one).await.is_none(), "it runs alone");
    assert_eq!(lease(store, &two).await.unwrap().job.id, more.id, "nobody else is held up");
}

/// Many who look at once, from two servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_suspect_is_leased_once_and_without_other_jobs() {
    let kept = PostgresTest::new().await;
    let other = open_postgres(&kept.database, &kept.dir, kept.clock.clone()).await.unwrap();
    let project = project(&kept.store, "acme").await;
    let suspect = suspect(&kept.store, &kept.clock, &project).await;
    for n in 0..8 {
        store::Queue::heartbeat(&kept.store, &worker(n)).await.unwrap();
    }
    kept.clock.advance(MIN_WORKER_AGE);
    let looks = (0..8).map(|n| {
        let store = if n % 2 == 0 { kept.store.clone() } else { other.clone() };
        tokio::spawn(async move { store::Queue::lease_next(&store, &worker(n)).await.unwrap() })
    });
    let mut leased = Vec::new();
    for look in looks.collect::<Vec<_>>() {
        leased.extend(look.await.unwrap());
    }
    assert_eq!(leased.iter().map(|lease| &lease.job.id).collect::<Vec<_>>(), [&suspect.id]);
    job(&kept.store, &project).await;
    assert!(lease(&kept.store, &leased[0].worker).await.is_none());
}
