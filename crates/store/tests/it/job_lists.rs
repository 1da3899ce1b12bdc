//! Lists of jobs, their figures and their counts.

use base::TestClock;
use serde_json::json;
use store::{
    Change, Ending, Filter, JobCounts, LEASE, NewJob, Note, Outcome, Prompt, PullFilter, PullState, Status,
    Store, Terms, Tokens,
};

use crate::jobs::{MILLISECOND, done, job, new_job, page, worker};
use crate::{every_backend, project};

every_backend! {
    jobs_are_listed_newest_first_in_pages,
    jobs_are_listed_by_status,
    jobs_are_listed_by_state_of_pull_request_and_text,
    jobs_of_all_projects_are_counted,
    a_job_has_the_size_of_its_change_and_its_tokens,
}

async fn jobs_are_listed_newest_first_in_pages(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, job(store, &project).await.id);
        clock.advance(MILLISECOND);
    }
    let first = store.list(&project.id, &page(3, 0)).await.unwrap();
    let rest = store.list(&project.id, &page(3, 3)).await.unwrap();
    assert!(first.has_more && !rest.has_more);
    let listed: Vec<_> = first.items.into_iter().chain(rest.items).map(|job| job.id).collect();
    assert_eq!(listed, made);
    assert!(store.list(&project.id, &page(3, u64::MAX)).await.unwrap().items.is_empty());
}

async fn jobs_are_listed_by_status(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (first, second) = (job(store, &project).await, job(store, &project).await);
    store.heartbeat(&worker(1)).await.unwrap();
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    for (status, expected) in [(Status::Completed, &first.id), (Status::Active, &second.id)] {
        let filter = Filter { status: Some(status), ..page(10, 0) };
        let listed = store.list(&project.id, &filter).await.unwrap();
        assert_eq!(listed.items.iter().map(|job| &job.id).collect::<Vec<_>>(), [expected]);
    }
}

async fn jobs_are_listed_by_state_of_pull_request_and_text(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    for (prompt, link) in
        [("Fix LINKS", Some("https://x/1")), ("100% of it", None), ("fix typos", Some("https://x/2"))]
    {
        let new = NewJob { prompt: Prompt::parse(prompt).unwrap(), ..new_job(&project) };
        store.insert(&new, &Terms::default()).await.unwrap();
        store.heartbeat(&worker(1)).await.unwrap();
        let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
        store.finish(&lease, done(link), 0).await.unwrap();
    }
    store.record_pull_state(&project.id, "https://x/2", PullState::Merged).await.unwrap();
    let listed = async |pull, words: &str| {
        let filter = Filter { pull, prompt_contains: words.into(), ..page(10, 0) };
        let jobs = store.list(&project.id, &filter).await.unwrap().items;
        jobs.into_iter().map(|job| job.prompt).collect::<Vec<_>>()
    };
    assert_eq!(listed(PullFilter::WithState(PullState::Open), "").await, ["Fix LINKS"]);
    assert_eq!(listed(PullFilter::WithState(PullState::Merged), "").await, ["fix typos"]);
    assert_eq!(listed(PullFilter::Without, "").await, ["100% of it"]);
    assert_eq!(listed(PullFilter::Any, "fix l").await, ["Fix LINKS"]);
    assert_eq!(listed(PullFilter::Any, "%").await, ["100% of it"]);
    assert!(listed(PullFilter::WithState(PullState::Closed), "fix").await.is_empty());
}

async fn a_job_has_the_size_of_its_change_and_its_tokens(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    store.heartbeat(&worker(1)).await.unwrap();
    let lease = store.lease_next(&worker(1)).await.unwrap().unwrap();
    let diff =
        "diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,3 @@\n-one\n+two\n+++ three\n kept\n";
    let change = Change {
        head_commit: "c0ffee".into(),
        title: "T".into(),
        body: String::new(),
        report: json!({}),
        diff: diff.into(),
    };
    let tokens = |input| Tokens { input, output: 5, cached: 0 };
    let said = |input| Note::Entry(json!({}), tokens(input));
    store.note(&lease, vec![said(10), Note::Change(Box::new(change), 0), said(u64::MAX)]).await.unwrap();
    let job = store.find(&project.id, &made.id).await.unwrap().unwrap();
    assert_eq!((job.added, job.removed, job.tokens), (2, 1, i64::MAX as u64));
}

async fn jobs_of_all_projects_are_counted(store: &dyn Store, clock: &TestClock) {
    assert_eq!(store.counts().await.unwrap(), JobCounts::default());
    let (acme, globex) = (project(store, "acme").await, project(store, "globex").await);
    for owner in [&acme, &globex, &acme, &globex, &acme] {
        job(store, owner).await;
    }
    let lease = async || store.lease_next(&worker(1)).await.unwrap().unwrap();
    store.finish(&lease().await, done(None), 0).await.unwrap();
    store.finish(&lease().await, Ending { outcome: Outcome::FAILED, ..done(None) }, 0).await.unwrap();
    let running = lease().await;
    let counts = JobCounts { active: 3, completed: 1, failed: 1, archived: 0, running: 1 };
    assert_eq!(store.counts().await.unwrap(), counts);
    clock.advance(LEASE + MILLISECOND);
    assert_eq!(store.counts().await.unwrap(), JobCounts { running: 0, ..counts });
    store.archive(&running.job.project, &running.job.id).await.unwrap();
    assert_eq!(store.counts().await.unwrap(), JobCounts { active: 2, archived: 1, running: 0, ..counts });
}
