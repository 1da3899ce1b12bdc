//! Deaths of workers: a job that kills its workers is given up, and other jobs of those workers are not.

mod sharing;

use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use serde_json::json;
use store::{
    Activity, Change, Job, LEASE, Lease, MAX_LOOKUP_DEATHS, MAX_SUSPECT_WAIT, MIN_WORKER_AGE, NewEvent, Note,
    Project, Status, Store, Tokens, WorkerId,
};

use crate::follow_ups::{change, follow_up};
use crate::jobs::{done, job, worker};
use crate::{SqliteTest, every_backend, project};
use sharing::*;

every_backend! {
    a_job_is_given_up_after_three_deaths_and_its_neighbors_are_not,
    a_job_that_waits_for_its_turn_is_no_suspect,
    a_suspect_that_survives_a_call_without_an_answer_is_none,
    a_suspect_that_shares_its_worker_counts_its_deaths,
    a_suspect_is_not_given_up_for_the_first_death_beside_another_job,
    progress_resets_the_count_of_deaths,
    a_replay_is_not_progress,
    a_released_job_counts_no_death,
    a_worker_that_leases_is_not_dead,
    a_step_that_takes_longer_than_workers_live_does_not_fail,
    a_follow_up_starts_without_deaths,
    a_job_that_is_given_up_is_leased_to_search_for_its_pull_request,
    a_job_that_is_given_up_without_a_change_fails_at_once,
    a_follow_up_that_is_given_up_names_the_known_pull_request,
}

pub(crate) async fn lease(store: &dyn Store, worker: &WorkerId) -> Option<Lease> {
    store.lease_next(worker).await.unwrap()
}

pub(crate) async fn find(store: &dyn Store, job: &Job) -> Job {
    store.find(&job.project, &job.id).await.unwrap().unwrap()
}

/// Leases a job to a new worker, which then dies.
pub(crate) async fn dies(store: &dyn Store, clock: &TestClock) -> Lease {
    let lease = lease(store, &WorkerId::random()).await.expect("no job, or a suspect");
    clock.advance(LEASE);
    lease
}

/// Starts a suspect. It waited until its worker's other jobs did.
pub(crate) async fn start_alone(store: &dyn Store, lease: &Lease) {
    assert!(lease.is_suspect());
    store.note(lease, vec![Note::Activity(Activity::Working)]).await.unwrap();
}

/// Leases a suspect, and starts it. Then its worker dies.
async fn dies_alone(store: &dyn Store, clock: &TestClock) -> Lease {
    let alone = steady(store, clock).await;
    let lease = lease(store, &alone).await.unwrap();
    start_alone(store, &lease).await;
    clock.advance(LEASE);
    lease
}

/// A worker that has been alive for long enough.
pub(crate) async fn steady(store: &dyn Store, clock: &TestClock) -> WorkerId {
    let worker = WorkerId::random();
    store.heartbeat(&worker).await.unwrap();
    clock.advance(MIN_WORKER_AGE);
    worker
}

/// A job in whose first step two workers died.
pub(crate) async fn suspect(store: &dyn Store, clock: &TestClock, project: &Project) -> Job {
    let made = job(store, project).await;
    for _ in 0..2 {
        assert_eq!(dies(store, clock).await.job.id, made.id);
    }
    assert!(lease(store, &WorkerId::random()).await.is_none(), "two deaths make a suspect");
    made
}

pub(crate) async fn last_words(store: &dyn Store, job: &Job) -> String {
    let last = store.events(&job.project, &job.id, 0).await.unwrap().unwrap().pop().unwrap();
    format!("{}: {}", last.kind, last.data["message"].as_str().unwrap())
}

async fn a_job_is_given_up_after_three_deaths_and_its_neighbors_are_not(
    store: &dyn Store,
    clock: &TestClock,
) {
    let project = project(store, "acme").await;
    let killer = job(store, &project).await;
    let neighbors = [job(store, &project).await, job(store, &project).await];
    for n in 1..=2 {
        for _ in 0..3 {
            assert_eq!(lease(store, &worker(n)).await.unwrap().job.attempt, u32::from(n));
        }
        clock.advance(LEASE);
    }
    assert!(lease(store, &worker(9)).await.is_none());
    assert!(last_words(store, &killer).await.starts_with("waiting: Waiting for a worker with no other job"));
    // Each runs alone, in whatever order; the killer dies in it, the others get on.
    let (mut deaths, mut alone) = (2, steady(store, clock).await);
    while let Some(lease) = lease(store, &alone).await {
        assert!(store.lease_next(&alone).await.unwrap().is_none(), "a suspect runs alone");
        if lease.job.id == killer.id {
            deaths += 1;
            start_alone(store, &lease).await;
            clock.advance(LEASE);
            alone = steady(store, clock).await;
        } else {
            store.finish(&lease, done(None), 0).await.unwrap();
        }
    }
    assert_eq!(deaths, 3);
    assert_eq!(find(store, &killer).await.status, Status::Failed);
    assert_eq!(
        last_words(store, &killer).await,
        "ended: The job was given up: its worker stopped 3 times in the same step, the last time with no other \
         job on it. Look in the server's log for the cause, then create a new job"
    );
    for neighbor in neighbors {
        assert_eq!(find(store, &neighbor).await.status, Status::Completed);
    }
}

async fn a_job_that_waits_for_its_turn_is_no_suspect(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let doing = |activity| vec![Note::Activity(activity)];
    for attempt in 1..=5 {
        let lease = lease(store, &WorkerId::random()).await.expect("it is no suspect");
        assert_eq!(lease.job.attempt, attempt);
        store.note(&lease, doing(Activity::Calling)).await.unwrap();
        store.note(&lease, doing(Activity::Waiting)).await.unwrap();
        clock.advance(LEASE);
    }
    // Calls count, and so does the work after them.
    for activity in [Activity::Calling, Activity::Working] {
        let lease = lease(store, &WorkerId::random()).await.unwrap();
        store.note(&lease, doing(Activity::Waiting)).await.unwrap();
        store.note(&lease, doing(activity)).await.unwrap();
        clock.advance(LEASE);
    }
    assert!(lease(store, &WorkerId::random()).await.is_none(), "two deaths");

    // A suspect waits first, until its worker's other jobs do.
    for _ in 0..3 {
        assert!(lease(store, &steady(store, clock).await).await.unwrap().is_suspect());
        clock.advance(LEASE);
    }
    let alone = steady(store, clock).await;
    let last = lease(store, &alone).await.unwrap();
    start_alone(store, &last).await;
    store.note(&last, doing(Activity::Calling)).await.unwrap();
    let other = job(store, &project).await;
    assert!(store.lease_next(&alone).await.unwrap().is_none(), "it is alone while it calls");
    clock.advance(LEASE);
    assert_eq!(lease(store, &WorkerId::random()).await.unwrap().job.id, other.id);
    assert_eq!(find(store, &made).await.status, Status::Failed);
}

async fn a_suspect_that_survives_a_call_without_an_answer_is_none(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = suspect(store, clock, &project).await;
    let alone = steady(store, clock).await;
    let held = lease(store, &alone).await.unwrap();
    start_alone(store, &held).await;
    store.note(&held, vec![Note::Survived]).await.unwrap();
    assert!(!store.is_suspect(&held).await.unwrap());
    job(store, &project).await;
    let other = store.lease_next(&alone).await.unwrap().expect("another job joins it");
    store.finish(&other, done(None), 0).await.unwrap();
    // The next death counts as the second one. Then it does not survive again.
    clock.advance(LEASE);
    assert!(lease(store, &WorkerId::random()).await.is_none());
    let alone = steady(store, clock).await;
    let held = lease(store, &alone).await.unwrap();
    assert_eq!(held.job.id, made.id);
    start_alone(store, &held).await;
    store.note(&held, vec![Note::Survived]).await.unwrap();
    assert!(store.is_suspect(&held).await.unwrap());
    clock.advance(LEASE);
    assert!(lease(store, &WorkerId::random()).await.is_none());
    assert_eq!(find(store, &made).await.status, Status::Failed);
}

async fn progress_resets_the_count_of_deaths(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let said = || Note::Entry(json!("words"), Tokens::default());
    let base = Note::Base("main".into(), "ba5e".into());
    let steps = [base, said(), said(), Note::Change(Box::new(change()), 0), Note::Pushed];
    for step in steps {
        // One death before the step, one after it: never two in one.
        let lease = lease(store, &WorkerId::random()).await.expect("it is no suspect");
        store.note(&lease, vec![step]).await.unwrap();
        clock.advance(LEASE);
    }
    dies(store, clock).await;
    assert!(lease(store, &WorkerId::random()).await.is_none(), "two deaths after the last step");

    // What is only told is no progress.
    let (alone, other) = (steady(store, clock).await, job(store, &project).await);
    clock.advance(MAX_SUSPECT_WAIT - MIN_WORKER_AGE);
    store.heartbeat(&alone).await.unwrap();
    let lease = lease(store, &alone).await.unwrap();
    assert_eq!(lease.job.id, made.id);
    store.record(&lease, vec![NewEvent::new("step", "Asked again")]).await.unwrap();
    store.note(&lease, vec![said(), Note::Pushed]).await.unwrap();
    assert!(store.lease_next(&alone).await.unwrap().is_none(), "it had got that far before");
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    assert_eq!(store.lease_next(&alone).await.unwrap().unwrap().job.id, other.id);
}

async fn a_replay_is_not_progress(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    let begin = async |lease: &Lease, commit: &str, turns: usize| {
        store.set_base(lease, "main", commit).await.unwrap();
        for _ in 0..turns {
            store.say(lease, &json!("words"), Tokens::default()).await.unwrap();
        }
    };
    let first = lease(store, &worker(1)).await.unwrap();
    begin(&first, "ba5e", 3).await;
    clock.advance(LEASE);
    // The other machine cannot have that commit, so it starts over, and dies in the same place.
    let second = lease(store, &worker(2)).await.unwrap();
    store.forget_from(&second, 1).await.unwrap();
    begin(&second, "c0ffee", 3).await;
    clock.advance(LEASE);
    assert!(lease(store, &worker(3)).await.is_none(), "that are two deaths in one step");

    // The same of a commit that was made, and is not there.
    let alone = steady(store, clock).await;
    let third = lease(store, &alone).await.unwrap();
    start_alone(store, &third).await;
    store.set_change(&third, &change(), 0).await.unwrap();
    clock.advance(LEASE);
    let fourth = lease(store, &worker(4)).await.unwrap();
    let again = Change { head_commit: "ca5cade".into(), ..change() };
    store.set_change(&fourth, &again, 0).await.unwrap();
    clock.advance(LEASE);
    assert!(lease(store, &worker(5)).await.is_none(), "and so are these");
}

async fn a_released_job_counts_no_death(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let minute = SignedDuration::from_mins(1);
    for n in 0..9 {
        let worker = WorkerId::random();
        let lease = lease(store, &worker).await.expect("it is no suspect");
        assert_eq!(lease.job.attempt, 1);
        match n % 3 {
            0 => store.release(&lease).await.unwrap(),
            1 => {
                let why = NewEvent::new("waiting", "The host is in trouble");
                store.put_off(&lease, minute.unsigned_abs(), why).await.unwrap();
                clock.advance(minute);
            }
            // The store was away for longer than a lease lasts, and the worker is there again.
            _ => {
                clock.advance(LEASE * 2);
                store.release_all(&worker).await.unwrap();
            }
        }
    }
    // What another worker has by then stays there.
    let first = dies(store, clock).await;
    let second = lease(store, &worker(2)).await.unwrap();
    store.release_all(&first.worker).await.unwrap();
    assert_eq!(second.job.id, made.id);
    store.record(&second, vec![]).await.unwrap();
}

async fn a_worker_that_leases_is_not_dead(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    for _ in 0..5 {
        // The clock jumps, and its lease has run out.
        assert!(lease(store, &worker(1)).await.is_some());
        clock.advance(LEASE);
    }
}

async fn a_step_that_takes_longer_than_workers_live_does_not_fail(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lives = async |worker: &WorkerId, seconds: i64| {
        for _ in 0..seconds / 5 {
            clock.advance(SignedDuration::from_secs(5));
            store.heartbeat(worker).await.unwrap();
        }
    };
    // Its model takes two minutes, and something kills the worker every minute.
    for n in 1..=2 {
        assert!(lease(store, &worker(n)).await.is_some());
        lives(&worker(n), 60).await;
        clock.advance(LEASE);
    }
    for n in 3..=9 {
        store.heartbeat(&worker(n)).await.unwrap();
        lives(&worker(n), 60).await;
        assert!(lease(store, &worker(n)).await.is_none(), "it would be killed like the others");
    }
    lives(&worker(9), 60).await;
    assert_eq!(lease(store, &worker(9)).await.unwrap().job.id, made.id);
}

async fn a_follow_up_starts_without_deaths(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = suspect(store, clock, &project).await;
    let alone = steady(store, clock).await;
    let held = lease(store, &alone).await.unwrap();
    follow_up(store, &made, "And images").await;
    let next = store.finish(&held, done(None), 0).await.unwrap().expect("a follow-up waits");
    assert!(!next.is_given_up());
    clock.advance(LEASE);
    dies(store, clock).await;
    assert!(lease(store, &worker(1)).await.is_none(), "two deaths in the second run");
    let alone = steady(store, clock).await;
    let held = lease(store, &alone).await.unwrap();
    store.finish(&held, done(None), 1).await.unwrap();
    follow_up(store, &made, "And words").await;
    assert_eq!(dies(store, clock).await.job.run, 3);
}

/// A job that has noted a change, and three deaths since.
async fn given_up(store: &dyn Store, clock: &TestClock, project: &Project) -> Job {
    let made = job(store, project).await;
    let first = lease(store, &WorkerId::random()).await.unwrap();
    store.set_base(&first, "main", "ba5e").await.unwrap();
    store.set_change(&first, &change(), 0).await.unwrap();
    clock.advance(LEASE);
    dies(store, clock).await;
    assert_eq!(dies_alone(store, clock).await.job.id, made.id);
    made
}

async fn a_job_that_is_given_up_is_leased_to_search_for_its_pull_request(
    store: &dyn Store,
    clock: &TestClock,
) {
    let project = project(store, "acme").await;
    let made = given_up(store, clock, &project).await;
    // It disturbs nobody, so it neither waits nor runs alone.
    let other = job(store, &project).await;
    let look = lease(store, &worker(1)).await.unwrap();
    assert!(look.job.id == made.id && look.is_given_up());
    assert_eq!(
        last_words(store, &made).await,
        "started: Attempt 4 began: it only looks for the pull request of the job"
    );
    let held = lease(store, &worker(1)).await.unwrap();
    assert_eq!(held.job.id, other.id);
    let why = NewEvent::new("waiting", "The host is in trouble");
    store.put_off(&look, Duration::from_secs(5), why).await.unwrap();
    clock.advance(SignedDuration::from_secs(5));
    let look = lease(store, &worker(1)).await.unwrap();
    assert!(look.is_given_up());
    follow_up(store, &made, "And images").await;
    let next = store.finish(&look, done(Some("https://x/pulls/1")), 0).await.unwrap().unwrap();
    assert!(!next.is_given_up(), "what is asked for now is another run");
    store.finish(&next, done(None), 1).await.unwrap();
    assert_eq!(find(store, &made).await.pr_link.as_deref(), Some("https://x/pulls/1"));

    // A look that kills its worker, too, is repeated a few times. Then a sweep looks on.
    store.finish(&held, done(None), 0).await.unwrap();
    let made = given_up(store, clock, &project).await;
    for _ in 0..MAX_LOOKUP_DEATHS {
        assert!(dies(store, clock).await.is_given_up());
    }
    assert!(lease(store, &worker(2)).await.is_none());
    assert_eq!(find(store, &made).await.status, Status::Failed);
    let end = last_words(store, &made).await;
    let branch =
        format!("the change may be on the branch `{}`, but no pull request for it was found", made.branch);
    assert!(end.contains(&branch), "{end}");
    assert_eq!(store.next_sweep().await.unwrap().unwrap().job.id, made.id);
}

async fn a_follow_up_that_is_given_up_names_the_known_pull_request(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = crate::pulls::published(store, &project).await;
    follow_up(store, &made, "And images").await;
    for _ in 0..2 {
        dies(store, clock).await;
    }
    dies_alone(store, clock).await;
    assert!(lease(store, &worker(1)).await.is_none());
    let end = last_words(store, &made).await;
    assert!(end.ends_with(&format!("The job's pull request is {}", crate::pulls::LINK)), "{end}");
    assert!(!end.contains("create a new job"), "{end}");
}

async fn a_job_that_is_given_up_without_a_change_fails_at_once(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = suspect(store, clock, &project).await;
    dies_alone(store, clock).await;
    assert!(lease(store, &worker(1)).await.is_none());
    assert_eq!(find(store, &made).await.status, Status::Failed);

    // The next run of a job whose pull request is known.
    let made = job(store, &project).await;
    let first = lease(store, &worker(1)).await.unwrap();
    store.set_change(&first, &change(), 0).await.unwrap();
    store.finish(&first, done(Some("https://x/pulls/1")), 0).await.unwrap();
    follow_up(store, &made, "And images").await;
    for _ in 0..2 {
        dies(store, clock).await;
    }
    dies_alone(store, clock).await;
    assert!(lease(store, &worker(2)).await.is_none());
    let failed = find(store, &made).await;
    assert_eq!((failed.status, failed.pr_link.as_deref()), (Status::Failed, Some("https://x/pulls/1")));
}

/// On SQLite, a server that locks the data directory knows that the earlier one is dead.
#[tokio::test]
async fn voided_leases_are_deaths() {
    let SqliteTest { store, clock, .. } = &SqliteTest::new().await;
    let project = project(store, "acme").await;
    let killer = job(store, &project).await;
    for n in 1..=2 {
        assert!(lease(store, &worker(n)).await.is_some());
        store::Queue::void_leases(store).await.unwrap();
    }
    assert!(lease(store, &worker(3)).await.is_none());
    assert_eq!(find(store, &killer).await.status, Status::Active);
    let alone = steady(store, clock).await;
    start_alone(store, &lease(store, &alone).await.unwrap()).await;
    store::Queue::void_leases(store).await.unwrap();
    assert!(lease(store, &worker(4)).await.is_none());
    assert_eq!(find(store, &killer).await.status, Status::Failed);
}

/// Jobs that ran when the server was stopped for the upgrade go on.
#[tokio::test]
async fn an_upgrade_resets_earlier_counts() {
    let SqliteTest { store, dir, .. } = &SqliteTest::new().await;
    let project = project(store, "acme").await;
    job(store, &project).await;
    let db = sqlx::SqlitePool::connect(dir.path().join("docwright.db").to_str().unwrap()).await.unwrap();
    sqlx::query("UPDATE jobs SET attempt = 3").execute(&db).await.unwrap();
    assert_eq!(lease(store, &worker(1)).await.unwrap().job.attempt, 4);
}
