//! Races of an archive with other writes to a job: in any order, the job ends archived and its events have no gaps.

use base::TestClock;
use store::{Archived, Job, Lease, Receipt, Status, Store};
use tokio::join;

use crate::follow_ups::{change, follow_up, leased};
use crate::jobs::{done, job, worker};
use crate::{every_backend, project};

every_backend! {
    an_archive_beside_an_end_and_a_follow_up,
    an_archive_beside_a_take_up,
    two_archives_at_once,
}

const ROUNDS: usize = 20;

/// Asks until it is done, as the request does.
async fn archive(store: &dyn Store, job: &Job) -> Job {
    loop {
        match store.archive(&job.project, &job.id).await.unwrap().unwrap() {
            Archived::Done(job) => return *job,
            Archived::Waiting => tokio::task::yield_now().await,
        }
    }
}

/// As a worker does: what is refused, or has to go on, is given back.
async fn end(store: &dyn Store, lease: &Lease) {
    match store.finish(lease, done(Some("https://x/pulls/1")), 0).await {
        Ok(None) => {}
        Ok(Some(next)) => drop(store.release(&next).await),
        Err(_) => drop(store.release(lease).await),
    }
}

async fn check_story(store: &dyn Store, job: &Job) {
    let after = store.find(&job.project, &job.id).await.unwrap().unwrap();
    assert_eq!(after.status, Status::Archived);
    let events = store.events(&job.project, &job.id, 0).await.unwrap().unwrap();
    assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64));
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "archived").count(), 1, "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"archived"), "nothing comes after it: {kinds:?}");
}

async fn an_archive_beside_an_end_and_a_follow_up(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    for round in 0..ROUNDS {
        let made = job(store, &project).await;
        let lease = leased(store).await;
        store.set_change(&lease, &change(), 0).await.unwrap();
        let told = async {
            // Each of them is first in some of the rounds.
            for _ in 0..round % 5 {
                tokio::task::yield_now().await;
            }
            follow_up(store, &made, "More").await
        };
        let (archived, (), told) = join!(archive(store, &made), end(store, &lease), told);
        assert!(matches!(told, Receipt::Done { .. } | Receipt::Refused(_)), "{told:?}");
        check_story(store, &made).await;
        // Either its pull request is known, or it is looked for.
        let sweep = store.next_sweep().await.unwrap();
        assert_eq!(archived.pr_link.is_none(), sweep.is_some(), "round {round}");
        if let Some(sweep) = sweep {
            store.finish_sweep(&sweep, None, None).await.unwrap();
        }
    }
}

async fn an_archive_beside_a_take_up(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    for _ in 0..ROUNDS {
        let made = job(store, &project).await;
        leased(store).await; // and dies
        clock.advance(store::LEASE);
        let take_up = async {
            if let Some(lease) = store.lease_next(&worker(2)).await.unwrap() {
                drop(store.set_base(&lease, "main", "ba5e").await);
                drop(store.release(&lease).await);
            }
        };
        join!(archive(store, &made), take_up);
        check_story(store, &made).await;
        assert!(store.lease_next(&worker(2)).await.unwrap().is_none());
    }
}

async fn two_archives_at_once(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    for _ in 0..ROUNDS {
        let made = job(store, &project).await;
        let lease = leased(store).await;
        let letting_go = async {
            while store.jobs_to_stop(&worker(1)).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            store.release(&lease).await.unwrap();
        };
        let (one, two, ()) = join!(archive(store, &made), archive(store, &made), letting_go);
        assert_eq!(one.archived_at, two.archived_at);
        check_story(store, &made).await;
    }
}
