//! Tests archiving while other things happen: no pull request is opened afterwards, and one that a host
//! opened anyway is closed and recorded.

use fakehost::{Effect, Fault, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};
use server::Worker;
use tokio_util::sync::CancellationToken;

use crate::hosts::{HostFixture, NAME, TOKEN, WEB};

fn pulls_path(kind: Kind) -> &'static str {
    if kind == Kind::GitLab { "/merge_requests" } else { "/pulls" }
}

async fn archive(fixture: &HostFixture, job: &Value) -> Value {
    let archived = fixture.server.ask(&fixture.team, job, "archive", &json!({})).await;
    assert_eq!((archived.status, &archived.json()["status"]), (200, &json!("archived")), "{archived}");
    archived.json()
}

/// Advances the clock, and runs the due sweeps.
async fn sweep_later(fixture: &HostFixture) {
    fixture.server.clock.advance(SignedDuration::from_mins(61));
    fixture.server.run_queued_jobs().await;
}

#[tokio::test]
async fn a_pull_request_that_opens_during_the_archive_is_closed_and_recorded() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        // The host opens the pull request, and its response gets lost.
        fixture.fake().faults().next(1, "POST", pulls_path(kind), Effect::Hang);
        let (worker, stop) = (Worker::new(fixture.server.app.clone(), 1), CancellationToken::new());
        let working = tokio::spawn({
            let stop = stop.clone();
            async move { worker.work(stop).await }
        });
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        while fixture.fake().pulls(NAME).is_empty() {
            tokio::task::yield_now().await;
        }
        let archived = archive(&fixture, &job).await;
        assert_eq!(archived["prLink"], Value::Null);
        stop.cancel();
        working.await.unwrap();

        sweep_later(&fixture).await;
        let pulls = fixture.pulls().await;
        assert_eq!((pulls.len(), pulls[0].is_open), (1, false), "{kind:?}");
        let after = fixture.server.job(&fixture.team, &job["id"]).await;
        assert_eq!((&after["status"], after["prLink"].is_string()), (&json!("archived"), true), "{after}");
        assert_eq!(after["archivedAt"], archived["archivedAt"]);
        let last = fixture.events(&job).await.pop().unwrap();
        assert_eq!((&last["type"], &last["state"]), (&json!("pull_request"), &json!("closed")), "{last}");
        let requests = fixture.fake().request_count();
        sweep_later(&fixture).await;
        assert_eq!(fixture.fake().request_count(), requests, "the sweep is over");
    }
}

/// Opens the pull request if `opens`, without the job knowing it. Then the host doesn't answer.
async fn interrupt(fixture: &HostFixture, job: &Value, opens: bool) {
    if opens {
        fixture.fake().faults().next(1, "POST", "/pulls", Effect::DropAfter);
    }
    // The host answers the first lookup, and no others.
    let down =
        Fault { method: Some("GET".into()), path: "/pulls".into(), times: None, effect: Effect::status(503) };
    if opens {
        fixture.fake().faults().next(1, "GET", "/pulls", Effect::Delay(0));
    }
    fixture.fake().faults().add(down);
    fixture.server.run_queued_jobs().await;
    assert_eq!(fixture.events(job).await.pop().unwrap()["type"], "waiting");
}

#[tokio::test]
async fn a_sweep_is_retried_until_the_host_is_back() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    interrupt(&fixture, &job, true).await;
    archive(&fixture, &job).await;
    for _ in 0..3 {
        sweep_later(&fixture).await;
        assert!(fixture.pulls().await[0].is_open);
    }
    fixture.fake().faults().clear();
    sweep_later(&fixture).await;
    assert!(!fixture.pulls().await[0].is_open);
    assert!(fixture.server.job(&fixture.team, &job["id"]).await["prLink"].is_string());
}

#[tokio::test]
async fn a_sweep_ends_with_a_warning_if_the_host_stays_down() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    interrupt(&fixture, &job, true).await;
    archive(&fixture, &job).await;
    for _ in 0..40 {
        sweep_later(&fixture).await;
    }
    let last = fixture.events(&job).await.pop().unwrap();
    assert_eq!(last["type"], "warning", "{last}");
    let warned = fixture.events(&job).await.into_iter().filter(|event| event["type"] == "warning").count();
    assert_eq!(warned, 1);
}

#[tokio::test]
async fn a_pull_request_of_another_person_stays_open() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    fixture.fake().push(NAME, "topic", &[("a.md", "one by hand\n")]).await;
    let own = json!({ "title": "By hand", "head": "topic", "base": "main", "body": "" });
    let url = format!("{}/repos/{NAME}/pulls", fixture.fake().api_url());
    let opened = reqwest::Client::new().post(url).header("user-agent", "ada").bearer_auth(TOKEN).json(&own);
    let opened = opened.send().await.unwrap();
    assert_eq!(opened.status().as_u16(), 201);
    let path = format!("/v2/agent/{}/job", fixture.team.project.id);
    let body = json!({ "prompt": "Replace \"one\" with \"eins\".", "branch": "topic" });
    let job = fixture.server.post(&fixture.team.key, &path, &body).await.json();
    // The job pushed, but doesn't know the pull request.
    fixture.fake().faults().next(1, "GET", "/pulls", Effect::Delay(0));
    interrupt(&fixture, &job, false).await;
    archive(&fixture, &job).await;
    fixture.fake().faults().clear();
    for _ in 0..10 {
        sweep_later(&fixture).await;
    }
    let pulls = fixture.pulls().await;
    assert_eq!((pulls.len(), pulls[0].is_open), (1, true));
    assert_eq!(fixture.server.job(&fixture.team, &job["id"]).await["prLink"], Value::Null);
}

#[tokio::test]
async fn two_archives_and_a_message_at_once_leave_one_archived_job() {
    let fixture = HostFixture::local().await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    let (first, second) = tokio::join!(archive(&fixture, &job), archive(&fixture, &job));
    assert_eq!(first, second);
    let archives = fixture.events(&job).await.into_iter().filter(|event| event["type"] == "archived").count();
    assert_eq!(archives, 1);

    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.run_to_completion(&job).await;
    let body = json!({ "prompt": "Replace \"two\" with \"zwei\"." });
    let message = fixture.server.ask(&fixture.team, &job, "message", &body);
    let (_, answer) = tokio::join!(archive(&fixture, &job), message);
    assert!([200, 409].contains(&answer.status), "{answer}");
    fixture.server.run_queued_jobs().await;
    let after = fixture.server.job(&fixture.team, &job["id"]).await;
    assert_eq!(after["status"], "archived", "whichever came first");
    assert!(fixture.file(after["source"]["ref"].as_str().unwrap(), "a.md").starts_with("eins two"));
}
