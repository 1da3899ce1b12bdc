//! Tests that the next worker resumes after the last recorded step when a worker dies, and repeats nothing
//! that must happen only once.

use fakehost::{Effect, Kind};
use serde_json::json;
use server::Worker;
use store::ProjectChange;

use crate::hosts::{HostFixture, NAME, branch};
use crate::support::git;

/// Runs the job until this request to the host. Then kills the worker, and lets its lease expire.
pub(crate) async fn kill_at(fixture: &HostFixture, method: &str, path: &str) {
    kill_with(fixture, method, path, Effect::Hang).await;
}

async fn kill_with(fixture: &HostFixture, method: &str, path: &str, effect: Effect) {
    kill_after(fixture, method, path, effect, async || true).await;
}

/// Kills the worker after the request, once `is_done` returns true.
pub(crate) async fn kill_after(
    fixture: &HostFixture,
    method: &str,
    path: &str,
    effect: Effect,
    is_done: impl AsyncFn() -> bool,
) {
    let worker = Worker::new(fixture.server.app.clone(), 1);
    kill_worker(fixture, worker, method, path, effect, is_done).await;
}

pub(crate) async fn kill_worker(
    fixture: &HostFixture,
    worker: Worker,
    method: &str,
    path: &str,
    effect: Effect,
    is_done: impl AsyncFn() -> bool,
) {
    fixture.fake().faults().next(1, method, path, effect);
    let working = tokio::spawn(async move { worker.drain().await });
    while !fixture.fake().faults().pending().is_empty() || !is_done().await {
        assert!(!working.is_finished(), "{method} {path} was not requested");
        tokio::task::yield_now().await;
    }
    working.abort();
    assert!(working.await.unwrap_err().is_cancelled());
    fixture.server.clock.advance(store::LEASE);
}

#[tokio::test]
async fn a_worker_can_die_at_every_request_to_its_host() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        let fixture = HostFixture::on(kind).await;
        fixture.run_to_completion(&fixture.create("Replace \"one\" with \"eins\".").await).await;
        let calls: Vec<_> =
            fixture.fake().requests().into_iter().map(|request| (request.method, request.path)).collect();
        for (n, (method, path)) in calls.iter().enumerate() {
            let path = path.split(['?']).next().unwrap().split("docwright").next().unwrap();
            let job = fixture.create(&format!("Replace \"two\" with \"zwei {n}\".")).await;
            kill_at(&fixture, method, path).await;
            fixture.run_to_completion(&job).await;
            let id = job["id"].as_str().unwrap();
            let own = fixture.pulls().await.into_iter().filter(|pull| pull.body.contains(id)).count();
            assert_eq!(own, 1, "{kind:?}: {method} {path}");
            assert_eq!(fixture.file(branch(&job), "a.md"), format!("one zwei {n} three"));
        }
    }
}

#[tokio::test]
async fn commits_of_people_stay_and_nothing_is_pushed_again_after_a_worker_died() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    kill_at(&fixture, "POST", "/pulls").await;
    let theirs = fixture.fake().push(NAME, branch(&job), &[("b.md", "by hand\n")]).await;
    let before = fixture.fake().requests().len();
    let done = fixture.run_to_completion(&job).await;
    assert!(done["prLink"].is_string());
    assert_eq!(fixture.fake().tip(NAME, branch(&job)), Some(theirs));
    let requests = fixture.fake().requests();
    let git = requests[before..].iter().filter(|request| request.path.contains("git-")).count();
    assert_eq!(git, 0, "nothing is fetched or pushed: {:?}", &requests[before..]);
}

#[tokio::test]
async fn labels_and_reviewers_that_a_dead_worker_did_not_set_are_set() {
    for kind in [Kind::GitHub, Kind::Gitea] {
        let fixture = HostFixture::on(kind).await;
        fixture.fake().user("ada");
        let project = &fixture.team.project.id;
        let change = ProjectChange {
            labels: Some(vec!["docs".into()]),
            reviewers: Some(vec!["ada".into()]),
            ..ProjectChange::default()
        };
        fixture.server.app.accounts.update_project(project, &change).await.unwrap().unwrap();
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        let first_method = if kind == Kind::GitHub { "POST" } else { "GET" };
        kill_at(&fixture, first_method, "/labels").await;
        fixture.run_to_completion(&job).await;
        let pulls = fixture.fake().pulls(NAME);
        assert_eq!((pulls.len(), &pulls[0].labels), (1, &vec!["docs".to_owned()]), "{kind:?}");
        assert_eq!(pulls[0].reviewers.len(), 1, "{kind:?}");
    }
}

/// Another machine has no cache of the dead worker.
#[tokio::test]
async fn another_machine_resumes_after_the_push() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    kill_at(&fixture, "GET", "/pulls").await;
    std::fs::remove_dir_all(fixture.server.data().join("repos")).unwrap();
    fixture.fake().push(NAME, "main", &[("b.md", "main moved on\n")]).await;
    fixture.run_to_completion(&job).await;
    assert_eq!(fixture.file(branch(&job), "a.md"), "eins two three");
    assert_eq!(fixture.pulls().await.len(), 1);
    let fetches = fixture.events(&job).await.into_iter().filter(|event| event["type"] == "fetched").count();
    assert_eq!(
        (fetches, &fixture.server.job(&fixture.team, &job["id"]).await["status"]),
        (1, &json!("completed"))
    );
}

/// The stored conversation is valid only for the run's base commit, even if the branch moved.
#[tokio::test]
async fn another_machine_resumes_from_the_same_commit() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        let fixture = HostFixture::on(kind).await;
        let base = fixture.fake().tip(NAME, "main").unwrap();
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        let before_the_push = Effect::Delay(3_600_000);
        kill_with(&fixture, "POST", "git-receive-pack", before_the_push).await;
        std::fs::remove_dir_all(fixture.server.data().join("repos")).unwrap();
        fixture.fake().push(NAME, "main", &[("b.md", "main moved on\n")]).await;
        fixture.run_to_completion(&job).await;
        let parent = git(&fixture.team.repository, &["rev-parse", &format!("{}^", branch(&job))]);
        assert_eq!(parent, base, "{kind:?}");
    }
}
