//! The diff of a failed run is answered until a run does better.

use base::TestClock;
use store::{Change, Ending, Job, LEASE, Outcome, Status, Store, StoreError};

use crate::follow_ups::{change, follow_up, leased};
use crate::jobs::{done, job};
use crate::{SqliteTest, every_backend, open, project};

every_backend! {
    a_failed_run_shows_its_diff,
    a_later_failure_shows_its_own_diff_if_it_has_one,
    a_change_replaces_a_failed_diff,
    a_run_that_changes_nothing_drops_a_failed_diff,
    a_published_change_is_not_hidden_by_a_failure,
    a_later_failure_replaces_an_unpublished_change,
    a_failed_run_before_a_follow_up_keeps_its_diff,
    a_lost_lease_leaves_no_diff,
}

pub(crate) fn failed(diff: Option<&str>) -> Ending {
    Ending { outcome: Outcome::FAILED, diff: diff.map(str::to_owned), ..done(None) }
}

async fn diff_of(store: &dyn Store, job: &Job) -> String {
    store.diff(&job.project, &job.id).await.unwrap().unwrap()
}

/// One run that notes `made`, if anything, and ends so.
async fn run(store: &dyn Store, made: Option<&str>, ending: Ending) {
    let lease = leased(store).await;
    if let Some(diff) = made {
        store.set_change(&lease, &Change { diff: diff.into(), ..change() }, 9).await.unwrap();
    }
    assert!(store.finish(&lease, ending, 9).await.unwrap().is_none());
}

/// A job whose first run failed and left `first`.
async fn failed_job(store: &dyn Store) -> Job {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    run(store, None, failed(Some("first"))).await;
    made
}

async fn a_failed_run_shows_its_diff(store: &dyn Store, _: &TestClock) {
    let made = failed_job(store).await;
    assert_eq!(diff_of(store, &made).await, "first");
    let found = store.find(&made.project, &made.id).await.unwrap().unwrap();
    assert_eq!((found.status, found.pr_link), (Status::Failed, None));
    let ended = store.events(&made.project, &made.id, 0).await.unwrap().unwrap().pop().unwrap();
    assert!(!ended.data.contains_key("diff"), "events are for reading in passing");
    follow_up(store, &made, "More").await;
    assert_eq!(leased(store).await.resume.change, None, "it is nothing to go on from");
    assert_eq!(diff_of(store, &made).await, "first", "while the next run is on its way");
}

async fn a_later_failure_shows_its_own_diff_if_it_has_one(store: &dyn Store, _: &TestClock) {
    let made = failed_job(store).await;
    for (left, expected) in [(None, "first"), (Some("third"), "third")] {
        follow_up(store, &made, "Again").await;
        run(store, None, failed(left)).await;
        assert_eq!(diff_of(store, &made).await, expected);
    }
}

async fn a_change_replaces_a_failed_diff(store: &dyn Store, _: &TestClock) {
    let made = failed_job(store).await;
    follow_up(store, &made, "Again").await;
    run(store, Some("second"), done(Some("https://x/pulls/1"))).await;
    assert_eq!(diff_of(store, &made).await, "second");
}

async fn a_run_that_changes_nothing_drops_a_failed_diff(store: &dyn Store, _: &TestClock) {
    let made = failed_job(store).await;
    follow_up(store, &made, "Never mind").await;
    run(store, None, done(None)).await;
    assert_eq!(diff_of(store, &made).await, "");
}

async fn a_published_change_is_not_hidden_by_a_failure(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    run(store, Some("published"), done(Some("https://x/pulls/1"))).await;
    follow_up(store, &made, "More").await;
    run(store, None, failed(Some("second"))).await;
    assert_eq!(diff_of(store, &made).await, "published");
}

async fn a_later_failure_replaces_an_unpublished_change(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    run(store, Some("not pushed"), failed(None)).await;
    assert_eq!(diff_of(store, &made).await, "not pushed");
    follow_up(store, &made, "Again").await;
    run(store, None, failed(Some("second"))).await;
    assert_eq!(diff_of(store, &made).await, "second");
    follow_up(store, &made, "Again").await;
    run(store, Some("third"), failed(None)).await;
    assert_eq!(diff_of(store, &made).await, "third");
}

async fn a_failed_run_before_a_follow_up_keeps_its_diff(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    follow_up(store, &made, "More").await;
    let next = store.finish(&lease, failed(Some("first")), 0).await.unwrap().unwrap();
    assert!(store.finish(&next, failed(None), 1).await.unwrap().is_none());
    assert_eq!(diff_of(store, &made).await, "first");
}

async fn a_lost_lease_leaves_no_diff(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lost = leased(store).await;
    clock.advance(LEASE);
    let late = store.finish(&lost, failed(Some("late")), 0).await;
    assert!(matches!(late, Err(StoreError::LeaseLost(_))));
    assert_eq!(diff_of(store, &made).await, "");
}

#[tokio::test]
async fn a_restart_still_shows_a_failed_diff() {
    let SqliteTest { store, clock, dir } = SqliteTest::new().await;
    let made = failed_job(&store).await;
    drop(store);
    assert_eq!(diff_of(&open(&dir, clock).await, &made).await, "first");
}
