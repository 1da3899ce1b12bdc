//! Tests the security headers of every response.

use reqwest::Method;
use serde_json::json;

use crate::support::{TestServer, send};

#[tokio::test]
async fn responses_are_neither_sniffed_nor_cached() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    let (project, job) = (&team.project.id, job["id"].as_str().unwrap());
    for path in [
        format!("/v2/agent/{project}/jobs"),
        format!("/v2/agent/{project}/job/{job}"),
        format!("/v2/agent/{project}/job/{job}/diff"),
        format!("/v2/agent/{project}/job/{job}/transcript"),
        format!("/v1/analytics/{project}/views"),
        format!("/v1/analytics/{project}/views?format=csv"),
        "/docs".into(),
        "/openapi.json".into(),
        "/healthz".into(),
        "/nowhere".into(),
        "/v2/agent/nowhere/jobs".into(),
        "/login".into(),
    ] {
        let answer = server.get(&team.key, &path).await;
        let headers = (answer.header("x-content-type-options"), answer.header("cache-control"));
        assert_eq!(headers, ("nosniff", "no-store"), "{path}");
        assert_eq!(answer.header("strict-transport-security"), "", "{path}: the server's URL is http");
    }
    let refused = server.post("dw_wrong", &format!("/v2/agent/{project}/job"), &json!({})).await;
    assert_eq!((refused.status, refused.header("cache-control")), (401, "no-store"));
    let script = send(server.request(Method::GET, "/js/docwright.js")).await;
    assert_eq!(script.header("cache-control"), "public, max-age=3600", "the browsers of readers cache it");
}

#[tokio::test]
async fn a_server_with_an_https_url_sends_hsts() {
    let mut url = String::new();
    let behind_a_proxy = |app: &mut server::AppParts| {
        url = app.public_url.to_string();
        app.public_url = "https://dw.example".into();
    };
    let _server = TestServer::start_from(|_| {}, behind_a_proxy).await;
    for path in ["/docs", "/login", "/healthz", "/nowhere"] {
        let answer = reqwest::get(format!("{url}{path}")).await.unwrap();
        assert_eq!(answer.headers()["strict-transport-security"], "max-age=31536000", "{path}");
    }
}
