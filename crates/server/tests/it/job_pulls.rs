//! Tests that the state of a pull request is visible whatever the status of its job is.

use fakehost::{Effect, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::hosts::{HostFixture, NAME, WEB, branch};
use crate::pages::Browser;
use crate::support::Answer;

async fn pull(fixture: &HostFixture, job: &Value) -> Answer {
    let id = job["id"].as_str().unwrap();
    let path = format!("/v2/agent/{}/job/{id}/pull", fixture.team.project.id);
    fixture.server.get(&fixture.team.key, &path).await
}

async fn listed(fixture: &HostFixture, query: &str) -> Vec<String> {
    let path = format!("/v2/agent/{}/jobs?{query}", fixture.team.project.id);
    let list = fixture.server.get(&fixture.team.key, &path).await.json();
    list["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

/// A job with an open pull request, whose follow-up failed.
async fn failed_follow_up(fixture: &HostFixture) -> Value {
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.run_to_completion(&job).await;
    fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
    fixture.fake().faults().always("POST", "git-receive-pack", Effect::status(403));
    let failed = fixture.run_to_end(&job).await;
    fixture.fake().faults().clear();
    assert_eq!((&failed["status"], failed["prLink"].is_string()), (&json!("failed"), true));
    job
}

#[tokio::test]
async fn a_failed_follow_up_does_not_hide_the_open_pull_request() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let job = failed_follow_up(&fixture).await;
        let end = fixture.events(&job).await.pop().unwrap();
        assert!(end["message"].as_str().unwrap().ends_with(". Pull request #1 is still open"), "{end}");
        fixture.server.clock.advance(SignedDuration::from_secs(10));
        let open = pull(&fixture, &job).await.json();
        assert_eq!((&open["state"], &open["number"]), (&json!("open"), &json!(1)), "{kind:?}: {open}");
        assert_eq!((&open["head"], &open["base"]), (&json!(branch(&job)), &json!("main")));
        assert!(open["url"].as_str().unwrap().ends_with("/1") && open["knownAt"].is_string(), "{open}");
        let first = open["checkedAt"].as_str().unwrap().to_owned();

        // The host sends no webhook, so the request finds out.
        fixture.merge(1).await;
        fixture.server.clock.advance(SignedDuration::from_secs(10));
        let merged = pull(&fixture, &job).await.json();
        assert_eq!(merged["state"], "merged", "{kind:?}: {merged}");
        assert!(merged["checkedAt"].as_str().unwrap() > first.as_str(), "{merged}");
        let last = fixture.events(&job).await.pop().unwrap();
        assert_eq!((&last["type"], &last["state"]), (&json!("pull_request"), &json!("merged")));
        let refused =
            fixture.server.ask(&fixture.team, &job, "message", &json!({ "prompt": "Fix links." })).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("the job's pull request is merged; create a new job"), "{refused}");
    }
}

#[tokio::test]
async fn the_last_known_state_is_returned_while_the_host_does_not_answer() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.run_to_completion(&job).await;
    fixture.fake().faults().always("GET", "/pulls", Effect::status(502));
    let pull = pull(&fixture, &job).await.json();
    assert_eq!((&pull["state"], &pull["checkedAt"]), (&json!("open"), &Value::Null), "{pull}");
}

#[tokio::test]
async fn jobs_are_listed_by_the_state_of_their_pull_request() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let failed = failed_follow_up(&fixture).await;
    let closed = fixture.create("Replace \"two\" with \"zwei\".").await;
    fixture.run_to_completion(&closed).await;
    fixture.fake().close_pull(NAME, 2);
    fixture.server.clock.advance(SignedDuration::from_secs(10));
    assert_eq!(pull(&fixture, &closed).await.json()["state"], "closed");
    let unchanged = fixture.create("Replace \"nowhere\" with \"there\".").await;
    fixture.run_to_completion(&unchanged).await;
    let id = |job: &Value| vec![job["id"].as_str().unwrap().to_owned()];
    assert_eq!(listed(&fixture, "pull=open").await, id(&failed));
    assert_eq!(listed(&fixture, "pull=open&status=failed").await, id(&failed));
    assert_eq!(listed(&fixture, "pull=closed").await, id(&closed));
    assert_eq!(listed(&fixture, "pull=none").await, id(&unchanged));
    assert!(listed(&fixture, "pull=merged").await.is_empty());

    let none = pull(&fixture, &unchanged).await;
    assert_eq!((none.status, none.header("x-error-code")), (404, "no_pull_request"));
    assert!(none.body.contains("the job has no pull request: "), "{none}");
    let path = format!("/v2/agent/{}/jobs?pull=lost", fixture.team.project.id);
    let refused = fixture.server.get(&fixture.team.key, &path).await;
    assert_eq!((refused.status, refused.header("x-error-code")), (400, "invalid_query"));
    assert!(refused.body.contains("pull must be one of open, merged, closed, none"), "{refused}");
}

#[tokio::test]
async fn the_dashboard_shows_both_states() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = failed_follow_up(&fixture).await;
    let browser = Browser::signed_in(&fixture.server, &fixture.team).await;
    let list = format!("/p/{}/jobs", fixture.team.project.id);
    let rows = browser.get(&list).await.body;
    assert!(rows.contains("failed") && rows.contains("#1</a> <span class=\"soft\">open</span>"), "{rows}");
    let page = browser.get(&format!("{list}/{}", job["id"].as_str().unwrap())).await.body;
    assert!(page.contains("pull request #1 is open"), "{page}");
    assert!(
        page.contains("The pull request is still open, without the changes of the failed run."),
        "{page}"
    );
}

#[tokio::test]
async fn the_embedded_host_answers_for_itself() {
    let fixture = HostFixture::local().await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.run_to_completion(&job).await;
    assert_eq!(pull(&fixture, &job).await.json()["state"], "open");
    fixture.merge(1).await;
    let merged = pull(&fixture, &job).await.json();
    assert_eq!((&merged["state"], merged["checkedAt"].is_string()), (&json!("merged"), true));
}

#[tokio::test]
async fn a_follow_up_says_that_the_pull_request_conflicts() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        fixture.run_to_completion(&job).await;
        fixture.fake().push(NAME, "main", &[("a.md", "uno two three\n")]).await;
        fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
        fixture.run_to_completion(&job).await;
        let end = fixture.events(&job).await.pop().unwrap();
        let expected = "Pull request #1 is open, but it conflicts with `main`: resolve the conflicts before you merge it";
        assert_eq!(end["message"], expected, "{kind:?}");
    }
}
