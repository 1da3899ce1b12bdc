use base::TestClock;
use store::{NewPull, PullState, Store};

use crate::{every_backend, project};

every_backend! { a_job_has_one_pull_request_ever, an_open_one_is_adopted_by_the_next_job, a_settled_pull_request_stays_settled }

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

async fn an_open_one_is_adopted_by_the_next_job(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await.id;
    let first = store.open_pull(&project, &new("topic")).await.unwrap();
    let next = NewPull { job: "job-2".into(), ..new("topic") };
    assert_eq!(store.open_pull(&project, &next).await.unwrap(), first);
    store.settle_pull(&project, 1, PullState::Closed, "c0ffee", None).await.unwrap();
    assert_eq!(store.open_pull(&project, &next).await.unwrap().number, 2);
    // The first job finds its own again, closed as it is.
    assert_eq!(store.open_pull(&project, &new("topic")).await.unwrap().number, 1);
}

async fn a_settled_pull_request_stays_settled(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await.id;
    store.open_pull(&project, &new("docwright/1")).await.unwrap();
    assert!(store.settle_pull(&project, 1, PullState::Merged, "d00d", Some("5ea1")).await.unwrap());
    assert!(!store.settle_pull(&project, 1, PullState::Closed, "c0ffee", None).await.unwrap());
    let kept = store.open_pull(&project, &new("docwright/1")).await.unwrap();
    assert_eq!((kept.state, kept.merge_commit.as_deref()), (PullState::Merged, Some("5ea1")));
    assert_eq!(kept.head_commit, "d00d");
}
