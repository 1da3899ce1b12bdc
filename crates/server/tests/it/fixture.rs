//! Opens the data that version 0.1.0 wrote (commit f44e3a3), and compares the answers with those that it gave.
//!
//! A later version migrates old data, and must neither lose nor change any of it. `scripts/fixture` made the files;
//! they are never made again. An answer may have more keys than it had: changes of the API are additions.

mod compare;
mod unpack;

use reqwest::Method;
use serde_json::{Value, json};
use store::ProjectId;

use crate::cluster::Database;
use crate::pages::Browser;
use crate::people::sign_in;
use crate::provider::{FakeProvider, finish};
use crate::support::{Answer, TestServer, send};

/// The fixture, opened by a server of the present code.
struct Opened {
    server: TestServer,
    provider: FakeProvider,
    recorded: Value,
    /// Dropped after the server.
    _database: Option<Database>,
}

impl Opened {
    fn text(&self, name: &str) -> &str {
        self.recorded[name].as_str().unwrap()
    }

    fn project(&self) -> ProjectId {
        ProjectId(self.text("project").to_owned())
    }

    fn job(&self, name: &str) -> &str {
        self.recorded["jobs"][name].as_str().unwrap()
    }

    fn active_jobs(&self) -> impl Iterator<Item = &str> {
        self.recorded["active"].as_array().unwrap().iter().map(|name| self.job(name.as_str().unwrap()))
    }

    fn key(&self, name: &str) -> &str {
        self.recorded["keys"][name].as_str().unwrap()
    }

    /// What is recorded of a job under this path, such as `/events`.
    fn recorded_of(&self, job: &str, path: &str) -> &Value {
        let answers = self.recorded["answers"].as_array().unwrap();
        let end = format!("/job/{job}{path}");
        &answers.iter().find(|answer| answer["path"].as_str().unwrap().ends_with(&end)).unwrap()["body"]
    }

    async fn get(&self, key: &str, path: &str) -> Answer {
        self.server.get(self.key(key), path).await
    }

    async fn get_job(&self, job: &str, path: &str) -> Value {
        self.get("read", &format!("/v2/agent/{}/job/{job}{path}", self.project())).await.json()
    }

    fn views(&self) -> String {
        format!("/v1/analytics/{}/events", self.project())
    }
}

macro_rules! on_both_backends {
    ($($story:ident),*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $story() {
                super::$story(&super::unpack::open("sqlite").await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            #[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
            async fn $story() {
                super::$story(&super::unpack::open("postgres").await).await;
            })*
        }
    };
}

on_both_backends! {
    every_recorded_answer_is_given_again,
    what_was_sent_before_counts_once,
    secrets_people_and_pull_requests_are_there,
    active_jobs_reach_their_end
}

async fn every_recorded_answer_is_given_again(opened: &Opened) {
    let active: Vec<_> = opened.active_jobs().collect();
    let mut wrong = Vec::new();
    let answers = opened.recorded["answers"].as_array().unwrap();
    assert!(answers.len() > 100);
    for recorded in answers {
        let path = recorded["path"].as_str().unwrap();
        let found = opened.get(recorded["key"].as_str().unwrap(), path).await;
        if recorded["status"] != found.status {
            wrong.push(format!("{path}: the status was {}, and is {}", recorded["status"], found.status));
        } else if !recorded["body"].is_null() {
            let can_grow = active.iter().any(|job| path.contains(job));
            let found = compare::body(&found, &opened.server.url, opened.text("publicUrl"));
            wrong.extend(compare::differences(path, &compare::recorded(recorded), &found, can_grow));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Event ids and idempotency keys are remembered across the upgrade.
async fn what_was_sent_before_counts_once(opened: &Opened) {
    let known: Vec<_> = (0..100_000)
        .step_by(200)
        .map(|number| json!({ "path": "/guides/00", "eventId": format!("fixture-{number}") }))
        .collect();
    let taken = opened.server.post(opened.key("write"), &opened.views(), &json!(known)).await.json();
    assert_eq!((&taken["accepted"], &taken["duplicates"]), (&json!(500), &json!(500)));

    let path = format!("/v2/agent/{}/job", opened.project());
    let request = opened.server.request(Method::POST, &path).bearer_auth(opened.key("write"));
    let body = r#"{"prompt": "Replace \"eight\" with \"acht\"."}"#;
    let request = request.header("content-type", "application/json").header("idempotency-key", "queued");
    let again = send(request.body(body)).await;
    assert_eq!((again.status, again.header("idempotent-replay")), (201, "true"), "{again}");
    assert_eq!(again.json()["id"], opened.job("queued"));
}

async fn secrets_people_and_pull_requests_are_there(opened: &Opened) {
    let app = &opened.server.app;
    let key = server::model_key(&*app.secrets, "scripted").await.unwrap().unwrap();
    assert_eq!(key.reveal(), opened.text("modelKey"));
    let token = app.secrets.secret(opened.text("hosted"), server::HOST_KEY).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&token).contains(opened.text("hostToken")));

    for name in opened.recorded["people"].as_array().unwrap() {
        let entered = sign_in(&opened.server, name.as_str().unwrap(), opened.text("password")).await;
        let browser = Browser::with(&opened.server, &entered);
        let page = browser.get(&format!("/p/{}/pulls", opened.project())).await;
        assert!(page.status == 200 && page.body.contains("#6"), "{page}");
    }
    let found = app.pulls.pulls(&opened.project(), 100).await.unwrap();
    let repository = opened.server.data().with_file_name("docs.git");
    let wrong = compare::pulls(&opened.recorded["pulls"], &found, &repository);
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// One was cut off by a kill, one waits for its model, the others for a worker.
async fn active_jobs_reach_their_end(opened: &Opened) {
    opened.server.clock.advance(jiff::SignedDuration::from_hours(2));
    (0..3).for_each(|_| opened.provider.say(finish("Notes")));
    opened.server.run_queued_jobs().await;
    for job in opened.active_jobs() {
        let events = opened.get_job(job, "/events").await;
        assert_eq!(opened.get_job(job, "").await["status"], "completed", "{events:#}");
        let wrong = compare::differences(job, opened.recorded_of(job, "/events"), &events, true);
        assert!(wrong.is_empty(), "{wrong:?}");
    }
    let diff = |job| async move {
        let path = format!("/v2/agent/{}/job/{job}/diff", opened.project());
        opened.get("read", &path).await.body
    };
    assert!(diff(opened.job("queued")).await.contains("acht flags"));
    assert!(diff(opened.job("open")).await.contains("Fill vier Tassen. Wait five Minuten."));
    // What the model had answered before the kill is in the pull request, and was not asked for again.
    assert!(diff(opened.job("stuck")).await.contains("+++ b/notes/note-stuck.md"));
    let asked = opened.provider.sent();
    assert_eq!(asked.iter().filter(|body| body.contains("note-stuck")).count(), 1, "{asked:#?}");
    assert_eq!(opened.server.app.pulls.pulls(&opened.project(), 100).await.unwrap().len(), 8);
}
