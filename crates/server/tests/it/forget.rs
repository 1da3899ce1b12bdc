//! Tests removing the views of junk paths over the API.

use serde_json::{Value, json};
use store::Scope;

use crate::support::{Team, TestServer};

const CHROME: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36";

fn view(path: &str, id: &str) -> Value {
    json!({ "path": path, "userAgent": CHROME, "eventId": id, "timestamp": "2026-11-14T09:00:00Z" })
}

async fn send_views(server: &TestServer, team: &Team) -> Value {
    let events = json!([view("/junk/a", "1"), view("/junk/b", "2"), view("/docs", "3")]);
    let path = format!("/v1/analytics/{}/events", team.project.id);
    server.post(&team.key, &path, &events).await.json()
}

async fn pages(server: &TestServer, team: &Team) -> Vec<String> {
    let views = server.get(&team.key, &format!("/v1/analytics/{}/views", team.project.id)).await.json();
    let path = |page: &Value| page["path"].as_str().unwrap().to_owned();
    views["views"].as_array().unwrap().iter().map(path).collect()
}

#[tokio::test]
async fn a_write_key_removes_junk_paths_and_the_audit_log_records_it() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    send_views(&server, &team).await;
    let path = format!("/v1/analytics/{}/forget", team.project.id);
    let body = |dry_run: bool| json!({ "path": "/junk/**", "dryRun": dry_run });
    let done = json!({ "views": 2, "pages": 2, "next": null });
    assert_eq!(server.post(&team.key, &path, &body(true)).await.json(), done);
    assert_eq!(pages(&server, &team).await, ["/docs", "/junk/a", "/junk/b"]);
    assert!(audit_log(&server, &team).await.is_empty(), "a dry run does nothing");

    let read_key = server.key(&team.organization, |new| new.scope = Scope::Read).await;
    assert_eq!(server.post(&read_key, &path, &body(false)).await.status, 403);
    assert_eq!(server.post(&team.key, &path, &body(false)).await.json(), done);
    assert_eq!(pages(&server, &team).await, ["/docs"]);
    let expected = format!(
        "API key test ({}…) removed page views by path /junk/** of {}",
        &team.key[..7],
        team.project.name
    );
    assert_eq!(audit_log(&server, &team).await, [expected]);
    assert_eq!(
        send_views(&server, &team).await["duplicates"],
        3,
        "a removed view that is sent again isn't counted"
    );
    assert_eq!(pages(&server, &team).await, ["/docs"]);
    for bad in
        [json!({}), json!({ "path": "junk" }), json!({ "path": "/[" }), json!({ "path": "/a", "dryRun": 1 })]
    {
        let refused = server.post(&team.key, &path, &bad).await;
        assert_eq!(
            (refused.status, refused.header("x-error-code")),
            (400, "invalid_body"),
            "{bad}: {refused}"
        );
    }
}

async fn audit_log(server: &TestServer, team: &Team) -> Vec<String> {
    let entries = server.app.people.audit_log(&team.organization.id, None, 10).await.unwrap();
    entries.into_iter().map(|entry| format!("{} {} {}", entry.who, entry.what, entry.about)).collect()
}
