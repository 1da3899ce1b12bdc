//! Tests that jobs with equal changes open one pull request.

use fakehost::{Effect, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};
use server::Worker;

use crate::hosts::{HostFixture, NAME, WEB, branch};
use crate::postgres::on_postgres;
use crate::steps::kill_after;
use crate::support::{TestServer, git};

const PROMPT: &str = "Replace \"one\" with \"eins\".";

async fn ended(fixture: &HostFixture, job: &Value) -> Value {
    fixture.events(job).await.into_iter().rfind(|event| event["type"] == "ended").unwrap()
}

/// Runs the prompt ten times. Returns the reasons of the ends.
async fn run_ten_times(server: &TestServer) -> Vec<String> {
    let team = server.team("acme", &[("a.md", "one two three\n")]).await;
    let mut reasons = Vec::new();
    let mut links = Vec::new();
    for _ in 0..10 {
        let job = server.create_job(&team, PROMPT).await;
        server.run_queued_jobs().await;
        let done = server.job(&team, &job["id"]).await;
        assert_eq!(done["status"], "completed", "{done}");
        links.push(done["prLink"].as_str().unwrap().to_owned());
        let end = server.events(&team, &job["id"]).await.pop().unwrap();
        reasons.push(end["reason"].as_str().unwrap().to_owned());
    }
    links.dedup();
    assert_eq!(links.len(), 1, "every job has the same link");
    assert_eq!(server.app.pulls.pulls(&team.project.id, 100).await.unwrap().len(), 1);
    let branches = git(&team.repository, &["branch", "--list", "docwright/*"]);
    assert_eq!(branches.lines().count(), 1, "nothing else is pushed: {branches}");
    reasons
}

fn one_and_nine() -> Vec<String> {
    let mut reasons = vec!["already_proposed".to_owned(); 10];
    reasons[0] = "completed".into();
    reasons
}

#[tokio::test]
async fn ten_equal_jobs_open_one_pull_request() {
    assert_eq!(run_ten_times(&TestServer::start().await).await, one_and_nine());
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn ten_equal_jobs_open_one_pull_request_on_postgres() {
    let (server, _database, _keys) = on_postgres().await;
    assert_eq!(run_ten_times(&server).await, one_and_nine());
}

#[tokio::test]
async fn an_equal_job_names_the_open_pull_request_on_every_host() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let first = fixture.run_to_completion(&fixture.create(PROMPT).await).await;
        let before = fixture.fake().requests().len();
        let job = fixture.create(PROMPT).await;
        let second = fixture.run_to_completion(&job).await;
        assert_eq!(second["prLink"], first["prLink"]);
        let end = ended(&fixture, &job).await;
        assert_eq!(end["reason"], "already_proposed");
        assert_eq!(
            end["message"],
            "Pull request #1 is open with the same change, so no other one was opened"
        );
        assert!(end["report"]["title"].is_string() && end["usage"].is_object(), "{end}");
        assert_eq!(fixture.fake().tip(NAME, branch(&job)), None, "{kind:?}: nothing is pushed");
        let requests = fixture.fake().requests();
        let pushes =
            requests[before..].iter().filter(|request| request.path.contains("receive-pack")).count();
        assert_eq!((pushes, fixture.pulls().await.len()), (0, 1), "{kind:?}");
    }
}

/// A pull request that is merged, closed, or changed by a person isn't equal any more.
#[tokio::test]
async fn another_pull_request_is_opened_when_the_first_is_not_equal_any_more() {
    for change in ["closed", "commits"] {
        let fixture = HostFixture::on(Kind::GitHub).await;
        let first = fixture.create(PROMPT).await;
        fixture.run_to_completion(&first).await;
        match change {
            "closed" => fixture.fake().close_pull(NAME, 1),
            _ => drop(fixture.fake().push(NAME, branch(&first), &[("b.md", "by hand\n")]).await),
        }
        let second = fixture.run_to_completion(&fixture.create(PROMPT).await).await;
        assert!(second["prLink"].as_str().unwrap().ends_with("/2"), "{change}: {second}");
        // The third is equal to the second.
        let third = fixture.run_to_completion(&fixture.create(PROMPT).await).await;
        assert_eq!(third["prLink"], second["prLink"], "{change}");
        assert_eq!(fixture.pulls().await.len(), 2);
    }
}

/// Jobs of earlier versions claimed nothing.
#[tokio::test]
async fn a_pull_request_of_an_earlier_version_matches_no_job() {
    let fixture = HostFixture::local().await;
    fixture.run_to_completion(&fixture.create(PROMPT).await).await;
    let path = fixture.server.data().join("docwright.db");
    let db = sqlx::SqlitePool::connect(path.to_str().unwrap()).await.unwrap();
    assert_eq!(sqlx::query("DELETE FROM proposals").execute(&db).await.unwrap().rows_affected(), 1);
    let second = fixture.run_to_completion(&fixture.create(PROMPT).await).await;
    assert!(second["prLink"].as_str().unwrap().ends_with("/2"), "{second}");
}

/// While the first job opens its pull request, the second one waits for it.
#[tokio::test]
async fn an_equal_job_waits_for_a_job_that_is_about_to_open_the_pull_request() {
    for opens in [true, false] {
        let fixture = HostFixture::on(Kind::GitHub).await;
        let first = fixture.create(PROMPT).await;
        fixture.fake().faults().next(1, "POST", "/pulls", Effect::Delay(3_600_000));
        let worker = Worker::new(fixture.server.app.clone(), 1);
        let working = tokio::spawn(async move { worker.drain().await });
        while !fixture.fake().faults().pending().is_empty() {
            assert!(!working.is_finished());
            tokio::task::yield_now().await;
        }
        let second = fixture.create(PROMPT).await;
        // The first job still does local work.
        Worker::new(fixture.server.app.clone(), 2).drain().await.unwrap();
        let waiting = fixture.events(&second).await.pop().unwrap();
        assert_eq!(waiting["type"], "waiting", "{waiting}");
        let expected = format!("Job {} is about to open a pull request", first["id"].as_str().unwrap());
        assert!(waiting["message"].as_str().unwrap().starts_with(&expected), "{waiting}");
        working.abort();
        if !opens {
            // The first job ends without a pull request, so the second one opens it.
            fixture.server.clock.advance(store::LEASE);
            fixture.server.ask(&fixture.team, &first, "archive", &json!({})).await;
            let done = fixture.run_to_completion(&second).await;
            assert!(done["prLink"].is_string(), "{done}");
            assert_eq!(ended(&fixture, &second).await["reason"], "completed");
        } else {
            fixture.server.clock.advance(SignedDuration::from_mins(1));
            let done = fixture.run_to_completion(&second).await;
            let first = fixture.run_to_completion(&first).await;
            assert_eq!(done["prLink"], first["prLink"]);
            let reasons = [ended(&fixture, &first).await, ended(&fixture, &second).await];
            let reasons = reasons.map(|end| end["reason"].as_str().unwrap().to_owned());
            assert_eq!(reasons, ["completed", "already_proposed"]);
        }
        assert_eq!(fixture.pulls().await.len(), 1);
    }
}

/// The first job was killed after its pull request opened, and ended without knowing it.
#[tokio::test]
async fn an_equal_job_finds_the_pull_request_of_a_failed_job() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let first = fixture.create(PROMPT).await;
    let is_open = async || fixture.pulls().await.len() == 1;
    kill_after(&fixture, "POST", "/pulls", Effect::Hang, is_open).await;
    fixture.fake().faults().always("GET", "/pulls", Effect::status(403));
    assert_eq!(fixture.run_to_end(&first).await["status"], "failed");
    fixture.fake().faults().clear();
    let job = fixture.create(PROMPT).await;
    let second = fixture.run_to_completion(&job).await;
    assert!(second["prLink"].as_str().unwrap().ends_with("/1"), "{second}");
    assert_eq!(ended(&fixture, &job).await["reason"], "already_proposed");
    assert_eq!(fixture.pulls().await.len(), 1);
}

#[tokio::test]
async fn a_follow_up_to_an_equal_job_opens_its_own_pull_request_on_top() {
    for local in [true, false] {
        let fixture = if local { HostFixture::local().await } else { HostFixture::on(Kind::GitHub).await };
        let first = fixture.create(PROMPT).await;
        let link = fixture.run_to_completion(&first).await["prLink"].clone();
        let second = fixture.create(PROMPT).await;
        fixture.run_to_completion(&second).await;
        fixture.follow_up(&second, "Replace \"two\" with \"zwei\".").await;
        let done = fixture.run_to_completion(&second).await;
        assert!(done["prLink"].as_str().unwrap().ends_with("/2"), "{done}");
        assert_eq!(fixture.file(branch(&second), "a.md"), "eins zwei three");
        assert_eq!(fixture.file(branch(&first), "a.md"), "eins two three", "the first one's branch stays");
        let pulls = fixture.pulls().await;
        let own = pulls.iter().find(|pull| pull.body.contains(second["id"].as_str().unwrap())).unwrap();
        let starts =
            format!("This pull request starts from {} and contains its change.", link.as_str().unwrap());
        assert!(own.body.starts_with(&starts), "{}", own.body);
        // The next follow-up continues there.
        fixture.follow_up(&second, "Replace \"three\" with \"drei\".").await;
        assert_eq!(fixture.run_to_completion(&second).await["prLink"], done["prLink"]);
        assert_eq!(fixture.file(branch(&second), "a.md"), "eins zwei drei");
        assert_eq!(fixture.pulls().await.len(), 2);
    }
}

/// A follow-up that pushed its own branch, and then could not open its pull request, is continued there.
#[tokio::test]
async fn a_follow_up_continues_the_branch_of_one_that_failed() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    fixture.run_to_completion(&fixture.create(PROMPT).await).await;
    let second = fixture.create(PROMPT).await;
    fixture.run_to_completion(&second).await;
    fixture.follow_up(&second, "Replace \"two\" with \"zwei\".").await;
    fixture.fake().faults().always("POST", "/pulls", Effect::status(422));
    assert_eq!(fixture.run_to_end(&second).await["status"], "failed");
    assert_eq!(fixture.file(branch(&second), "a.md"), "eins zwei three", "it is pushed");

    fixture.fake().faults().clear();
    fixture.follow_up(&second, "Replace \"three\" with \"drei\".").await;
    let done = fixture.run_to_completion(&second).await;
    assert!(done["prLink"].as_str().unwrap().ends_with("/2"), "{done}");
    assert_eq!(fixture.file(branch(&second), "a.md"), "eins zwei drei");
}

/// The same for a follow-up that changes nothing: it opens the pull request of the change that was pushed.
#[tokio::test]
async fn a_follow_up_without_edits_opens_the_pull_request_of_one_that_failed() {
    for is_equal_to_another in [true, false] {
        let fixture = HostFixture::on(Kind::GitHub).await;
        let refuse = || fixture.fake().faults().always("POST", "/pulls", Effect::status(422));
        let job = if is_equal_to_another {
            fixture.run_to_completion(&fixture.create(PROMPT).await).await;
            let second = fixture.create(PROMPT).await;
            fixture.run_to_completion(&second).await;
            fixture.follow_up(&second, "Replace \"two\" with \"zwei\".").await;
            refuse();
            second
        } else {
            refuse();
            fixture.create(PROMPT).await
        };
        assert_eq!(fixture.run_to_end(&job).await["status"], "failed");

        fixture.fake().faults().clear();
        fixture.follow_up(&job, "Replace \"nowhere\" with \"nirgends\".").await;
        let done = fixture.run_to_completion(&job).await;
        let number = if is_equal_to_another { "/2" } else { "/1" };
        assert!(done["prLink"].as_str().unwrap().ends_with(number), "{done}");
        let message = ended(&fixture, &job).await["message"].clone();
        assert_eq!(message, format!("Pull request #{} is open", &number[1..]));
    }
}

/// Repeated runs with `branch`, as in CI, update one pull request.
#[tokio::test]
async fn a_run_on_a_branch_without_changes_keeps_its_pull_request() {
    for local in [true, false] {
        let fixture = if local { HostFixture::local().await } else { HostFixture::on(Kind::GitHub).await };
        let path = format!("/v2/agent/{}/job", fixture.team.project.id);
        let create = async |prompt: &str| {
            let body = json!({ "prompt": prompt, "branch": "docwright/ci" });
            fixture.server.post(&fixture.team.key, &path, &body).await.json()
        };
        let first = fixture.run_to_completion(&create(PROMPT).await).await;
        assert!(first["prLink"].is_string(), "{first}");
        let job = create(PROMPT).await;
        let again = fixture.run_to_completion(&job).await;
        assert_eq!(again["prLink"], first["prLink"]);
        let message = ended(&fixture, &job).await["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("Nothing was changed; pull request #1 stays as it was: "), "{message}");
        let more = fixture.run_to_completion(&create("Replace \"two\" with \"zwei\".").await).await;
        assert_eq!(more["prLink"], first["prLink"]);
        assert_eq!(fixture.pulls().await.len(), 1);
    }
}

/// The embedded host lists a pull request as open although its branch is gone, and it can't be merged any more.
#[tokio::test]
async fn a_pull_request_without_its_branch_is_not_equal() {
    let fixture = HostFixture::local().await;
    let first = fixture.create(PROMPT).await;
    fixture.run_to_completion(&first).await;
    git(&fixture.team.repository, &["branch", "-D", branch(&first)]);
    let job = fixture.create(PROMPT).await;
    let second = fixture.run_to_completion(&job).await;
    assert!(second["prLink"].as_str().unwrap().ends_with("/2"), "{second}");
    assert_eq!(ended(&fixture, &job).await["reason"], "completed");
    assert_eq!(fixture.file(branch(&job), "a.md"), "eins two three");
    // The third is equal to the second.
    let third = fixture.run_to_completion(&fixture.create(PROMPT).await).await;
    assert_eq!(third["prLink"], second["prLink"]);
}

/// On a branch that still has the change of a closed pull request, nothing is left to change. Without the branch, the
/// change is proposed again.
#[tokio::test]
async fn a_run_on_the_branch_of_a_closed_pull_request_needs_the_branch_deleted() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let path = format!("/v2/agent/{}/job", fixture.team.project.id);
    let run = async || {
        let body = json!({ "prompt": PROMPT, "branch": "docwright/ci" });
        fixture.run_to_completion(&fixture.server.post(&fixture.team.key, &path, &body).await.json()).await
    };
    run().await;
    fixture.fake().close_pull(NAME, 1);
    assert_eq!(run().await["prLink"], Value::Null);
    git(&fixture.team.repository, &["branch", "-D", "docwright/ci"]);
    let again = run().await;
    assert!(again["prLink"].as_str().unwrap().ends_with("/2"), "{again}");
}
