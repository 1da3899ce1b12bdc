use base::TestClock;
use jiff::SignedDuration;
use serde_json::json;
use store::{
    Change, Ending, Filter, Job, LEASE, NewEvent, NewJob, Outcome, Project, ProjectId, Prompt, Queue,
    Receipt, Resume, Status, Store, StoreError, Terms, Tokens, WorkerId,
};

use crate::{SqliteTest, every_backend, project};

pub(crate) const MILLISECOND: SignedDuration = SignedDuration::from_millis(1);

every_backend! {
    a_new_job_is_active_and_has_its_first_event,
    a_job_of_another_project_is_not_found,
    the_oldest_job_is_leased_first_and_only_once,
    an_expired_lease_passes_to_the_next_worker,
    a_heartbeat_keeps_every_lease_of_its_worker,
    a_lease_is_a_heartbeat,
    a_lost_lease_writes_nothing,
    a_released_job_keeps_its_attempts_and_fences_the_old_lease,
    a_job_that_is_put_off_waits_and_keeps_its_attempts,
    a_job_that_the_machine_delays_is_not_counted_as_put_off,
    a_worker_that_takes_over_finds_the_stored_state,
    finish_stores_status_link_and_last_event_together,
    events_are_numbered_without_gaps,
}

pub(crate) fn worker(n: u8) -> WorkerId {
    WorkerId(format!("wrk_{n}"))
}

pub(crate) async fn job(store: &dyn Store, project: &Project) -> Job {
    match store.insert(&new_job(project), &Terms::default()).await.unwrap() {
        Receipt::Done { job, .. } => *job,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn new_job(project: &Project) -> NewJob {
    NewJob {
        project: project.id.clone(),
        prompt: Prompt::parse("Fix links").unwrap(),
        model: "offline".into(),
        base_ref: None,
        branch: None,
        draft: false,
        findings: Vec::new(),
    }
}

pub(crate) fn page(limit: u32, offset: u64) -> Filter {
    Filter { limit, offset, ..Filter::default() }
}

pub(crate) fn done(link: Option<&str>) -> Ending {
    Ending {
        outcome: Outcome::Completed { pr_link: link.map(str::to_owned) },
        message: "Done".into(),
        report: json!({"title": "Fix links"}),
        checks: json!([]),
        usage: json!({"inputTokens": 0}),
        diff: None,
    }
}

async fn a_new_job_is_active_and_has_its_first_event(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let found = store.find(&project.id, &made.id).await.unwrap().unwrap();
    assert_eq!(found.status, Status::Active);
    assert_eq!(found.branch, format!("docwright/{}", made.id));
    assert_eq!(found.created_at, made.created_at);
    assert_eq!((found.pr_link, found.attempt), (None, 0));
    let events = store.events(&project.id, &made.id, 0).await.unwrap().unwrap();
    assert_eq!(events.iter().map(|e| e.kind.as_str()).collect::<Vec<_>>(), ["created"]);
}

async fn a_job_of_another_project_is_not_found(store: &dyn Store, _: &TestClock) {
    let (mine, theirs) = (project(store, "acme").await, project(store, "globex").await);
    let job = job(store, &mine).await;
    assert!(store.find(&theirs.id, &job.id).await.unwrap().is_none());
    assert!(store.events(&theirs.id, &job.id, 0).await.unwrap().is_none());
    assert!(store.diff(&theirs.id, &job.id).await.unwrap().is_none());
    assert!(store.list(&theirs.id, &page(20, 0)).await.unwrap().items.is_empty());
    assert!(store.list(&ProjectId("nowhere".into()), &page(20, 0)).await.unwrap().items.is_empty());
}

async fn the_oldest_job_is_leased_first_and_only_once(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let first = job(store, &project).await;
    clock.advance(MILLISECOND);
    let second = job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    store.heartbeat(&worker(2)).await.unwrap();
    assert_eq!(store.lease_next(&worker(1)).await.unwrap().unwrap().job.id, first.id);
    assert_eq!(store.lease_next(&worker(2)).await.unwrap().unwrap().job.id, second.id);
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
}

async fn an_expired_lease_passes_to_the_next_worker(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let slow = store.lease_next(&worker(1)).await.unwrap().unwrap();
    clock.advance(LEASE - MILLISECOND);
    store.heartbeat(&worker(2)).await.unwrap();
    assert!(store.lease_next(&worker(2)).await.unwrap().is_none());

    clock.advance(MILLISECOND);
    let next = store.lease_next(&worker(2)).await.unwrap().unwrap();
    assert_eq!(next.job.attempt, 2);
    assert!(matches!(store.finish(&slow, done(None), 0).await, Err(StoreError::LeaseLost(_))));
    store.finish(&next, done(None), 0).await.unwrap();
}

async fn a_heartbeat_keeps_every_lease_of_its_worker(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let held = [store.lease_next(&worker(1)).await, store.lease_next(&worker(1)).await];
    for _ in 0..10 {
        clock.advance(LEASE - MILLISECOND);
        store.heartbeat(&worker(1)).await.unwrap();
    }
    for lease in held {
        store.finish(&lease.unwrap().unwrap(), done(None), 0).await.unwrap();
    }
}

async fn a_lease_is_a_heartbeat(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    clock.advance(LEASE);
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none(), "it took its own job a second time");
    store.finish(&lease, done(None), 0).await.unwrap();
}

async fn a_lost_lease_writes_nothing(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let lost = store.lease_next(&worker(1)).await.unwrap().unwrap();
    // Nobody else took it; a dead worker's lease is worth nothing all the same.
    clock.advance(LEASE);
    let change = Change {
        head_commit: "c".into(),
        title: "t".into(),
        body: "b".into(),
        report: json!(null),
        diff: "d".into(),
    };
    let refused = [
        store.record(&lost, vec![NewEvent::new("step", "late")]).await,
        store.set_base(&lost, "main", "c").await,
        store.set_change(&lost, &change, 0).await,
        store.finish(&lost, done(None), 0).await.map(|_| ()),
        store.release(&lost).await,
    ];
    assert!(refused.iter().all(|r| matches!(r, Err(StoreError::LeaseLost(id)) if *id == made.id)));
    assert_eq!(store.events(&project.id, &made.id, 0).await.unwrap().unwrap().len(), 2);
    assert_eq!(store.diff(&project.id, &made.id).await.unwrap().unwrap(), "");
}

async fn a_released_job_keeps_its_attempts_and_fences_the_old_lease(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    for _ in 0..5 {
        let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
        assert_eq!(lease.job.attempt, 1);
        store.release(&lease).await.unwrap();
        assert!(matches!(store.finish(&lease, done(None), 0).await, Err(StoreError::LeaseLost(_))));
    }
    // The same worker and the same attempt once more: the old lease stays worthless.
    let old = store.lease_next(&worker(1)).await.unwrap().unwrap();
    store.release(&old).await.unwrap();
    let new = store.lease_next(&worker(1)).await.unwrap().unwrap();
    assert!(matches!(store.finish(&old, done(None), 0).await, Err(StoreError::LeaseLost(_))));
    store.finish(&new, done(None), 0).await.unwrap();
}

async fn a_job_that_is_put_off_waits_and_keeps_its_attempts(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "Acme").await;
    let waiting = job(store, &project).await;
    let minute = SignedDuration::from_mins(1);
    for times in 0..5 {
        let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
        assert_eq!((lease.job.attempt, lease.resume.put_off), (1, times));
        let why = NewEvent::new("waiting", "The host is in trouble".to_owned());
        store.put_off(&lease, minute.unsigned_abs(), why).await.unwrap();
        assert!(matches!(store.record(&lease, vec![]).await, Err(StoreError::LeaseLost(_))));
        clock.advance(minute - MILLISECOND);
        assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
        clock.advance(MILLISECOND);
    }
    let events = store.events(&project.id, &waiting.id, 0).await.unwrap().unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == "waiting").count(), 5);
    // Getting on is a new beginning, and others are not held up.
    let other = job(store, &project).await;
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    store.set_base(&lease, "main", "ba5e").await.unwrap();
    let why = NewEvent::new("waiting", "The host is in trouble".to_owned());
    store.put_off(&lease, minute.unsigned_abs(), why.clone()).await.unwrap();
    assert_eq!(store.lease_next(&worker(1)).await.unwrap().unwrap().job.id, other.id);
    clock.advance(minute);
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    assert_eq!(lease.resume.put_off, 1);
    // So is an answer of the model.
    store.say(&lease, &json!("hello"), Tokens::default()).await.unwrap();
    store.put_off(&lease, minute.unsigned_abs(), why).await.unwrap();
    clock.advance(minute);
    assert_eq!(store.lease_next(&worker(1)).await.unwrap().unwrap().resume.put_off, 1);
}

async fn a_job_that_the_machine_delays_is_not_counted_as_put_off(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "Acme").await;
    let waiting = job(store, &project).await;
    let minute = SignedDuration::from_mins(1);
    let why = || NewEvent::new("waiting", "The disk is full".to_owned());
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    store.put_off(&lease, minute.unsigned_abs(), why()).await.unwrap();
    clock.advance(minute);
    for _ in 0..5 {
        let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
        assert_eq!((lease.job.attempt, lease.resume.put_off), (1, 1));
        store.delay(&lease, minute.unsigned_abs(), why()).await.unwrap();
        assert!(matches!(
            store.delay(&lease, minute.unsigned_abs(), why()).await,
            Err(StoreError::LeaseLost(_))
        ));
        clock.advance(minute - MILLISECOND);
        assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
        clock.advance(MILLISECOND);
    }
    let events = store.events(&project.id, &waiting.id, 0).await.unwrap().unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == "waiting").count(), 6);
}

/// On SQLite, where the one server that there is knows that the others are dead.
#[tokio::test]
async fn voided_leases_are_free_at_once() {
    let SqliteTest { store, .. } = &SqliteTest::new().await;
    let project = project(store, "acme").await;
    job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let killed = store.lease_next(&worker(1)).await.unwrap().unwrap();
    store.void_leases().await.unwrap();
    store.heartbeat(&worker(2)).await.unwrap();
    let next = store.lease_next(&worker(2)).await.unwrap().unwrap();
    assert_eq!(next.job.attempt, 2);
    assert!(matches!(store.finish(&killed, done(None), 0).await, Err(StoreError::LeaseLost(_))));
}

async fn a_worker_that_takes_over_finds_the_stored_state(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    assert_eq!(lease.resume, Resume::default());
    let change = Change {
        head_commit: "c0ffee".into(),
        title: "Fix links".into(),
        body: "All of them".into(),
        report: json!({"notes": ["one"]}),
        diff: "--- a\n+++ b\n".into(),
    };
    store.set_base(&lease, "main", "ba5e").await.unwrap();
    store.set_change(&lease, &change, 0).await.unwrap();
    assert_eq!(store.diff(&project.id, &made.id).await.unwrap().unwrap(), change.diff);

    clock.advance(LEASE);
    store.heartbeat(&worker(2)).await.unwrap();
    let next = store.lease_next(&worker(2)).await.unwrap().unwrap();
    let base = Some(("main".into(), "ba5e".into()));
    let expected =
        Resume { origin: Some("ba5e".into()), base, change: Some(change), pushed: false, put_off: 0 };
    assert_eq!(next.resume, expected);
}

async fn finish_stores_status_link_and_last_event_together(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    clock.advance(SignedDuration::from_secs(5));
    store.finish(&lease, done(Some("https://x/pulls/1")), 0).await.unwrap();
    let job = store.find(&project.id, &made.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.pr_link.as_deref()), (Status::Completed, Some("https://x/pulls/1")));
    assert_eq!(job.ended_at.unwrap().duration_since(job.created_at), SignedDuration::from_secs(5));
    let last = store.events(&project.id, &made.id, 0).await.unwrap().unwrap().pop().unwrap();
    let keys: Vec<_> = last.data.keys().map(String::as_str).collect();
    assert_eq!(keys, ["message", "reason", "usage", "checks", "report"]);
    assert!(matches!(store.finish(&lease, done(None), 0).await, Err(StoreError::LeaseLost(_))));
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
}

async fn events_are_numbered_without_gaps(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    let step = |n: u32| store.record(&lease, vec![NewEvent::new("step", n.to_string()); 3]);
    futures_util::future::join_all((0..20).map(step)).await.into_iter().collect::<Result<(), _>>().unwrap();
    let events = store.events(&project.id, &made.id, 0).await.unwrap().unwrap();
    let numbers: Vec<_> = events.iter().map(|e| e.number).collect();
    assert_eq!(numbers, (1..=62).collect::<Vec<_>>());
    assert_eq!(store.events(&project.id, &made.id, 60).await.unwrap().unwrap(), events[60..]);
}
