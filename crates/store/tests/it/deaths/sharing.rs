//! Deaths of suspects that share their worker.

use super::*;

/// Leases a suspect that called its model a while ago, so that its worker runs other jobs, too.
async fn shares(store: &dyn Store, clock: &TestClock) -> Lease {
    let held = lease(store, &steady(store, clock).await).await.unwrap();
    start_alone(store, &held).await;
    store.note(&held, vec![Note::Activity(Activity::Sharing)]).await.unwrap();
    held
}

pub(super) async fn a_suspect_that_shares_its_worker_counts_its_deaths(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let suspects = [job(store, &project).await, job(store, &project).await];
    for n in 1..=2 {
        assert!(lease(store, &worker(n)).await.is_some() && lease(store, &worker(n)).await.is_some());
        clock.advance(LEASE);
    }
    assert!(lease(store, &worker(3)).await.is_none(), "two suspects");
    let held = shares(store, clock).await;
    assert!(suspects.iter().any(|suspect| suspect.id == held.job.id));
    assert!(lease(store, &held.worker).await.is_none(), "no other suspect joins it");
    let other = job(store, &project).await;
    let beside = lease(store, &held.worker).await.expect("other jobs do");
    assert_eq!(beside.job.id, other.id);
    store.finish(&beside, done(None), 0).await.unwrap();
    // When its call ends, it is alone again.
    store.note(&held, vec![Note::Activity(Activity::Working)]).await.unwrap();
    let next = job(store, &project).await;
    assert!(lease(store, &held.worker).await.is_none());
    store.note(&held, vec![Note::Activity(Activity::Sharing)]).await.unwrap();
    clock.advance(LEASE);
    assert_eq!(lease(store, &worker(4)).await.unwrap().job.id, next.id);
    assert_eq!(find(store, &held.job).await.status, Status::Failed, "nobody else worked");
}

pub(super) async fn a_suspect_is_not_given_up_for_the_first_death_beside_another_job(
    store: &dyn Store,
    clock: &TestClock,
) {
    let project = project(store, "acme").await;
    let made = suspect(store, clock, &project).await;
    for is_last in [false, true] {
        let held = shares(store, clock).await;
        assert_eq!(held.job.id, made.id);
        let other = job(store, &project).await;
        assert_eq!(lease(store, &held.worker).await.unwrap().job.id, other.id);
        clock.advance(LEASE);
        let again = lease(store, &WorkerId::random()).await.expect("the other is no suspect");
        assert_eq!(again.job.id, other.id);
        store.finish(&again, done(None), 0).await.unwrap();
        let expected = if is_last { Status::Failed } else { Status::Active };
        assert_eq!(find(store, &made).await.status, expected);
    }
}
