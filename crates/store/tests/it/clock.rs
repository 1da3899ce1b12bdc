//! A clock that jumps deletes nothing: transcripts, branches and idempotency keys stay until it can be trusted.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, ClockName, PauseCause, TestClock};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use store::{
    Allow, Clocks, Expiry, Job, JobStore, LEASE, MasterKey, NewKey, PostgresStore, Project, PullState,
    Receipt, Scope, Store, Tokens,
};

use crate::follow_ups::{leased, once};
use crate::jobs::{done, job, new_job, worker};
use crate::{PostgresTest, SERVER, SqliteTest, every_backend, open, open_postgres, project};

every_backend! {
    a_jump_ahead_deletes_nothing,
    a_clock_is_confirmed_beside_a_server,
    a_jump_back_deletes_nothing_and_repeats_nothing,
    an_idempotent_request_is_carried_out_once_despite_clock_jumps,
    keys_links_and_leases_follow_the_clock,
}

const QUARTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);
const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
const AGES: SignedDuration = SignedDuration::from_hours(24 * 500);

/// A job that ended, with a transcript, and a branch that was merged.
async fn ended_job(store: &dyn Store, project: &Project) -> Job {
    job(store, project).await;
    let lease = leased(store).await;
    store.say(&lease, &json!({ "role": "user" }), Tokens::default()).await.unwrap();
    let link = format!("https://x/pulls/{}", lease.job.id);
    store.finish(&lease, done(Some(&link)), 0).await.unwrap();
    store.record_pull_state(&project.id, &link, PullState::Merged).await.unwrap();
    lease.job
}

/// Deletes what is due; answers whether the job has lost its transcript, and its branch.
async fn delete(store: &dyn Store, job: &Job) -> (bool, bool) {
    while store.trim(QUARTER).await.unwrap() {}
    let mut is_branch_gone = false;
    while let Some(settled) = store.next_settled(QUARTER).await.unwrap() {
        store.branch_is_gone(&settled.id).await.unwrap();
        is_branch_gone |= settled.id == job.id;
    }
    (JobStore::conversation(store, &job.project, &job.id).await.unwrap().unwrap().is_empty(), is_branch_gone)
}

async fn watch(store: &dyn Store) {
    store.watch_clocks(SERVER, None).await.unwrap();
}

async fn cause(store: &dyn Store) -> Option<PauseCause> {
    store.paused_clocks(Some(SERVER)).await.unwrap().first().map(|(_, pause)| pause.cause)
}

const KEPT: (bool, bool) = (false, false);
const GONE: (bool, bool) = (true, true);

async fn a_jump_ahead_deletes_nothing(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let job = ended_job(store, &project).await;
    clock.jump(AGES);
    assert_eq!(delete(store, &job).await, KEPT, "before anybody has looked at the clock");
    watch(store).await;
    assert_eq!((delete(store, &job).await, cause(store).await), (KEPT, Some(PauseCause::SteppedAhead)));
    clock.advance(DAY - HOUR);
    watch(store).await;
    assert_eq!(delete(store, &job).await, KEPT);
    clock.advance(HOUR);
    watch(store).await;
    assert_eq!((delete(store, &job).await, cause(store).await), (GONE, None));
}

async fn a_clock_is_confirmed_beside_a_server(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let job = ended_job(store, &project).await;
    clock.jump(AGES);
    watch(store).await;
    store.confirm_clocks(Some(SERVER)).await.unwrap();
    assert_eq!(delete(store, &job).await, KEPT, "the server has not seen it yet");
    watch(store).await;
    assert_eq!((delete(store, &job).await, cause(store).await), (GONE, None));
}

async fn a_jump_back_deletes_nothing_and_repeats_nothing(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let before = ended_job(store, &project).await;
    clock.jump(-AGES);
    watch(store).await;
    let behind = ended_job(store, &project).await;
    assert_eq!((delete(store, &before).await, cause(store).await), (KEPT, Some(PauseCause::Behind)));
    // Right again: the step ahead is no jump, and what was dated by the wrong clock is not old.
    clock.jump(AGES);
    watch(store).await;
    assert_eq!(cause(store).await, None);
    assert_eq!(delete(store, &behind).await, KEPT);
    clock.advance(DAY * 89);
    watch(store).await;
    assert_eq!((delete(store, &behind).await, delete(store, &before).await), (KEPT, KEPT));
    clock.advance(DAY);
    watch(store).await;
    assert_eq!(delete(store, &behind).await, GONE, "it was kept for as long as any other");
}

async fn an_idempotent_request_is_carried_out_once_despite_clock_jumps(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let insert = async |key: &str| store.insert(&new_job(&project), &once(key, "body")).await.unwrap();
    assert!(matches!(insert("a").await, Receipt::Done { .. }));
    clock.jump(AGES);
    assert!(matches!(insert("a").await, Receipt::Replayed(_)));
    clock.jump(-AGES * 2);
    assert!(matches!(insert("a").await, Receipt::Replayed(_)));
    assert!(matches!(insert("b").await, Receipt::Done { .. }));
    clock.jump(AGES);
    watch(store).await;
    assert!(matches!(insert("a").await, Receipt::Replayed(_)));
    assert!(matches!(insert("b").await, Receipt::Replayed(_)));
    clock.advance(DAY);
    watch(store).await;
    assert!(matches!(insert("a").await, Receipt::Done { .. }), "a day is over");
    assert!(matches!(insert("b").await, Receipt::Done { .. }));
}

async fn keys_links_and_leases_follow_the_clock(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let new = NewKey {
        organization: project.organization.clone(),
        name: "CI".into(),
        scope: Scope::Write,
        projects: None,
        allow: Allow::default(),
        expiry: Expiry::Days(7),
        creator: None,
    };
    let (_, key) = store.create_key(&new).await.unwrap();
    let link = store.create_login(&project.organization).await.unwrap();
    job(store, &project).await;
    let first = leased(store).await;
    clock.jump(LEASE);
    let second = store.lease_next(&worker(2)).await.unwrap().unwrap();
    assert_eq!(second.job.id, first.job.id);
    clock.jump(AGES);
    watch(store).await;
    assert!(cause(store).await.is_some());
    assert!(!store.key(&key).await.unwrap().unwrap().is_live);
    assert!(!store.login_works(&link).await.unwrap());
}

/// Restarts are new stores over the same database.
async fn restarts<S: Store>(reopen: impl AsyncFn() -> S, clock: &TestClock) {
    let store = reopen().await;
    watch(&store).await;
    let project = project(&store, "acme").await;
    let job = ended_job(&store, &project).await;
    let restart = async || {
        let store = reopen().await;
        assert_eq!(delete(&store, &job).await, KEPT, "not before the clock is judged");
        watch(&store).await;
        store
    };
    // Off for three days: that is usual. For ten: who knows.
    clock.advance(DAY * 3);
    assert_eq!(cause(&restart().await).await, None);
    clock.advance(DAY * 10);
    let store = restart().await;
    assert_eq!(cause(&store).await, Some(PauseCause::LongDowntime));
    store.confirm_clocks(Some(SERVER)).await.unwrap();
    watch(&store).await;
    assert_eq!(cause(&store).await, None);
    // A jump; the pause outlives restarts, and the hours of both processes add up.
    clock.jump(AGES);
    assert_eq!(delete(&store, &job).await, KEPT);
    watch(&store).await;
    clock.advance(HOUR * 14);
    watch(&store).await;
    let store = restart().await;
    clock.advance(HOUR * 9);
    watch(&store).await;
    assert_eq!((delete(&store, &job).await, cause(&store).await), (KEPT, Some(PauseCause::SteppedAhead)));
    // Back in time once more, and the clock is right.
    clock.jump(-AGES);
    watch(&store).await;
    assert_eq!((delete(&store, &job).await, cause(&store).await), (KEPT, None));
    // A jump while no server runs, confirmed while none runs.
    clock.jump(AGES);
    let store = restart().await;
    assert_eq!((delete(&store, &job).await, cause(&store).await), (KEPT, Some(PauseCause::LongDowntime)));
    drop(store);
    reopen().await.confirm_clocks(Some(SERVER)).await.unwrap();
    let store = restart().await;
    assert_eq!((delete(&store, &job).await, cause(&store).await), (GONE, None));
}

#[tokio::test]
async fn a_restart_on_sqlite_is_no_way_around_a_pause() {
    let SqliteTest { dir, clock, .. } = SqliteTest::new().await;
    restarts(async || open(&dir, clock.clone()).await, &clock).await;
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_restart_on_postgres_is_no_way_around_a_pause() {
    let PostgresTest { dir, clock, database, .. } = PostgresTest::new().await;
    restarts(async || open_postgres(&database, &dir, clock.clone()).await.unwrap(), &clock).await;
}

/// A database of before there were records is judged by its newest job.
#[tokio::test]
async fn an_upgraded_database_that_is_long_past_its_newest_job_deletes_nothing() {
    let SqliteTest { dir, clock, store } = SqliteTest::new().await;
    let project = project(&store, "acme").await;
    let job = ended_job(&store, &project).await;
    let pool = sqlx::SqlitePool::connect(dir.path().join("docwright.db").to_str().unwrap()).await.unwrap();
    for (passed, expected) in [(DAY, None), (AGES, Some(PauseCause::LongDowntime))] {
        clock.advance(passed);
        sqlx::query("DELETE FROM clocks").execute(&pool).await.unwrap();
        let beside = open(&dir, clock.clone()).await;
        watch(&beside).await;
        assert_eq!((delete(&beside, &job).await, cause(&beside).await), (KEPT, expected));
    }
}

/// The server's clock and the database's, apart.
struct TwoClocks {
    server: Arc<TestClock>,
    database: Arc<TestClock>,
}

impl Clock for TwoClocks {
    fn now(&self) -> Timestamp {
        self.server.now()
    }

    fn monotonic(&self) -> Duration {
        self.server.monotonic()
    }

    fn test_override(&self) -> Option<Timestamp> {
        Some(self.database.now())
    }
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn on_postgres_the_jump_of_either_clock_pauses_deletion() {
    let PostgresTest { dir, clock, database, .. } = PostgresTest::new().await;
    let server = Arc::new(TestClock::at(clock.now()));
    let clocks = Arc::new(TwoClocks { server: server.clone(), database: clock.clone() });
    let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    let url = database.url().parse().unwrap();
    let store = PostgresStore::open(&url, base::sqlite::Schema::MustMatch, master, clocks).await.unwrap();
    watch(&store).await;
    let project = project(&store, "acme").await;
    let job = ended_job(&store, &project).await;
    let paused = async || {
        let paused = store.paused_clocks(Some(SERVER)).await.unwrap();
        paused.into_iter().map(|(clock, _)| clock).collect::<Vec<_>>()
    };
    for (one, name) in [(&clock, ClockName::Database), (&server, ClockName::Server)] {
        one.jump(AGES);
        watch(&store).await;
        assert_eq!((delete(&store, &job).await, paused().await), (KEPT, vec![name]));
        assert!(store.clock_guard().is_paused());
        one.jump(-AGES);
        watch(&store).await;
        assert!(paused().await.is_empty() && !store.clock_guard().is_paused());
    }
    // Nobody but the database's clock says how old a job is.
    server.advance(DAY * 90);
    clock.advance(DAY * 89);
    watch(&store).await;
    store.confirm_clocks(Some(SERVER)).await.unwrap();
    watch(&store).await;
    assert_eq!(delete(&store, &job).await, KEPT);
    clock.advance(DAY);
    server.advance(DAY);
    watch(&store).await;
    assert_eq!(delete(&store, &job).await, GONE);
}
