//! Idempotency keys, rate limits, follow-ups and archive.

use std::collections::BTreeMap;

use base::TestClock;
use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::json;
use store::{
    Archived, Change, IdempotencyKey, Job, LEASE, Limit, NewJob, Project, ProjectId, Prompt, Quotation,
    Receipt, Render, Resume, Status, Store, StoreError, Terms,
};

use crate::jobs::{MILLISECOND, done, job, new_job, page, worker};
use crate::{every_backend, project};

every_backend! {
    an_idempotent_request_is_replayed,
    a_rate_limit_counts_accepted_requests,
    concurrent_requests_are_admitted_separately,
    a_follow_up_to_an_ended_job_starts_a_new_run,
    context_is_stored_with_jobs_and_follow_ups,
    an_unread_message_keeps_a_run_from_ending,
    a_message_is_unread_until_its_change_is_stored,
    an_idle_job_is_archived_at_once_and_for_good,
    a_running_job_is_archived_when_its_worker_releases_it,
    a_running_job_is_archived_when_its_workers_lease_ends,
    a_settled_pull_request_takes_no_follow_up,
    jobs_on_one_branch_run_one_at_a_time,
    a_job_on_its_own_branch_waits_for_one_that_adopted_it,
}

pub(crate) async fn follow_up(store: &dyn Store, job: &Job, prompt: &str) -> Receipt {
    let prompt = Prompt::parse(prompt).unwrap();
    store.message(&job.project, &job.id, &prompt, &Terms::default()).await.unwrap().unwrap()
}

pub(crate) fn once(key: &str, body: &str) -> Terms {
    let render = Render(std::sync::Arc::new(|job: &Job| format!("answer for {}", job.id)));
    Terms { once: Some((IdempotencyKey::new(key, body.as_bytes()), render)), ..Terms::default() }
}

async fn an_idempotent_request_is_replayed(store: &dyn Store, clock: &TestClock) {
    let (project, other) = (project(store, "acme").await, project(store, "globex").await);
    let insert =
        async |project: &Project, terms: Terms| store.insert(&new_job(project), &terms).await.unwrap();
    let Receipt::Done { job, .. } = insert(&project, once("k", "body")).await else { panic!() };
    let again = insert(&project, once("k", "body")).await;
    assert!(matches!(again, Receipt::Replayed(answer) if answer == format!("answer for {}", job.id)));
    assert!(matches!(insert(&project, once("k", "other body")).await, Receipt::KeyReused));
    assert_eq!(store.list(&project.id, &page(10, 0)).await.unwrap().items.len(), 1);
    // The key is the project's and the operation's own.
    assert!(matches!(insert(&other, once("k", "body")).await, Receipt::Done { .. }));
    let prompt = Prompt::parse("More").unwrap();
    let message =
        async || store.message(&project.id, &job.id, &prompt, &once("k", "body")).await.unwrap().unwrap();
    assert!(matches!(message().await, Receipt::Done { .. }));
    assert!(matches!(message().await, Receipt::Replayed(_)));
    clock.advance(SignedDuration::from_hours(24));
    assert!(matches!(insert(&project, once("k", "other body")).await, Receipt::Done { .. }));
}

async fn a_rate_limit_counts_accepted_requests(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let limit = Limit { bucket: "jobs".into(), max: 2 };
    let limited = |terms: Terms| Terms { limit: Some(limit.clone()), ..terms };
    let insert = async |terms: Terms| store.insert(&new_job(&project), &limited(terms)).await.unwrap();
    let Receipt::Done { usage, .. } = insert(once("k", "body")).await else { panic!() };
    assert_eq!(usage.map(|usage| (usage.max, usage.left)), Some((2, 1)));
    assert!(matches!(insert(once("k", "body")).await, Receipt::Replayed(_))); // costs nothing
    assert!(matches!(insert(Terms::default()).await, Receipt::Done { .. }));
    let Receipt::LimitReached(usage) = insert(Terms::default()).await else { panic!() };
    assert_eq!((usage.left, usage.resets_at.to_string().as_str()), (0, "2026-11-15T13:00:00Z"));
    assert!(store.count(&limit).await.unwrap().is_err());
    assert_eq!(store.list(&project.id, &page(10, 0)).await.unwrap().items.len(), 2);
    clock.advance(SignedDuration::from_hours(1));
    assert_eq!(store.count(&limit).await.unwrap().unwrap().left, 1);
}

/// More than go into one statement. One is first, and the others are kept together.
async fn concurrent_requests_are_admitted_separately(store: &dyn Store, _: &TestClock) {
    let (project, other) = (project(store, "acme").await, crate::project(store, "globex").await);
    let limit = Limit { bucket: "jobs".into(), max: 50 };
    let limited = |terms: Terms| Terms { limit: Some(limit.clone()), ..terms };
    let gone = NewJob { project: ProjectId("prj_gone".into()), ..new_job(&project) };
    let terms = |n: u32| match n {
        ..20 => once(&format!("key {}", n / 2), "body"),
        20 => once("key 0", "another body"),
        _ => Terms::default(),
    };
    let asked = (0..80).map(async |n| store.insert(&new_job(&project), &limited(terms(n))).await.unwrap());
    let beside = async { store.insert(&new_job(&other), &Terms::default()).await };
    let lost = async { store.insert(&gone, &Terms::default()).await };
    let (receipts, beside, lost) = tokio::join!(join_all(asked), beside, lost);
    assert!(matches!(beside, Ok(Receipt::Done { .. })), "{beside:?}");
    assert!(lost.is_err(), "{lost:?}");
    let count = |is: fn(&Receipt) -> bool| receipts.iter().filter(|receipt| is(receipt)).count();
    assert_eq!(count(|receipt| matches!(receipt, Receipt::Replayed(_))), 10);
    assert_eq!(count(|receipt| matches!(receipt, Receipt::KeyReused)), 1);
    assert_eq!(count(|receipt| matches!(receipt, Receipt::LimitReached(_))), 19);
    let done = receipts.iter().filter_map(|receipt| match receipt {
        Receipt::Done { job, usage } => Some((usage.unwrap().left, job)),
        _ => None,
    });
    let done: BTreeMap<_, _> = done.collect();
    assert!(done.keys().copied().eq(0..50), "each is counted once");
    assert_eq!(store.list(&project.id, &page(100, 0)).await.unwrap().items.len(), 50);
    for told in done.values() {
        let kept = store.find(&project.id, &told.id).await.unwrap().unwrap();
        assert_eq!(format!("{kept:?}"), format!("{told:?}"));
        let events = store.events(&project.id, &told.id, 0).await.unwrap().unwrap();
        assert_eq!(
            events.iter().map(|event| (event.number, &*event.kind)).collect::<Vec<_>>(),
            [(1, "created")]
        );
    }
}

pub(crate) async fn leased(store: &dyn Store) -> store::Lease {
    store.heartbeat(&worker(1)).await.unwrap();
    store.lease_next(&worker(1)).await.unwrap().unwrap()
}

pub(crate) fn change() -> Change {
    Change {
        head_commit: "c0ffee".into(),
        title: "Fix links".into(),
        body: "All".into(),
        report: json!(null),
        diff: "diff".into(),
    }
}

async fn a_follow_up_to_an_ended_job_starts_a_new_run(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let first = leased(store).await;
    store.set_base(&first, "main", "ba5e").await.unwrap();
    store.set_change(&first, &change(), 0).await.unwrap();
    assert!(store.finish(&first, done(Some("https://x/pulls/1")), 0).await.unwrap().is_none());

    let Receipt::Done { job, .. } = follow_up(store, &made, "And images").await else { panic!() };
    assert_eq!((job.status, job.run, job.attempt), (Status::Active, 2, 0));
    assert_eq!(job.pr_link.as_deref(), Some("https://x/pulls/1"), "the link is kept during a follow-up");
    let second = leased(store).await;
    let expected =
        Resume { origin: Some("ba5e".into()), base: None, change: None, pushed: false, put_off: 0 };
    assert_eq!(second.resume, expected);
    let unread = store.unread(&second).await.unwrap();
    assert_eq!(unread.iter().map(|m| (m.number, m.prompt.as_str())).collect::<Vec<_>>(), [(1, "And images")]);
    assert_eq!(store.diff(&project.id, &made.id).await.unwrap().unwrap(), "diff", "as it stands");
    assert!(store.finish(&second, done(None), 1).await.unwrap().is_none());
    let kinds: Vec<_> =
        store.events(&project.id, &made.id, 0).await.unwrap().unwrap().into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, ["created", "started", "ended", "message", "started", "ended"]);
}

async fn context_is_stored_with_jobs_and_follow_ups(store: &dyn Store, _: &TestClock) {
    let (project, other) = (project(store, "acme").await, project(store, "globex").await);
    let quoted = |text: &str| vec![Quotation { label: "Ticket \"7\"\n".into(), text: text.into() }];
    let prompt = Prompt::with_context("Fix links", quoted("é'\\ \u{1f600}")).unwrap();
    let new = NewJob { prompt, ..new_job(&project) };
    let Receipt::Done { job, .. } = store.insert(&new, &Terms::default()).await.unwrap() else { panic!() };
    assert_eq!(job.context, quoted("é'\\ \u{1f600}"));
    assert_eq!(store.find(&project.id, &job.id).await.unwrap().unwrap().context, job.context);
    assert_eq!(store.list(&project.id, &page(1, 0)).await.unwrap().items[0].context, job.context);
    assert!(store.find(&other.id, &job.id).await.unwrap().is_none());

    let lease = leased(store).await;
    assert_eq!(lease.job.context, job.context);
    let more = Prompt::with_context("More", quoted("b")).unwrap();
    store.message(&project.id, &job.id, &more, &Terms::default()).await.unwrap().unwrap();
    follow_up(store, &job, "And more").await;
    let waiting = store.unread(&lease).await.unwrap();
    assert_eq!((&waiting[0].context, &waiting[1].context), (&quoted("b"), &vec![]));
    let events = store.events(&project.id, &job.id, 0).await.unwrap().unwrap();
    let told: Vec<_> = events.iter().filter(|event| event.kind == "message").collect();
    assert_eq!(told[0].data["context"], json!([{ "label": "Ticket \"7\"\n", "text": "b" }]));
    assert!(!told[1].data.contains_key("context"), "an event without quotations is as it was");
}

async fn an_unread_message_keeps_a_run_from_ending(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    store.set_base(&lease, "main", "ba5e").await.unwrap();
    store.set_change(&lease, &change(), 0).await.unwrap();
    follow_up(store, &made, "And images").await;
    let next = store.finish(&lease, done(Some("https://host/pulls/1")), 0).await.unwrap().unwrap();
    assert_eq!((next.job.status, next.job.run), (Status::Active, 2));
    assert_eq!(next.job.pr_link.as_deref(), Some("https://host/pulls/1"));
    // It starts from what is on the branch by then, and knows what the job began with.
    assert_eq!(
        next.resume,
        Resume { origin: Some("ba5e".into()), base: None, change: None, pushed: false, put_off: 0 }
    );
    assert_eq!(store.unread(&next).await.unwrap().len(), 1);
    assert!(store.finish(&next, done(None), 1).await.unwrap().is_none());
    let ended = store.find(&project.id, &made.id).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.pr_link), (Status::Completed, next.job.pr_link));
}

async fn a_message_is_unread_until_its_change_is_stored(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    follow_up(store, &made, "And images").await;
    let lease = leased(store).await;
    assert_eq!(store.unread(&lease).await.unwrap().len(), 1);
    clock.advance(LEASE); // died while it worked on it
    let lease = store.lease_next(&worker(2)).await.unwrap().unwrap();
    assert_eq!(store.unread(&lease).await.unwrap().len(), 1);
    store.set_change(&lease, &change(), 1).await.unwrap();
    assert!(store.unread(&lease).await.unwrap().is_empty());
}

async fn archived(store: &dyn Store, job: &Job) -> Archived {
    store.archive(&job.project, &job.id).await.unwrap().unwrap()
}

async fn an_idle_job_is_archived_at_once_and_for_good(store: &dyn Store, clock: &TestClock) {
    let (project, other) = (project(store, "acme").await, project(store, "globex").await);
    let made = job(store, &project).await;
    assert!(store.archive(&other.id, &made.id).await.unwrap().is_none());
    let Archived::Done(first) = archived(store, &made).await else { panic!() };
    assert_eq!(first.status, Status::Archived);
    clock.advance(MILLISECOND);
    let Archived::Done(again) = archived(store, &made).await else { panic!() };
    assert_eq!(again.archived_at, first.archived_at);
    assert!(
        matches!(follow_up(store, &made, "More").await, Receipt::Refused(why) if why.contains("create a new job"))
    );
    store.heartbeat(&worker(1)).await.unwrap();
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
}

async fn a_running_job_is_archived_when_its_worker_releases_it(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    assert!(store.jobs_to_stop(&worker(1)).await.unwrap().is_empty());
    assert!(matches!(archived(store, &made).await, Archived::Waiting));
    assert_eq!(store.jobs_to_stop(&worker(1)).await.unwrap(), std::slice::from_ref(&made.id));
    // From now on not one more write of it is taken.
    assert!(matches!(store.set_base(&lease, "main", "c").await, Err(StoreError::LeaseLost(_))));
    assert!(matches!(store.finish(&lease, done(Some("x")), 0).await, Err(StoreError::LeaseLost(_))));
    assert!(matches!(archived(store, &made).await, Archived::Waiting));
    store.release(&lease).await.unwrap();
    let Archived::Done(job) = archived(store, &made).await else { panic!() };
    assert_eq!((job.status, job.pr_link), (Status::Archived, None));
    assert!(store.jobs_to_stop(&worker(1)).await.unwrap().is_empty());
}

async fn a_running_job_is_archived_when_its_workers_lease_ends(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let (asked, silent) = (job(store, &project).await, job(store, &project).await);
    leased(store).await;
    leased(store).await;
    assert!(matches!(archived(store, &asked).await, Archived::Waiting));
    assert!(matches!(archived(store, &silent).await, Archived::Waiting));
    clock.advance(LEASE);
    assert!(matches!(archived(store, &asked).await, Archived::Done(_)));
    // Nobody asks for the other one again: the next worker that looks for work archives it.
    store.heartbeat(&worker(2)).await.unwrap();
    assert!(store.lease_next(&worker(2)).await.unwrap().is_none());
    assert_eq!(store.find(&project.id, &silent.id).await.unwrap().unwrap().status, Status::Archived);
}

async fn a_settled_pull_request_takes_no_follow_up(store: &dyn Store, _: &TestClock) {
    use store::{NewPull, PullState};
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let pull = NewPull {
        job: made.id.0.clone(),
        title: "t".into(),
        body: "b".into(),
        head: made.branch.clone(),
        base: "main".into(),
        head_commit: "c".into(),
        base_commit: "b".into(),
    };
    store.open_pull(&project.id, &pull).await.unwrap();
    assert!(matches!(follow_up(store, &made, "More").await, Receipt::Done { .. }));
    store.close_or_merge_pull(&project.id, 1, PullState::Merged, "c", None).await.unwrap();
    let refused = follow_up(store, &made, "More").await;
    assert!(
        matches!(refused, Receipt::Refused(why) if why == "the job's pull request is merged; create a new job")
    );
}

async fn jobs_on_one_branch_run_one_at_a_time(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let on = |branch: &str| NewJob { branch: Some(branch.into()), ..new_job(&project) };
    for branch in ["topic", "topic", "other"] {
        store.insert(&on(branch), &Terms::default()).await.unwrap();
    }
    let (first, second) = (leased(store).await, leased(store).await);
    assert_eq!((first.job.branch.as_str(), second.job.branch.as_str()), ("topic", "other"));
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none());
    assert!(store.finish(&first, done(None), 0).await.unwrap().is_none());
    assert_eq!(leased(store).await.job.branch, "topic");
}

async fn a_job_on_its_own_branch_waits_for_one_that_adopted_it(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let own = job(store, &project).await;
    let first = leased(store).await;
    assert!(store.finish(&first, done(None), 0).await.unwrap().is_none());
    let adopts = NewJob { branch: Some(own.branch.clone()), ..new_job(&project) };
    store.insert(&adopts, &Terms::default()).await.unwrap();
    let adopting = leased(store).await;
    assert_eq!((adopting.job.branch.as_str(), adopting.job.adopts), (own.branch.as_str(), true));
    follow_up(store, &own, "And images").await;
    assert!(store.lease_next(&worker(1)).await.unwrap().is_none(), "its branch is somebody's");
    assert!(store.finish(&adopting, done(None), 0).await.unwrap().is_none());
    assert_eq!(leased(store).await.job.id, own.id);
}
