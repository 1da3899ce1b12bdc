//! Sweeps: searches for pull requests of ended jobs, one caller at a time.

use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use store::{Archived, Ending, Job, NewEvent, Outcome, PullState, Status, Store};

use crate::failed_diffs::failed;
use crate::follow_ups::{change, follow_up, leased};
use crate::jobs::{done, job};
use crate::{every_backend, project};

every_backend! {
    an_archive_schedules_a_sweep_if_there_is_a_change,
    a_slow_sweep_is_lost_to_the_next_caller,
    a_sweep_without_result_is_repeated,
    a_failure_after_a_change_schedules_a_sweep,
    a_sweep_of_an_earlier_end_changes_nothing,
}

/// Failed after it stored a change, without a known pull request.
async fn failed_after_change(store: &dyn Store) -> Job {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    store.set_change(&lease, &change(), 0).await.unwrap();
    store.finish(&lease, failed(None), 0).await.unwrap();
    made
}

async fn a_failure_after_a_change_schedules_a_sweep(store: &dyn Store, _: &TestClock) {
    let made = failed_after_change(store).await;
    let sweep = store.next_sweep().await.unwrap().unwrap();
    assert_eq!((&sweep.job.id, sweep.job.status), (&made.id, Status::Failed));
    store.finish_sweep(&sweep, Some(("https://x/pulls/1", PullState::Open)), None).await.unwrap();
    let after = store.find(&made.project, &made.id).await.unwrap().unwrap();
    assert_eq!(
        (after.status, after.pr_link.as_deref(), after.pr_state),
        (Status::Failed, Some("https://x/pulls/1"), Some(PullState::Open))
    );

    // Without a change, or with a known pull request, there is nothing to search for.
    let project = store.project(&made.project).await.unwrap().unwrap();
    for link in [None, Some("https://x/pulls/2".to_owned())] {
        job(store, &project).await;
        let lease = leased(store).await;
        if link.is_some() {
            store.set_change(&lease, &change(), 0).await.unwrap();
        }
        let ending = Ending { outcome: Outcome::Failed { pr_link: link.clone() }, ..failed(None) };
        store.finish(&lease, ending, 0).await.unwrap();
        let ended = store.find(&project.id, &lease.job.id).await.unwrap().unwrap();
        assert_eq!((ended.status, ended.pr_link), (Status::Failed, link));
        assert!(store.next_sweep().await.unwrap().is_none());
    }
}

async fn a_sweep_of_an_earlier_end_changes_nothing(store: &dyn Store, _: &TestClock) {
    let made = failed_after_change(store).await;
    let slow = store.next_sweep().await.unwrap().unwrap();
    follow_up(store, &made, "And images").await;
    store.sweep_again(&slow, Duration::ZERO).await.unwrap();
    assert!(store.next_sweep().await.unwrap().is_none(), "the job runs again");
    store.finish(&leased(store).await, failed(None), 1).await.unwrap();
    store.finish_sweep(&slow, Some(("https://x/late", PullState::Open)), None).await.unwrap();
    let after = store.find(&made.project, &made.id).await.unwrap().unwrap();
    assert_eq!(after.pr_link, None);
    // The archive must close what it finds, so it takes the search over from the failure.
    let slow = store.next_sweep().await.unwrap().unwrap();
    store.archive(&made.project, &made.id).await.unwrap();
    store.finish_sweep(&slow, Some(("https://x/late", PullState::Open)), None).await.unwrap();
    let sweep = store.next_sweep().await.unwrap().unwrap();
    assert_eq!((sweep.job.status, sweep.job.pr_link), (Status::Archived, None));
    assert_eq!(sweep.tries, 1, "each end has its own tries");
}

/// Archived while its worker was publishing.
async fn cut_off(store: &dyn Store) -> Job {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    store.set_change(&lease, &change(), 0).await.unwrap();
    assert!(matches!(store.archive(&project.id, &made.id).await.unwrap(), Some(Archived::Waiting)));
    store.release(&lease).await.unwrap();
    made
}

async fn an_archive_schedules_a_sweep_if_there_is_a_change(store: &dyn Store, _: &TestClock) {
    let made = cut_off(store).await;
    let sweep = store.next_sweep().await.unwrap().unwrap();
    assert_eq!((&sweep.job.id, sweep.tries), (&made.id, 1));
    assert!(store.next_sweep().await.unwrap().is_none(), "it is given to one at a time");
    let event = NewEvent::new("pull_request", "It was closed");
    store.finish_sweep(&sweep, Some(("https://x/pulls/1", PullState::Closed)), Some(event)).await.unwrap();
    let after = store.find(&made.project, &made.id).await.unwrap().unwrap();
    assert_eq!(after.pr_link.as_deref(), Some("https://x/pulls/1"));
    assert_eq!(after.status.as_str(), "archived");
    let events = store.events(&made.project, &made.id, 0).await.unwrap().unwrap();
    assert_eq!(events.last().unwrap().kind, "pull_request");
    assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64));

    // Nothing was made, or it is known: nobody asks.
    let project = store.project(&made.project).await.unwrap().unwrap();
    let (idle, known) = (job(store, &project).await, job(store, &project).await);
    assert!(matches!(store.archive(&project.id, &idle.id).await.unwrap(), Some(Archived::Done(_))));
    let lease = leased(store).await;
    store.set_change(&lease, &change(), 0).await.unwrap();
    store.finish(&lease, done(Some("https://x/pulls/2")), 0).await.unwrap();
    assert!(matches!(store.archive(&project.id, &known.id).await.unwrap(), Some(Archived::Done(_))));
    assert!(store.next_sweep().await.unwrap().is_none());
}

async fn a_slow_sweep_is_lost_to_the_next_caller(store: &dyn Store, clock: &TestClock) {
    let made = cut_off(store).await;
    let slow = store.next_sweep().await.unwrap().unwrap();
    clock.advance(SignedDuration::from_mins(1));
    let next = store.next_sweep().await.unwrap().unwrap();
    assert_eq!(next.tries, 2);
    let late = NewEvent::new("pull_request", "late");
    store.finish_sweep(&slow, Some(("https://x/late", PullState::Closed)), Some(late)).await.unwrap();
    store.sweep_again(&slow, Duration::ZERO).await.unwrap();
    assert!(store.next_sweep().await.unwrap().is_none(), "it is the second one's");
    store.finish_sweep(&next, None, None).await.unwrap();
    assert_eq!(store.find(&made.project, &made.id).await.unwrap().unwrap().pr_link, None);
    clock.advance(SignedDuration::from_hours(24));
    assert!(store.next_sweep().await.unwrap().is_none(), "it is over");
}

async fn a_sweep_without_result_is_repeated(store: &dyn Store, clock: &TestClock) {
    cut_off(store).await;
    let first = store.next_sweep().await.unwrap().unwrap();
    store.sweep_again(&first, Duration::from_secs(300)).await.unwrap();
    clock.advance(SignedDuration::from_secs(299));
    assert!(store.next_sweep().await.unwrap().is_none());
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(store.next_sweep().await.unwrap().unwrap().tries, 2);
}
