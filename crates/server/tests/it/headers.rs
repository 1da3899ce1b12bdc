//! Headers that every answer has, whoever made it.

use reqwest::Method;
use serde_json::json;

use crate::support::{TestServer, send};

#[tokio::test]
async fn no_answer_is_sniffed_or_stored() {
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
        let said = (answer.header("x-content-type-options"), answer.header("cache-control"));
        assert_eq!(said, ("nosniff", "no-store"), "{path}");
        assert_eq!(answer.header("strict-transport-security"), "", "{path}: it is reached by http");
    }
    let refused = server.post("dw_wrong", &format!("/v2/agent/{project}/job"), &json!({})).await;
    assert_eq!((refused.status, refused.header("cache-control")), (401, "no-store"));
    let script = send(server.request(Method::GET, "/js/docwright.js")).await;
    assert_eq!(script.header("cache-control"), "public, max-age=3600", "it is for every reader's browser");
}

#[tokio::test]
async fn a_server_that_is_reached_by_https_says_so() {
    let mut url = String::new();
    let behind_a_proxy = |app: &mut server::App| {
        url = app.public_url.to_string();
        app.public_url = "https://dw.example".into();
    };
    let _server = TestServer::start_from(|_| {}, behind_a_proxy).await;
    for path in ["/docs", "/login", "/healthz", "/nowhere"] {
        let answer = reqwest::get(format!("{url}{path}")).await.unwrap();
        assert_eq!(answer.headers()["strict-transport-security"], "max-age=31536000", "{path}");
    }
}
