//! Tests that a job that kills its workers is given up, after a search for its pull request.

use fakehost::{Effect, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};
use server::Worker;

use crate::hosts::{HostFixture, branch};
use crate::steps::{kill_after, kill_at, kill_worker};

const PROMPT: &str = "Replace \"one\" with \"eins\".";
/// The host never answers, and does nothing.
const NO_RESPONSE: Effect = Effect::Delay(3_600_000);

/// Kills a worker that is old enough to run a suspect.
async fn kill_old_worker(fixture: &HostFixture, method: &str, path: &str, effect: Effect) {
    let worker = Worker::new(fixture.server.app.clone(), 1);
    worker.drain().await.unwrap();
    fixture.server.clock.advance(store::MIN_WORKER_AGE);
    kill_worker(fixture, worker, method, path, effect, async || true).await;
}

/// Kills three workers while they open the job's pull request. The first one opened it.
async fn kill_after_pull_request_is_open(fixture: &HostFixture) -> Value {
    let job = fixture.create(PROMPT).await;
    let is_open = async || fixture.pulls().await.len() == 1;
    kill_after(fixture, "POST", "/pulls", Effect::Hang, is_open).await;
    kill_at(fixture, "GET", "/pulls").await;
    kill_old_worker(fixture, "GET", "/pulls", Effect::Hang).await;
    job
}

async fn ended_event(fixture: &HostFixture, job: &Value) -> Value {
    fixture.events(job).await.into_iter().rfind(|event| event["type"] == "ended").unwrap()
}

#[tokio::test]
async fn a_given_up_job_finds_its_pull_request() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = kill_after_pull_request_is_open(&fixture).await;
    let before = fixture.fake().requests().len();
    // The host fails for a while, and the job waits.
    fixture.fake().faults().next(4, "GET", "/pulls", Effect::status(502));
    fixture.server.run_queued_jobs().await;
    assert_eq!(fixture.server.job(&fixture.team, &job["id"]).await["status"], "active");
    fixture.fake().faults().clear();
    let done = fixture.run_to_completion(&job).await;
    assert!(done["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{done}");
    let end = ended_event(&fixture, &job).await;
    assert_eq!(
        end["message"],
        "Pull request #1 is open. The job opened it before its worker stopped 3 times in the same step"
    );
    assert!(end["report"]["title"].is_string(), "the report is there: {end}");
    let requests = fixture.fake().requests();
    let is_lookup = requests[before..].iter().all(|request| request.method == "GET");
    assert!(is_lookup, "only lookups: {requests:?}");
    assert_eq!(fixture.pulls().await.len(), 1);
}

#[tokio::test]
async fn a_given_up_job_without_a_pull_request_answers_all_messages() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create(PROMPT).await;
    for _ in 0..2 {
        kill_after(&fixture, "POST", "git-receive-pack", NO_RESPONSE, async || true).await;
    }
    kill_old_worker(&fixture, "POST", "git-receive-pack", NO_RESPONSE).await;
    fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
    let failed = fixture.run_to_end(&job).await;
    assert_eq!((&failed["status"], &failed["prLink"]), (&json!("failed"), &json!(null)));
    let end = ended_event(&fixture, &job).await;
    assert!(end["message"].as_str().unwrap().starts_with("The job was given up: its worker stopped 3 times"));

    // The next follow-up is another run, and starts without deaths.
    fixture.follow_up(&job, "Replace \"three\" with \"drei\".").await;
    assert!(fixture.run_to_completion(&job).await["prLink"].is_string());
}

/// Whether the job ended as failed, and says that a pull request may be open from its branch.
async fn assert_honest_failure(fixture: &HostFixture, job: &Value) {
    let failed = fixture.run_to_end(job).await;
    assert_eq!((&failed["status"], &failed["prLink"]), (&json!("failed"), &json!(null)));
    let message = ended_event(fixture, job).await["message"].as_str().unwrap().to_owned();
    assert!(message.contains(branch(job)), "it says where to look: {message}");
    assert!(!message.contains("then create a new job"), "{message}");
}

/// A sweep records the pull request that the job opened.
async fn assert_found_later(fixture: &HostFixture, job: &Value) {
    fixture.fake().faults().clear();
    fixture.server.clock.advance(SignedDuration::from_mins(61));
    fixture.server.run_queued_jobs().await;
    let after = fixture.server.job(&fixture.team, &job["id"]).await;
    assert_eq!(after["status"], "failed");
    assert!(after["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{after}");
    let last = fixture.events(job).await.pop().unwrap();
    assert_eq!(
        (&last["type"], &last["state"], &last["message"]),
        (
            &json!("pull_request"),
            &json!("open"),
            &json!("Pull request #1 was found after the job failed; it is open")
        )
    );
    let pulls = fixture.pulls().await;
    assert_eq!((pulls.len(), pulls[0].is_open), (1, true));
}

#[tokio::test]
async fn a_job_ends_when_its_host_refuses_the_lookup() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = kill_after_pull_request_is_open(&fixture).await;
    fixture.fake().faults().always("GET", "/pulls", Effect::status(403));
    assert_honest_failure(&fixture, &job).await;
    let message = ended_event(&fixture, &job).await["message"].as_str().unwrap().to_owned();
    assert!(message.contains("does not know whether the job opened a pull request"), "{message}");
    assert_found_later(&fixture, &job).await;
}

/// The lookup changes nothing, so a killed one is repeated.
#[tokio::test]
async fn a_lookup_that_is_killed_is_repeated() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = kill_after_pull_request_is_open(&fixture).await;
    for _ in 1..store::MAX_LOOKUP_DEATHS {
        kill_at(&fixture, "GET", "/pulls").await;
    }
    let done = fixture.run_to_completion(&job).await;
    assert!(done["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{done}");
}

/// If every lookup kills its worker, the job ends, and a sweep or the next run finds the pull request.
#[tokio::test]
async fn a_job_whose_lookups_are_all_killed_gets_its_pull_request_later() {
    for follows_up in [false, true] {
        let fixture = HostFixture::on(Kind::GitHub).await;
        let job = kill_after_pull_request_is_open(&fixture).await;
        for _ in 0..store::MAX_LOOKUP_DEATHS {
            kill_at(&fixture, "GET", "/pulls").await;
        }
        if !follows_up {
            // The sweep comes after the queue, and the host fails for a while.
            fixture.fake().faults().next(4, "GET", "/pulls", Effect::status(502));
            assert_honest_failure(&fixture, &job).await;
            assert_found_later(&fixture, &job).await;
            continue;
        }
        fixture.fake().faults().next(4, "GET", "/pulls", Effect::status(502));
        assert_honest_failure(&fixture, &job).await;
        fixture.fake().faults().clear();
        fixture.follow_up(&job, "Replace \"nowhere\" with \"there\".").await;
        let done = fixture.run_to_completion(&job).await;
        assert!(done["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{done}");
        assert_eq!(fixture.pulls().await.len(), 1);
    }
}

/// The host opens the pull request, loses its response, and then refuses or fails every request.
#[tokio::test]
async fn a_run_that_fails_after_its_pull_request_opened_keeps_looking() {
    for status in [403, 503] {
        let fixture = HostFixture::on(Kind::GitHub).await;
        let job = fixture.create(PROMPT).await;
        fixture.fake().faults().next(1, "POST", "/pulls", Effect::DropAfter);
        fixture.fake().faults().next(1, "GET", "/pulls", Effect::Delay(0));
        fixture.fake().faults().always("GET", "/pulls", Effect::status(status));
        // A job waits for at most five minutes and a quarter more.
        for _ in 0..45 {
            fixture.server.run_queued_jobs().await;
            fixture.server.clock.advance(SignedDuration::from_mins(7));
        }
        assert_honest_failure(&fixture, &job).await;
        assert_found_later(&fixture, &job).await;
    }
}

/// The host opened the pull request and refuses a change of its text.
#[tokio::test]
async fn a_run_whose_pull_request_is_open_completes_although_a_later_step_failed() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create(PROMPT).await;
    let is_open = async || fixture.pulls().await.len() == 1;
    kill_after(&fixture, "POST", "/pulls", Effect::Hang, is_open).await;
    fixture.fake().faults().always("GET", "/pulls/1", Effect::status(403));
    let done = fixture.run_to_completion(&job).await;
    assert!(done["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{done}");
    let message = ended_event(&fixture, &job).await["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Pull request #1 is open. A later step failed: "), "{message}");
}

/// A follow-up that fails before its push, in a job whose pull request isn't recorded.
#[tokio::test]
async fn a_failed_follow_up_records_the_pull_request_of_the_first_run() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create(PROMPT).await;
    fixture.fake().faults().next(1, "POST", "/pulls", Effect::DropAfter);
    fixture.fake().faults().next(1, "GET", "/pulls", Effect::Delay(0));
    fixture.fake().faults().always("GET", "/pulls", Effect::status(403));
    assert_honest_failure(&fixture, &job).await;
    fixture.fake().faults().clear();
    fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
    fixture.fake().faults().always("POST", "git-receive-pack", Effect::status(403));
    let failed = fixture.run_to_end(&job).await;
    assert_eq!(failed["status"], "failed");
    assert!(failed["prLink"].as_str().is_some_and(|link| link.ends_with("/1")), "{failed}");
    let message = ended_event(&fixture, &job).await["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with(". Pull request #1 is open"), "{message}");
}

#[tokio::test]
async fn a_given_up_job_finds_its_pull_request_on_the_embedded_host() {
    let fixture = HostFixture::local().await;
    let job = fixture.create(PROMPT).await;
    let first = fixture.run_to_completion(&job).await;
    // Simulates three deaths before the end was recorded.
    let path = fixture.server.data().join("docwright.db");
    let db = sqlx::SqlitePool::connect(path.to_str().unwrap()).await.unwrap();
    let cut_off = "UPDATE jobs SET status = 'active', pr_link = NULL, ended_at = NULL, deaths = 3";
    sqlx::query(cut_off).execute(&db).await.unwrap();
    let again = fixture.run_to_completion(&job).await;
    assert_eq!(again["prLink"], first["prLink"]);
    assert_eq!(fixture.pulls().await.len(), 1);
}
