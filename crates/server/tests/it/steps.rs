//! A worker that dies in the middle of a step is followed by one that goes on after the last step that
//! was done, and repeats nothing that must not be repeated.

use fakehost::{Effect, Kind};
use serde_json::json;
use server::Worker;
use store::ProjectChange;

use crate::hosts::{NAME, Place, branch};
use crate::support::git;

/// Runs the job until the host is asked for this; there the worker dies, and whoever waits for its
/// lease to end finds the job.
pub(crate) async fn dies_at(place: &Place, method: &str, path: &str) {
    dies_of(place, method, path, Effect::Hang).await;
}

async fn dies_of(place: &Place, method: &str, path: &str, effect: Effect) {
    dies_after(place, method, path, effect, async || true).await;
}

/// Not before the host is `done`.
pub(crate) async fn dies_after(
    place: &Place,
    method: &str,
    path: &str,
    effect: Effect,
    done: impl AsyncFn() -> bool,
) {
    let worker = Worker::new(place.server.app.clone(), 1);
    worker_dies(place, worker, method, path, effect, done).await;
}

pub(crate) async fn worker_dies(
    place: &Place,
    worker: Worker,
    method: &str,
    path: &str,
    effect: Effect,
    done: impl AsyncFn() -> bool,
) {
    place.fake().faults().next(1, method, path, effect);
    let working = tokio::spawn(async move { worker.drain().await });
    while !place.fake().faults().pending().is_empty() || !done().await {
        assert!(!working.is_finished(), "{method} {path} was not asked");
        tokio::task::yield_now().await;
    }
    working.abort();
    assert!(working.await.unwrap_err().is_cancelled());
    place.server.clock.advance(store::LEASE);
}

#[tokio::test]
async fn a_worker_can_die_at_every_request_to_its_host() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        let place = Place::on(kind).await;
        place.completed(&place.create("Replace \"one\" with \"eins\".").await).await;
        let calls: Vec<_> =
            place.fake().requests().into_iter().map(|seen| (seen.method, seen.path)).collect();
        for (n, (method, path)) in calls.iter().enumerate() {
            let path = path.split(['?']).next().unwrap().split("docwright").next().unwrap();
            let job = place.create(&format!("Replace \"two\" with \"zwei {n}\".")).await;
            dies_at(&place, method, path).await;
            place.completed(&job).await;
            let id = job["id"].as_str().unwrap();
            let own = place.pulls().await.into_iter().filter(|pull| pull.body.contains(id)).count();
            assert_eq!(own, 1, "{kind:?}: {method} {path}");
            assert_eq!(place.file(branch(&job), "a.md"), format!("one zwei {n} three"));
        }
    }
}

#[tokio::test]
async fn what_people_push_after_a_worker_died_is_kept_and_nothing_is_pushed_again() {
    let place = Place::on(Kind::GitHub).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    dies_at(&place, "POST", "/pulls").await;
    let theirs = place.fake().push(NAME, branch(&job), &[("b.md", "by hand\n")]).await;
    let before = place.fake().requests().len();
    let done = place.completed(&job).await;
    assert!(done["prLink"].is_string());
    assert_eq!(place.fake().tip(NAME, branch(&job)), Some(theirs));
    let asked = place.fake().requests();
    let git = asked[before..].iter().filter(|seen| seen.path.contains("git-")).count();
    assert_eq!(git, 0, "nothing is fetched or pushed: {:?}", &asked[before..]);
}

#[tokio::test]
async fn labels_and_reviewers_that_a_dead_worker_left_out_are_given() {
    for kind in [Kind::GitHub, Kind::Gitea] {
        let place = Place::on(kind).await;
        place.fake().user("ada");
        let project = &place.team.project.id;
        let change = ProjectChange {
            labels: Some(vec!["docs".into()]),
            reviewers: Some(vec!["ada".into()]),
            ..ProjectChange::default()
        };
        place.server.app.accounts.update_project(project, &change).await.unwrap().unwrap();
        let job = place.create("Replace \"one\" with \"eins\".").await;
        let asked_first = if kind == Kind::GitHub { "POST" } else { "GET" };
        dies_at(&place, asked_first, "/labels").await;
        place.completed(&job).await;
        let pulls = place.fake().pulls(NAME);
        assert_eq!((pulls.len(), &pulls[0].labels), (1, &vec!["docs".to_owned()]), "{kind:?}");
        assert_eq!(pulls[0].reviewers.len(), 1, "{kind:?}");
    }
}

/// The same on another machine: nothing of the dead worker's is there.
#[tokio::test]
async fn another_machine_goes_on_with_what_was_pushed() {
    let place = Place::on(Kind::GitHub).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    dies_at(&place, "GET", "/pulls").await;
    std::fs::remove_dir_all(place.server.data().join("repos")).unwrap();
    place.fake().push(NAME, "main", &[("b.md", "main moved on\n")]).await;
    place.completed(&job).await;
    assert_eq!(place.file(branch(&job), "a.md"), "eins two three");
    assert_eq!(place.pulls().await.len(), 1);
    let fetches = place.events(&job).await.into_iter().filter(|event| event["type"] == "fetched").count();
    assert_eq!(
        (fetches, &place.server.job(&place.team, &job["id"]).await["status"]),
        (1, &json!("completed"))
    );
}

/// What a model said is good for one commit: the branch may have moved on, the run has not.
#[tokio::test]
async fn another_machine_goes_on_from_the_same_commit() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        let place = Place::on(kind).await;
        let base = place.fake().tip(NAME, "main").unwrap();
        let job = place.create("Replace \"one\" with \"eins\".").await;
        let before_the_push = Effect::Delay(3_600_000);
        dies_of(&place, "POST", "git-receive-pack", before_the_push).await;
        std::fs::remove_dir_all(place.server.data().join("repos")).unwrap();
        place.fake().push(NAME, "main", &[("b.md", "main moved on\n")]).await;
        place.completed(&job).await;
        let parent = git(&place.team.repository, &["rev-parse", &format!("{}^", branch(&job))]);
        assert_eq!(parent, base, "{kind:?}");
    }
}
