//! Tests fault injection.

use std::time::{Duration, Instant};

use fakehost::{Effect, FakeHost, Kind};
use reqwest::Method;
use serde_json::json;
use tempfile::tempdir;

use crate::client::{TOKEN, get, git, host, http, request, with_token};

const PULLS: &str = "/repos/acme/docs/pulls";

async fn open(host: &FakeHost) -> reqwest::Result<reqwest::Response> {
    let body = json!({ "title": "Edit", "head": "edit", "base": "main" });
    http().post(format!("{}{PULLS}", host.url())).bearer_auth(TOKEN).json(&body).send().await
}

#[tokio::test]
async fn a_dropped_request_is_handled_or_not() {
    let host = host(Kind::GitHub).await;
    host.faults().next(1, "POST", "/pulls", Effect::DropBefore);
    host.faults().next(1, "POST", "/pulls", Effect::DropAfter);
    assert!(open(&host).await.is_err());
    assert_eq!(host.pulls("acme/docs").len(), 0);
    assert!(open(&host).await.is_err());
    assert_eq!(host.pulls("acme/docs").len(), 1);
    assert_eq!(open(&host).await.unwrap().status().as_u16(), 422);
    let statuses: Vec<_> = host.requests().iter().map(|seen| seen.status).collect();
    assert_eq!((statuses, host.request_count()), (vec![None, None, Some(422)], 3));
}

#[tokio::test]
async fn a_push_with_a_dropped_response_is_complete() {
    let host = host(Kind::Forgejo).await;
    let dir = tempdir().unwrap();
    let url = with_token(&format!("{}/acme/docs.git", host.url()), TOKEN);
    git(dir.path(), &["clone", "--quiet", &url, "."]).await;
    host.faults().next(1, "POST", "/git-receive-pack", Effect::DropAfter);
    let push = ["push", "--quiet", "origin", "HEAD:refs/heads/new"];
    assert!(!git(dir.path(), &push).await.status.success());
    assert_eq!(host.tip("acme/docs", "new"), host.tip("acme/docs", "main"));
    assert!(git(dir.path(), &push).await.status.success());
}

#[tokio::test]
async fn a_list_can_be_outdated() {
    let host = host(Kind::GitHub).await;
    open(&host).await.unwrap();
    host.faults().always("GET", "/pulls?", Effect::Lag(2));
    let count = async || get(&host, &format!("{PULLS}?head=acme:edit")).await.body.as_array().unwrap().len();
    assert_eq!((count().await, count().await, count().await), (0, 0, 1));
    assert_eq!(open(&host).await.unwrap().status().as_u16(), 422);
}

#[tokio::test]
async fn responses_can_be_replaced() {
    let host = host(Kind::GitHub).await;
    let path = "/repos/acme/docs";
    host.faults().next(1, "GET", path, Effect::status(502));
    host.faults().next(1, "GET", path, Effect::secondary_limit(7));
    host.faults().next(1, "GET", path, Effect::too_many(3));
    host.faults().next(1, "GET", path, Effect::Redirect("http://127.0.0.1:9/".into()));
    host.faults().next(1, "GET", path, Effect::Garbage);
    host.faults().next(1, "GET", path, Effect::Delay(30));
    assert_eq!(get(&host, path).await.status, 502);
    let limit = get(&host, path).await;
    assert_eq!((limit.status, limit.headers["retry-after"].to_str().unwrap()), (403, "7"));
    assert_eq!(get(&host, path).await.status, 429);
    let redirect = get(&host, path).await;
    assert_eq!(
        (redirect.status, redirect.headers["location"].to_str().unwrap()),
        (307, "http://127.0.0.1:9/repos/acme/docs")
    );
    assert!(get(&host, path).await.body.as_str().unwrap().contains("<html>"));
    let start = Instant::now();
    assert_eq!(get(&host, path).await.status, 200);
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert!(host.faults().pending().is_empty());
}

#[tokio::test]
async fn a_body_can_be_endless() {
    let host = host(Kind::GitHub).await;
    host.faults().next(1, "GET", "/user", Effect::Endless);
    let mut answer = http().get(format!("{}/user", host.url())).bearer_auth(TOKEN).send().await.unwrap();
    let mut read = 0;
    while read < 4 * 1024 * 1024 {
        read += answer.chunk().await.unwrap().unwrap().len();
    }
    drop(answer);
    assert_eq!(get(&host, "/user").await.status, 200);
}

#[tokio::test]
async fn another_process_can_add_faults() {
    let host = host(Kind::GitHub).await;
    let fault = json!({
        "method": "POST", "path": "/pulls", "times": 1,
        "effect": { "status": { "status": 503, "headers": { "retry-after": "1" } } },
    });
    assert_eq!(request(&host, Method::POST, "/_fake/faults", fault).await.status, 204);
    assert_eq!(
        request(&host, Method::POST, "/_fake/faults", json!({ "effect": "explode" })).await.status,
        422
    );
    assert_eq!(open(&host).await.unwrap().status().as_u16(), 503);
    assert_eq!(open(&host).await.unwrap().status().as_u16(), 201);
    let state = get(&host, "/_fake/state").await.body;
    assert_eq!((&state["count"], &state["pulls"]["acme/docs"][0]["state"]), (&json!(2), &json!("open")));
    assert_eq!(state["requests"][1]["authorization"], format!("Bearer {TOKEN}"));
}
