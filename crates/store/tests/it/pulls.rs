use base::{Clock, TestClock};
use jiff::SignedDuration;
use store::{Job, Merge, NewPull, Project, PullState, Receipt, Store};

use crate::follow_ups::{follow_up, leased};
use crate::jobs::{done, job};
use crate::{every_backend, project};

every_backend! {
    a_job_has_one_pull_request_ever,
    an_open_pull_request_is_adopted_by_the_next_job,
    a_settled_pull_request_stays_settled,
    a_new_state_of_a_pull_request_is_recorded_once_for_each_of_its_jobs,
    a_settled_pull_request_adds_an_event_to_its_job,
    a_run_that_ends_after_the_merge_keeps_the_merged_state,
    a_first_run_that_ends_after_the_merge_keeps_the_merged_state,
    a_reopened_pull_request_takes_follow_ups_again,
    merges_are_listed_by_time,
}

pub(crate) const LINK: &str = "https://git.example/acme/docs/pulls/7";

fn new(head: &str) -> NewPull {
    NewPull {
        job: "job-1".into(),
        title: "Fix links".into(),
        body: "All of them".into(),
        head: head.into(),
        base: "main".into(),
        head_commit: "c0ffee".into(),
        base_commit: "ba5e".into(),
    }
}

async fn a_job_has_one_pull_request_ever(store: &dyn Store, _: &TestClock) {
    let (mine, theirs) = (project(store, "acme").await.id, project(store, "globex").await.id);
    let first = store.open_pull(&mine, &new("docwright/1")).await.unwrap();
    let again =
        store.open_pull(&mine, &NewPull { title: "Other".into(), ..new("docwright/1") }).await.unwrap();
    assert_eq!(again, first);
    let more = NewPull { body: "And images".into(), ..new("docwright/1") };
    for _ in 0..2 {
        let told = store.open_pull(&mine, &more).await.unwrap();
        assert_eq!(told.body, "All of them\n\n## Then\n\nAnd images");
    }
    let first = store.pull(&mine, 1).await.unwrap().unwrap();
    let numbers = [
        first.number,
        store.open_pull(&mine, &new("docwright/2")).await.unwrap().number,
        store.open_pull(&theirs, &new("docwright/1")).await.unwrap().number,
    ];
    assert_eq!(numbers, [1, 2, 1]);
    assert_eq!(store.pulls_by_head(&mine, "docwright/1").await.unwrap(), std::slice::from_ref(&first));
    assert_eq!(store.pull(&mine, 1).await.unwrap(), Some(first));
    assert_eq!(store.pull(&mine, 3).await.unwrap(), None);
    let listed: Vec<_> = store.pulls(&mine, 10).await.unwrap().into_iter().map(|p| p.number).collect();
    assert_eq!(listed, [2, 1]);
}

async fn an_open_pull_request_is_adopted_by_the_next_job(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await.id;
    let first = store.open_pull(&project, &new("topic")).await.unwrap();
    let next = NewPull { job: "job-2".into(), ..new("topic") };
    assert_eq!(store.open_pull(&project, &next).await.unwrap(), first);
    store.close_or_merge_pull(&project, 1, PullState::Closed, "c0ffee", None).await.unwrap();
    assert_eq!(store.open_pull(&project, &next).await.unwrap().number, 2);
    // The first job finds its own again, closed as it is.
    assert_eq!(store.open_pull(&project, &new("topic")).await.unwrap().number, 1);
}

async fn a_settled_pull_request_stays_settled(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await.id;
    store.open_pull(&project, &new("docwright/1")).await.unwrap();
    assert!(store.close_or_merge_pull(&project, 1, PullState::Merged, "d00d", Some("5ea1")).await.unwrap());
    assert!(!store.close_or_merge_pull(&project, 1, PullState::Closed, "c0ffee", None).await.unwrap());
    let kept = store.open_pull(&project, &new("docwright/1")).await.unwrap();
    assert_eq!((kept.state, kept.merge_commit.as_deref()), (PullState::Merged, Some("5ea1")));
    assert_eq!(kept.head_commit, "d00d");
}

/// A job that ended with the pull request at [`LINK`].
pub(crate) async fn published(store: &dyn Store, project: &Project) -> Job {
    let made = job(store, project).await;
    assert!(store.finish(&leased(store).await, done(Some(LINK)), 0).await.unwrap().is_none());
    made
}

/// The states of its pull request in the job's events. Its events must have no gap.
pub(crate) async fn pull_states(store: &dyn Store, job: &Job) -> Vec<String> {
    let events = store.events(&job.project, &job.id, 0).await.unwrap().unwrap();
    assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64), "{events:?}");
    let of_pulls = events.iter().filter(|event| event.kind == "pull_request");
    of_pulls.map(|event| event.data["state"].as_str().unwrap().to_owned()).collect()
}

async fn refused(store: &dyn Store, job: &Job) -> String {
    match follow_up(store, job, "More").await {
        Receipt::Refused(sentence) => sentence,
        other => panic!("{other:?}"),
    }
}

async fn a_new_state_of_a_pull_request_is_recorded_once_for_each_of_its_jobs(
    store: &dyn Store,
    _: &TestClock,
) {
    let (mine, theirs) = (project(store, "acme").await, project(store, "globex").await);
    let (first, second) = (published(store, &mine).await, published(store, &mine).await);
    let foreign = published(store, &theirs).await;
    let without = job(store, &mine).await;
    let note = async |link: &str, state| store.record_pull_state(&mine.id, link, state).await.unwrap();
    assert_eq!(note(LINK, PullState::Open).await, 0, "that it is open is known since it was opened");
    assert_eq!(note(LINK, PullState::Closed).await, 2);
    assert_eq!(note(LINK, PullState::Closed).await, 0, "a replay is no news");
    assert_eq!(note(LINK, PullState::Merged).await, 2);
    assert_eq!(note("https://git.example/acme/docs/pulls/8", PullState::Merged).await, 0);
    for job in [&first, &second] {
        assert_eq!(pull_states(store, job).await, ["closed", "merged"]);
    }
    for job in [&foreign, &without] {
        assert!(pull_states(store, job).await.is_empty());
    }
    assert_eq!(refused(store, &first).await, "the job's pull request is merged; create a new job");
    assert!(matches!(follow_up(store, &foreign, "More").await, Receipt::Done { .. }));
}

async fn a_settled_pull_request_adds_an_event_to_its_job(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (own, adopting) = (published(store, &project).await, published(store, &project).await);
    let of = |job: &Job| NewPull { job: job.id.to_string(), ..new("topic") };
    store.open_pull(&project.id, &of(&own)).await.unwrap();
    store.open_pull(&project.id, &of(&adopting)).await.unwrap();
    let settle =
        async || store.close_or_merge_pull(&project.id, 1, PullState::Merged, "d00d", Some("5ea1")).await;
    assert!(settle().await.unwrap());
    assert!(!settle().await.unwrap());
    // Every job with its link gets the event, once.
    assert_eq!(store.record_pull_state(&project.id, LINK, PullState::Merged).await.unwrap(), 0);
    assert_eq!(pull_states(store, &own).await, ["merged"]);
    assert_eq!(pull_states(store, &adopting).await, ["merged"]);
}

async fn a_run_that_ends_after_the_merge_keeps_the_merged_state(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let job = published(store, &project).await;
    assert!(matches!(follow_up(store, &job, "More").await, Receipt::Done { .. }));
    let lease = leased(store).await;
    assert_eq!(store.record_pull_state(&project.id, LINK, PullState::Merged).await.unwrap(), 1);
    store.record(&lease, vec![]).await.unwrap();
    assert!(store.finish(&lease, done(Some(LINK)), 1).await.unwrap().is_none());
    assert_eq!(pull_states(store, &job).await, ["merged"]);
    assert_eq!(refused(store, &job).await, "the job's pull request is merged; create a new job");
}

/// Its worker died before it recorded the link.
async fn a_first_run_that_ends_after_the_merge_keeps_the_merged_state(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let job = job(store, &project).await;
    let lease = leased(store).await;
    let opened = NewPull { job: job.id.to_string(), ..new("topic") };
    store.open_pull(&project.id, &opened).await.unwrap();
    store.close_or_merge_pull(&project.id, 1, PullState::Merged, "d00d", Some("5ea1")).await.unwrap();
    assert!(store.finish(&lease, done(Some(LINK)), 0).await.unwrap().is_none());
    assert_eq!(refused(store, &job).await, "the job's pull request is merged; create a new job");
}

async fn a_reopened_pull_request_takes_follow_ups_again(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let job = published(store, &project).await;
    for (state, news) in [(PullState::Closed, 1), (PullState::Open, 1), (PullState::Open, 0)] {
        assert_eq!(store.record_pull_state(&project.id, LINK, state).await.unwrap(), news);
    }
    assert!(matches!(follow_up(store, &job, "More").await, Receipt::Done { .. }));
    assert_eq!(pull_states(store, &job).await, ["closed", "open"]);
}

async fn merges_are_listed_by_time(store: &dyn Store, clock: &TestClock) {
    let (mine, theirs) = (project(store, "acme").await, project(store, "globex").await);
    // Two jobs have one pull request: it is merged once.
    let jobs = [published(store, &mine).await.id, published(store, &mine).await.id];
    let (hour, start) = (SignedDuration::from_hours(1), clock.now());
    clock.advance(hour);
    store.record_pull_state(&mine.id, LINK, PullState::Merged).await.unwrap();
    let merges = async |of: &Project, from: i32, to: i32| {
        store.merges(&of.id, start + hour * from, start + hour * to, 10).await.unwrap()
    };
    let found = merges(&mine, 1, 2).await;
    let [Merge { at, job, link, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((*at, link.as_str()), (start + hour, LINK));
    assert!(jobs.contains(job));
    assert!(merges(&mine, 0, 1).await.is_empty() && merges(&mine, 2, 3).await.is_empty());
    assert!(merges(&theirs, 0, 9).await.is_empty());
    store.record_pull_state(&mine.id, LINK, PullState::Open).await.unwrap();
    assert!(merges(&mine, 0, 9).await.is_empty());
}
