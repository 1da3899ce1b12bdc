//! Tests the webhooks that a receiver gets.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use fakehost::{FakeHost, Kind};
use reqwest::Method;
use ring::hmac;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::client::{host, request};

const SECRET: &str = "hook-secret";

type Received = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// Starts a webhook receiver.
async fn start_receiver(host: &FakeHost) -> Received {
    let received = Received::default();
    let take = async |State(all): State<Received>, headers: HeaderMap, body: String| {
        all.lock().unwrap().push((headers, body));
    };
    let router = Router::new().fallback(take).with_state(received.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    host.hook(&format!("http://{}/hooks", listener.local_addr().unwrap()), SECRET);
    tokio::spawn(async move { axum::serve(listener, router).await });
    received
}

fn signature(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::sign(&key, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn github_signs_the_events_of_a_pull_request() {
    let host = host(Kind::GitHub).await;
    let received = start_receiver(&host).await;
    let new = json!({ "title": "Edit", "head": "edit", "base": "main" });
    request(&host, Method::POST, "/repos/acme/docs/pulls", new).await;
    host.push("acme/docs", "edit", &[("a.md", "eins\n")]).await;
    host.close_pull("acme/docs", 1);
    host.reopen_pull("acme/docs", 1);
    host.merge_pull("acme/docs", 1).await;
    let sent = host.deliveries().await;
    assert!(sent.iter().all(|delivery| delivery.status == Some(200)), "{sent:?}");

    let received = received.lock().unwrap();
    let actions: Vec<_> = received
        .iter()
        .map(|(headers, body)| {
            assert_eq!(headers["x-hub-signature-256"], format!("sha256={}", signature(body)));
            let body: Value = serde_json::from_str(body).unwrap();
            let what = body["action"].as_str().or(body["ref"].as_str()).unwrap();
            format!("{} {what}", headers["x-github-event"].to_str().unwrap())
        })
        .collect();
    let pulls =
        ["opened", "synchronize", "closed", "reopened", "closed"].map(|what| format!("pull_request {what}"));
    let [opened, moved, closed, reopened, merged] = pulls;
    let edit = "push refs/heads/edit".to_owned();
    let main = "push refs/heads/main".to_owned();
    assert_eq!(actions, [opened, edit, moved, closed, reopened, merged, main]);
}

#[tokio::test]
async fn gitlab_sends_its_token_and_gitea_its_signature() {
    let new = json!({ "title": "Edit", "source_branch": "edit", "target_branch": "main" });
    let gitlab = host(Kind::GitLab).await;
    let received = start_receiver(&gitlab).await;
    request(&gitlab, Method::POST, "/projects/acme%2Fdocs/merge_requests", new).await;
    gitlab.merge_pull("acme/docs", 1).await;
    gitlab.deliveries().await;
    let (headers, body) = received.lock().unwrap()[1].clone();
    assert_eq!(
        (&headers["x-gitlab-event"], &headers["x-gitlab-token"]),
        (&"Merge Request Hook".parse().unwrap(), &SECRET.parse().unwrap())
    );
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["object_attributes"]["action"], "merge");

    let new = json!({ "title": "Edit", "head": "edit", "base": "main" });
    let forgejo = host(Kind::Forgejo).await;
    let received = start_receiver(&forgejo).await;
    request(&forgejo, Method::POST, "/repos/acme/docs/pulls", new).await;
    forgejo.delete_branch("acme/docs", "edit").await;
    forgejo.deliveries().await;
    let (headers, body) = received.lock().unwrap()[2].clone();
    assert_eq!(headers["x-gitea-signature"], signature(&body));
    assert_eq!(headers["x-forgejo-signature"], signature(&body));
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["action"], &body["pull_request"]["state"]), (&json!("closed"), &json!("closed")));
}

#[tokio::test]
async fn another_process_can_add_a_webhook() {
    let host = host(Kind::GitHub).await;
    let hook = json!({ "url": "http://127.0.0.1:1/hooks", "secret": SECRET });
    assert_eq!(request(&host, Method::POST, "/_fake/hooks", hook).await.status, 204);
    host.push("acme/docs", "edit", &[("a.md", "eins\n")]).await;
    let sent = host.deliveries().await;
    assert_eq!(sent[0].url, "http://127.0.0.1:1/hooks");
}
