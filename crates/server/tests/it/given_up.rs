//! A job that kills its workers is given up, and looks for its pull request first.

use fakehost::{Effect, Kind};
use serde_json::{Value, json};
use server::Worker;

use crate::hosts::Place;
use crate::steps::{dies_after, dies_at, worker_dies};

const PROMPT: &str = "Replace \"one\" with \"eins\".";
/// Answered never, and before anything is done.
const NEVER: Effect = Effect::Delay(3_600_000);

/// A worker that has been alive for long enough to run a suspect, and dies there.
async fn dies_alone(place: &Place, method: &str, path: &str, effect: Effect) {
    let worker = Worker::new(place.server.app.clone(), 1);
    worker.drain().await.unwrap();
    place.server.clock.advance(store::MIN_WORKER_AGE);
    worker_dies(place, worker, method, path, effect, async || true).await;
}

/// Three workers die while they open the job's pull request, which the first of them had opened.
async fn dies_after_its_pull_request_is_open(place: &Place) -> Value {
    let job = place.create(PROMPT).await;
    let is_open = async || place.pulls().await.len() == 1;
    dies_after(place, "POST", "/pulls", Effect::Hang, is_open).await;
    dies_at(place, "GET", "/pulls").await;
    dies_alone(place, "GET", "/pulls", Effect::Hang).await;
    job
}

async fn end(place: &Place, job: &Value) -> Value {
    place.events(job).await.into_iter().rfind(|event| event["type"] == "ended").unwrap()
}

#[tokio::test]
async fn a_job_that_is_given_up_finds_its_pull_request() {
    let place = Place::on(Kind::GitHub).await;
    let job = dies_after_its_pull_request_is_open(&place).await;
    let before = place.fake().requests().len();
    // The host is in trouble for a while: that is waited for.
    place.fake().faults().next(4, "GET", "/pulls", Effect::status(502));
    place.server.run_queued_jobs().await;
    assert_eq!(place.server.job(&place.team, &job["id"]).await["status"], "active");
    place.fake().faults().clear();
    let done = place.completed(&job).await;
    assert!(done["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{done}");
    let end = end(&place, &job).await;
    assert_eq!(
        end["message"],
        "Pull request #1 is open. The job had opened it before its worker stopped 3 times in the same step"
    );
    assert!(end["report"]["title"].is_string(), "it says what it did: {end}");
    let asked = place.fake().requests();
    assert!(asked[before..].iter().all(|seen| seen.method == "GET"), "nothing but a look: {asked:?}");
    assert_eq!(place.pulls().await.len(), 1);
}

#[tokio::test]
async fn a_job_that_is_given_up_without_a_pull_request_fails_with_all_that_waits() {
    let place = Place::on(Kind::GitHub).await;
    let job = place.create(PROMPT).await;
    for _ in 0..2 {
        dies_after(&place, "POST", "git-receive-pack", NEVER, async || true).await;
    }
    dies_alone(&place, "POST", "git-receive-pack", NEVER).await;
    place.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
    let failed = place.settle(&job).await;
    assert_eq!((&failed["status"], &failed["prLink"]), (&json!("failed"), &json!(null)));
    let end = end(&place, &job).await;
    assert!(end["message"].as_str().unwrap().starts_with("The job was given up: its worker stopped 3 times"));

    // The next follow-up is another run, and starts without deaths.
    place.follow_up(&job, "Replace \"three\" with \"drei\".").await;
    assert!(place.completed(&job).await["prLink"].is_string());
}

#[tokio::test]
async fn a_host_that_says_no_to_the_look_does_not_keep_the_job() {
    let place = Place::on(Kind::GitHub).await;
    let job = dies_after_its_pull_request_is_open(&place).await;
    place.fake().faults().always("GET", "/pulls", Effect::status(403));
    let failed = place.settle(&job).await;
    assert_eq!(failed["status"], "failed");
    let message = end(&place, &job).await["message"].as_str().unwrap().to_owned();
    assert!(message.contains("does not know whether the job opened a pull request: "), "{message}");
}

/// If even the look kills its worker, the job ends without it.
#[tokio::test]
async fn a_pull_request_that_was_not_found_is_found_by_a_follow_up() {
    let place = Place::on(Kind::GitHub).await;
    let job = dies_after_its_pull_request_is_open(&place).await;
    dies_at(&place, "GET", "/pulls").await;
    let given_up = place.settle(&job).await;
    assert_eq!((&given_up["status"], &given_up["prLink"]), (&json!("failed"), &json!(null)));
    place.follow_up(&job, "Replace \"nowhere\" with \"there\".").await;
    let done = place.completed(&job).await;
    assert!(done["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{done}");
    assert_eq!(place.pulls().await.len(), 1);
}

#[tokio::test]
async fn the_embedded_host_is_asked_as_well() {
    let place = Place::local().await;
    let job = place.create(PROMPT).await;
    let first = place.completed(&job).await;
    // As if its worker had died three times before it could say so.
    let path = place.server.data().join("docwright.db");
    let db = sqlx::SqlitePool::connect(path.to_str().unwrap()).await.unwrap();
    let cut_off = "UPDATE jobs SET status = 'active', pr_link = NULL, ended_at = NULL, deaths = 3";
    sqlx::query(cut_off).execute(&db).await.unwrap();
    let again = place.completed(&job).await;
    assert_eq!(again["prLink"], first["prLink"]);
    assert_eq!(place.pulls().await.len(), 1);
}
