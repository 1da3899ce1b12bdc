//! The order of the queue: fair between organizations and projects, and by arrival within a project.

use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use store::{
    Activity, JobStore, Lease, LeaseLimits, NewEvent, Note, Progress, Project, Queue, Status, Store, Terms,
};

use crate::follow_ups::{follow_up, leased};
use crate::jobs::{MILLISECOND, done, job, new_job, worker};
use crate::{every_backend, project};

every_backend! {
    projects_take_turns,
    organizations_take_turns,
    an_organization_with_many_projects_gets_no_more_workers,
    jobs_that_wait_for_their_model_take_no_share_of_the_workers,
    the_progress_of_a_job_is_visible_in_its_project,
    a_follow_up_is_queued_after_earlier_jobs,
    a_project_runs_at_most_its_limit_of_jobs,
    a_worker_keeps_room_for_other_organizations,
    a_queued_job_gets_one_event_about_the_wait,
    all_of_many_queued_jobs_get_an_event,
    many_postponed_jobs_return_in_order,
}

async fn projects_take_turns(store: &dyn Store, clock: &TestClock) {
    let (many, few) = (project(store, "acme").await, project(store, "globex").await);
    for project in [&many, &many, &many, &many, &few, &few] {
        clock.advance(MILLISECOND);
        job(store, project).await;
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        order.push(leased(store).await.job.project);
    }
    assert_ne!(order[0], order[1]);
    assert_eq!(order[..2], order[2..4], "they take turns: {order:?}");
    assert_eq!(order[4..], [many.id.clone(), many.id]);
    // A project that comes back does not wait for all jobs of the other one.
    job(store, &few).await;
    assert_eq!(leased(store).await.job.project, few.id);
}

/// Three more projects of the organization of `project`.
async fn three_more(store: &dyn Store, project: &Project) -> Vec<Project> {
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(store.create_project(&crate::new_project(&project.organization)).await.unwrap());
    }
    made
}

async fn organizations_take_turns(store: &dyn Store, clock: &TestClock) {
    let (large, small) = (project(store, "acme").await, project(store, "globex").await);
    let projects =
        [three_more(store, &large).await, vec![small.clone(), small.clone(), small.clone()]].concat();
    for project in &projects {
        clock.advance(MILLISECOND);
        job(store, project).await;
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        // One at a time, as with one worker.
        let lease = leased(store).await;
        order.push(lease.job.project == small.id);
        assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    }
    assert!(order.chunks(2).all(|two| two[0] != two[1]), "organizations take turns: {order:?}");
}

async fn an_organization_with_many_projects_gets_no_more_workers(store: &dyn Store, clock: &TestClock) {
    let (large, small) = (project(store, "acme").await, project(store, "globex").await);
    for project in three_more(store, &large).await {
        clock.advance(MILLISECOND);
        job(store, &project).await;
        job(store, &project).await;
    }
    let held = [leased(store).await, leased(store).await, leased(store).await];
    job(store, &small).await;
    job(store, &small).await;
    assert!(store.finish(&held[0], done(None), 0).await.unwrap().is_none());
    for _ in 0..2 {
        assert_eq!(leased(store).await.job.project, small.id, "it has the fewest running jobs");
    }
    assert_ne!(leased(store).await.job.project, small.id, "it has no queued job");
}

async fn jobs_that_wait_for_their_model_take_no_share_of_the_workers(store: &dyn Store, _: &TestClock) {
    let (stalled, busy) = (project(store, "acme").await, project(store, "globex").await);
    for _ in 0..5 {
        job(store, &stalled).await;
        let lease = leased(store).await;
        store.note(&lease, vec![Note::Activity(Activity::Calling)]).await.unwrap();
    }
    let other = store.create_project(&crate::new_project(&stalled.organization)).await.unwrap();
    for _ in 0..2 {
        job(store, &busy).await;
        job(store, &other).await;
    }
    let [mut first, mut second] = [leased(store).await.job.project, leased(store).await.job.project];
    assert_ne!(first, second, "each organization does as much local work as the other");
    [first, second] = [leased(store).await.job.project, leased(store).await.job.project];
    assert_ne!(first, second);
}

async fn the_progress_of_a_job_is_visible_in_its_project(store: &dyn Store, _: &TestClock) {
    let (project, other) = (project(store, "acme").await, project(store, "globex").await);
    let (first, second) = (job(store, &project).await, job(store, &project).await);
    let lease = leased(store).await;
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    let events = store.events(&project.id, &first.id, 0).await.unwrap().unwrap();
    let (ended, waits, hidden) = tokio::join!(
        store.progress(&project.id, &first.id),
        store.progress(&project.id, &second.id),
        store.progress(&other.id, &first.id),
    );
    let last_event = events.last().unwrap().number;
    assert_eq!(ended.unwrap(), Some(Progress { status: Status::Completed, last_event }));
    assert_eq!(waits.unwrap(), Some(Progress { status: Status::Active, last_event: 1 }));
    assert_eq!(hidden.unwrap(), None);
}

async fn a_follow_up_is_queued_after_earlier_jobs(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let old = job(store, &project).await;
    let lease = leased(store).await;
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    clock.advance(MILLISECOND);
    let (second, third) = (job(store, &project).await, job(store, &project).await);
    clock.advance(MILLISECOND);
    follow_up(store, &old, "And images").await;
    clock.advance(MILLISECOND);
    let last = job(store, &project).await;
    for expected in [&second, &third, &old, &last] {
        assert_eq!(leased(store).await.job.id, expected.id);
    }
}

async fn lease_within(store: &dyn Store, project_limit: u32) -> Option<Lease> {
    store.heartbeat(&worker(1)).await.unwrap();
    let limits = LeaseLimits { project: project_limit, ..LeaseLimits::NONE };
    store.lease_within(&worker(1), limits).await.unwrap()
}

async fn a_project_runs_at_most_its_limit_of_jobs(store: &dyn Store, _: &TestClock) {
    let (greedy, other) = (project(store, "acme").await, project(store, "globex").await);
    for _ in 0..4 {
        job(store, &greedy).await;
    }
    let first = lease_within(store, 2).await.unwrap();
    assert!(lease_within(store, 2).await.is_some());
    assert!(lease_within(store, 2).await.is_none());
    let free = job(store, &other).await;
    assert_eq!(lease_within(store, 2).await.unwrap().job.id, free.id, "others are not held up");
    assert!(store.finish(&first, done(None), 0).await.unwrap().is_none());
    assert_eq!(lease_within(store, 2).await.unwrap().job.project, greedy.id);
    assert!(lease_within(store, 2).await.is_none());
}

/// Jobs that wait for their model count, too: they are in flight.
async fn a_worker_keeps_room_for_other_organizations(store: &dyn Store, _: &TestClock) {
    let (large, small) = (project(store, "acme").await, project(store, "globex").await);
    for project in three_more(store, &large).await {
        job(store, &project).await;
        job(store, &project).await;
    }
    let limits = LeaseLimits { organization: 3, ..LeaseLimits::NONE };
    let lease = async |n: u8| {
        store.heartbeat(&worker(n)).await.unwrap();
        store.lease_within(&worker(n), limits).await.unwrap()
    };
    for _ in 0..3 {
        let lease = lease(1).await.unwrap();
        store.note(&lease, vec![Note::Activity(Activity::Calling)]).await.unwrap();
    }
    assert!(lease(1).await.is_none());
    let other = job(store, &small).await;
    assert_eq!(lease(1).await.unwrap().job.id, other.id);
    assert!(lease(2).await.is_some(), "another worker has room");
}

async fn kinds(store: &dyn Store, job: &store::Job) -> Vec<String> {
    let events = store.events(&job.project, &job.id, 0).await.unwrap().unwrap();
    events.into_iter().map(|event| event.kind).collect()
}

async fn a_queued_job_gets_one_event_about_the_wait(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let (runs, waits) = (job(store, &project).await, job(store, &project).await);
    let lease = leased(store).await;
    let long = Duration::from_secs(5);
    store.announce_waiting(long).await.unwrap();
    assert_eq!(kinds(store, &waits).await, ["created"], "not yet");
    clock.advance(SignedDuration::from_secs(5));
    store.announce_waiting(long).await.unwrap();
    store.announce_waiting(long).await.unwrap();
    assert_eq!(kinds(store, &waits).await, ["created", "waiting"]);
    assert_eq!(kinds(store, &runs).await, ["created", "started"]);

    // A follow-up waits anew.
    store.heartbeat(&worker(1)).await.unwrap();
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    follow_up(store, &runs, "And images").await;
    clock.advance(SignedDuration::from_secs(6));
    store.announce_waiting(long).await.unwrap();
    assert_eq!(kinds(store, &runs).await.last().unwrap(), "waiting");
    assert_eq!(kinds(store, &waits).await, ["created", "waiting"]);
}

async fn all_of_many_queued_jobs_get_an_event(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let mut made = Vec::new();
    for _ in 0..201 {
        made.push(job(store, &project).await);
    }
    clock.advance(SignedDuration::from_secs(5));
    let long = Duration::from_secs(5);
    assert!(store.announce_waiting(long).await.unwrap(), "there are more than are told at once");
    assert!(!store.announce_waiting(long).await.unwrap());
    for job in &made {
        let events = store.events(&job.project, &job.id, 0).await.unwrap().unwrap();
        let told: Vec<_> = events.iter().map(|event| (event.number, event.kind.as_str())).collect();
        assert_eq!(told, [(1, "created"), (2, "waiting")]);
    }
}

async fn many_postponed_jobs_return_in_order(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let mut made = Vec::new();
    for _ in 0..5 {
        clock.advance(MILLISECOND);
        made.push(job(store, &project).await.id);
    }
    for n in 0..5 {
        let lease = leased(store).await;
        let why = NewEvent::new("waiting", "The host is down");
        store.put_off(&lease, Duration::from_secs(60 - n), why).await.unwrap();
    }
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
    clock.advance(SignedDuration::from_secs(60));
    for expected in made {
        assert_eq!(leased(store).await.job.id, expected);
    }
}

/// What counts is how many rows are looked at, not how long that takes here.
#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_long_line_is_not_walked_along() {
    let kept = crate::PostgresTest::new().await;
    let made = project(&kept.store, "acme").await;
    kept.database.sql(&format!(
        "INSERT INTO jobs (id, project, status, prompt, branch, model, draft, adopts, created_at, queued_at)
         SELECT 'job-' || n, '{}', 'active', 'x', 'b' || n, 'offline', false, false, n, n
         FROM generate_series(1, 10000) n",
        made.id
    ));
    kept.database.sql("ANALYZE jobs");
    let looked_at = || -> i64 {
        let seen = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'jobs'";
        kept.database.sql(seen).parse().unwrap()
    };
    let before = looked_at();
    for _ in 0..10 {
        let lease = leased(&kept.store).await;
        assert!(kept.store.jobs_to_stop(&worker(1)).await.unwrap().is_empty());
        kept.store.insert(&new_job(&made), &Terms::default()).await.unwrap();
        kept.store.find(&made.id, &lease.job.id).await.unwrap().unwrap();
    }
    // A connection tells what it looked at when it ends.
    let ours = "SELECT string_agg(pid::text, ',') FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let ours = kept.database.sql(ours);
    let of = |what: &str| format!("SELECT count({what}) FROM pg_stat_activity WHERE pid IN ({ours})");
    kept.database.sql(&of("pg_terminate_backend(pid)"));
    while kept.database.sql(&of("*")) != "0" {}
    let seen = looked_at() - before;
    assert!((30..3_000).contains(&seen), "{seen} rows were looked at");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn of_many_who_look_at_once_no_more_than_may_get_a_job_of_one_project() {
    let kept = crate::PostgresTest::new().await;
    let made = project(&kept.store, "acme").await;
    for _ in 0..20 {
        job(&kept.store, &made).await;
    }
    let looks = (0..8).map(|n| {
        let store = kept.store.clone();
        tokio::spawn(async move {
            store.lease_within(&worker(n), LeaseLimits { project: 3, ..LeaseLimits::NONE }).await.unwrap()
        })
    });
    let mut leased = 0;
    for look in looks.collect::<Vec<_>>() {
        leased += usize::from(look.await.unwrap().is_some());
    }
    assert_eq!(leased, 3);
}
