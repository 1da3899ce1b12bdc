//! An archive under way of everything else: nothing is opened after it, and what a host opened all the
//! same is closed and recorded.

use fakehost::{Effect, Fault, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};
use server::Worker;
use tokio_util::sync::CancellationToken;

use crate::hosts::{NAME, Place, TOKEN, WEB};

fn pulls_of(kind: Kind) -> &'static str {
    if kind == Kind::GitLab { "/merge_requests" } else { "/pulls" }
}

async fn archive(place: &Place, job: &Value) -> Value {
    let archived = place.server.ask(&place.team, job, "archive", &json!({})).await;
    assert_eq!((archived.status, &archived.json()["status"]), (200, &json!("archived")), "{archived}");
    archived.json()
}

/// Lets time pass, and whoever looks after archived jobs look.
async fn later(place: &Place) {
    place.server.clock.advance(SignedDuration::from_mins(61));
    place.server.run_queued_jobs().await;
}

#[tokio::test]
async fn what_a_host_opens_while_its_job_is_archived_is_closed_and_recorded() {
    for kind in WEB {
        let place = Place::on(kind).await;
        // The host does it, and its answer does not come.
        place.fake().faults().next(1, "POST", pulls_of(kind), Effect::Hang);
        let (worker, stop) = (Worker::new(place.server.app.clone(), 1), CancellationToken::new());
        let working = tokio::spawn({
            let stop = stop.clone();
            async move { worker.work(stop).await }
        });
        let job = place.create("Replace \"one\" with \"eins\".").await;
        while place.fake().pulls(NAME).is_empty() {
            tokio::task::yield_now().await;
        }
        let archived = archive(&place, &job).await;
        assert_eq!(archived["prLink"], Value::Null);
        stop.cancel();
        working.await.unwrap();

        later(&place).await;
        let pulls = place.pulls().await;
        assert_eq!((pulls.len(), pulls[0].is_open), (1, false), "{kind:?}");
        let after = place.server.job(&place.team, &job["id"]).await;
        assert_eq!((&after["status"], after["prLink"].is_string()), (&json!("archived"), true), "{after}");
        assert_eq!(after["archivedAt"], archived["archivedAt"]);
        let last = place.events(&job).await.pop().unwrap();
        assert_eq!((&last["type"], &last["state"]), (&json!("pull_request"), &json!("closed")), "{last}");
        let asked = place.fake().request_count();
        later(&place).await;
        assert_eq!(place.fake().request_count(), asked, "it is over");
    }
}

/// The pull request is there, the job does not know, and its host does not answer.
async fn cut_off(place: &Place, job: &Value, opens: bool) {
    if opens {
        place.fake().faults().next(1, "POST", "/pulls", Effect::DropAfter);
    }
    // The first look is answered; all others are not.
    let down =
        Fault { method: Some("GET".into()), path: "/pulls".into(), times: None, effect: Effect::status(503) };
    if opens {
        place.fake().faults().next(1, "GET", "/pulls", Effect::Delay(0));
    }
    place.fake().faults().add(down);
    place.server.run_queued_jobs().await;
    assert_eq!(place.events(job).await.pop().unwrap()["type"], "waiting");
}

#[tokio::test]
async fn a_host_that_is_down_is_asked_until_it_is_back() {
    let place = Place::on(Kind::GitHub).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    cut_off(&place, &job, true).await;
    archive(&place, &job).await;
    for _ in 0..3 {
        later(&place).await;
        assert!(place.pulls().await[0].is_open);
    }
    place.fake().faults().clear();
    later(&place).await;
    assert!(!place.pulls().await[0].is_open);
    assert!(place.server.job(&place.team, &job["id"]).await["prLink"].is_string());
}

#[tokio::test]
async fn a_host_that_stays_down_is_given_up_with_a_sentence() {
    let place = Place::on(Kind::GitHub).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    cut_off(&place, &job, true).await;
    archive(&place, &job).await;
    for _ in 0..40 {
        later(&place).await;
    }
    let last = place.events(&job).await.pop().unwrap();
    assert_eq!(last["type"], "warning", "{last}");
    let warned = place.events(&job).await.into_iter().filter(|event| event["type"] == "warning").count();
    assert_eq!(warned, 1);
}

#[tokio::test]
async fn a_pull_request_of_somebody_else_stays_open() {
    let place = Place::on(Kind::GitHub).await;
    place.fake().push(NAME, "topic", &[("a.md", "one by hand\n")]).await;
    let own = json!({ "title": "By hand", "head": "topic", "base": "main", "body": "" });
    let url = format!("{}/repos/{NAME}/pulls", place.fake().api_url());
    let opened = reqwest::Client::new().post(url).header("user-agent", "ada").bearer_auth(TOKEN).json(&own);
    let opened = opened.send().await.unwrap();
    assert_eq!(opened.status().as_u16(), 201);
    let path = format!("/v2/agent/{}/job", place.team.project.id);
    let body = json!({ "prompt": "Replace \"one\" with \"eins\".", "branch": "topic" });
    let job = place.server.post(&place.team.key, &path, &body).await.json();
    // Pushed, but not told which pull request it is.
    place.fake().faults().next(1, "GET", "/pulls", Effect::Delay(0));
    cut_off(&place, &job, false).await;
    archive(&place, &job).await;
    place.fake().faults().clear();
    for _ in 0..10 {
        later(&place).await;
    }
    let pulls = place.pulls().await;
    assert_eq!((pulls.len(), pulls[0].is_open), (1, true));
    assert_eq!(place.server.job(&place.team, &job["id"]).await["prLink"], Value::Null);
}

#[tokio::test]
async fn two_archives_and_a_message_at_once_leave_one_archived_job() {
    let place = Place::local().await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    let (one, two) = tokio::join!(archive(&place, &job), archive(&place, &job));
    assert_eq!(one, two);
    let archives = place.events(&job).await.into_iter().filter(|event| event["type"] == "archived").count();
    assert_eq!(archives, 1);

    let job = place.create("Replace \"one\" with \"eins\".").await;
    place.completed(&job).await;
    let body = json!({ "prompt": "Replace \"two\" with \"zwei\"." });
    let message = place.server.ask(&place.team, &job, "message", &body);
    let (_, told) = tokio::join!(archive(&place, &job), message);
    assert!([200, 409].contains(&told.status), "{told}");
    place.server.run_queued_jobs().await;
    let after = place.server.job(&place.team, &job["id"]).await;
    assert_eq!(after["status"], "archived", "whichever came first");
    assert!(place.file(after["source"]["ref"].as_str().unwrap(), "a.md").starts_with("eins two"));
}
