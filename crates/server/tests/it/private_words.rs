//! Tests that responses of services in a private network are never shown, even if private addresses are allowed.
//! The service is a real one on a real port. Every response of it contains a secret.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use server::HOST_KEY;
use server::model::{Provider, Settings as ModelSettings};
use store::Hosting;

use crate::pages::Browser;
use crate::support::{Team, TestServer};

const SECRET: &str = "hunter2-of-the-internal-service";
/// The text that replaces a response.
const HIDDEN: &str = "not shown, because it comes from a private network";

/// The status, the content type and the body.
type Reply = (u16, &'static str, String);

fn replies() -> Vec<Reply> {
    let error = json!({ "message": SECRET, "error": SECRET, "error_description": SECRET, "web_url": SECRET });
    let mut all = Vec::new();
    for status in [200, 302, 400, 401, 403, 404, 410, 418, 422, 451, 500, 503] {
        all.push((status, "text/plain", SECRET.to_owned()));
        all.push((status, "application/json", error.to_string()));
        all.push((status, "application/json", json!({ "error": { "message": SECRET } }).to_string()));
    }
    let refs = format!("001e# service=git-upload-pack\n0000{:04x}ERR {SECRET}\n", 9 + SECRET.len());
    all.push((200, "application/x-git-upload-pack-advertisement", refs));
    let event = json!({ "error": { "message": SECRET } });
    all.push((200, "text/event-stream", format!("data: {event}\n\n")));
    all
}

async fn service(reply: Reply) -> String {
    let answer = move || {
        let (status, kind, body) = reply.clone();
        async move {
            let status = StatusCode::from_u16(status).unwrap();
            let to = format!("http://{SECRET}.example/{SECRET}");
            // Too long for a wait in the run, so the job is delayed at once.
            let headers = [(CONTENT_TYPE, kind.to_owned()), (LOCATION, to), (RETRY_AFTER, "3600".to_owned())];
            (status, headers, body).into_response()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

/// Every response and page about a job and its repository.
async fn read_everything(server: &TestServer, team: &Team, job: &Value) -> Vec<String> {
    let id = job["id"].as_str().unwrap();
    let browser = Browser::signed_in(server, team).await;
    let mut all = Vec::new();
    for what in ["", "/events", "/diff", "/transcript"] {
        let path = format!("/v2/agent/{}/job/{id}{what}", team.project.id);
        all.push(server.get(&team.key, &path).await.to_string());
    }
    for page in [format!("/jobs/{id}"), "/jobs".into(), "/settings".into(), "/pulls".into()] {
        all.push(browser.get(&format!("/p/{}{page}", team.project.id)).await.to_string());
    }
    all
}

#[tokio::test]
async fn responses_of_an_internal_host_are_not_shown() {
    let server = TestServer::start_with(|settings| {
        settings.hosts.allow_private = true;
        settings.host_retry_delay = Duration::from_millis(1);
    })
    .await;
    let mut team = server.team("acme", &[]).await;
    let kinds = ["github", "gitlab", "gitea"].into_iter().cycle();
    for (reply, kind) in replies().into_iter().zip(kinds) {
        let repository = format!("{}/acme/docs", service(reply.clone()).await);
        team.project = server
            .project(&team, |new| {
                new.repository = repository.clone();
                new.hosting = Hosting { kind: Some(kind.into()), ..Hosting::default() };
            })
            .await;
        server.app.secrets.put_secret(&team.project.id.0, HOST_KEY, b"tok-1234").await.unwrap();
        let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
        server.run_queued_jobs().await;
        let mut all = read_everything(&server, &team, &job).await;
        let browser = Browser::signed_in(&server, &team).await;
        let form = [("name", "D"), ("repository", &*repository), ("branch", ""), ("folder", "")];
        let path = format!("/p/{}/settings/repository", team.project.id);
        all.push(browser.post(&path, &form).await.to_string());
        for text in &all {
            assert!(!text.contains(SECRET), "{kind} {reply:?}: {text}");
        }
    }
}

#[tokio::test]
async fn responses_of_an_internal_model_are_not_shown() {
    let mut models = BTreeMap::new();
    // An error with the status 200 is retried a few times, so one of those is enough.
    let is_tested = |(status, kind, _): &Reply| *status != 200 || *kind == "text/event-stream";
    for (n, reply) in replies().into_iter().filter(is_tested).enumerate() {
        let mut model = ModelSettings::new(Provider::Compatible, "test-model");
        model.base_url = Some(service(reply).await);
        model.allow_private = true;
        models.insert(format!("m{n}"), model);
    }
    let names: Vec<String> = models.keys().cloned().collect();
    let server = TestServer::start_with(|settings| settings.models = models).await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let mut hidden = 0;
    for name in names {
        let path = format!("/v2/agent/{}/job", team.project.id);
        let job = server.post(&team.key, &path, &json!({ "prompt": "Do it", "model": name })).await;
        assert_eq!(job.status, 201, "{job}");
        server.run_queued_jobs().await;
        for text in read_everything(&server, &team, &job.json()).await {
            assert!(!text.contains(SECRET), "{name}: {text}");
            hidden += usize::from(text.contains(HIDDEN));
        }
    }
    assert!(hidden > 0, "the sentence says why the response is not shown");
}
