//! Junk paths, removed over the API.

use serde_json::{Value, json};
use store::Scope;

use crate::support::{Team, TestServer};

const CHROME: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36";

fn view(path: &str, id: &str) -> Value {
    json!({ "path": path, "userAgent": CHROME, "eventId": id, "timestamp": "2026-11-14T09:00:00Z" })
}

async fn send(server: &TestServer, team: &Team) -> Value {
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
async fn junk_is_removed_by_a_key_that_writes_and_the_audit_log_says_so() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    send(&server, &team).await;
    let path = format!("/v1/analytics/{}/forget", team.project.id);
    let body = |dry_run: bool| json!({ "path": "/junk/**", "dryRun": dry_run });
    let done = json!({ "views": 2, "pages": 2, "next": null });
    assert_eq!(server.post(&team.key, &path, &body(true)).await.json(), done);
    assert_eq!(pages(&server, &team).await, ["/docs", "/junk/a", "/junk/b"]);
    assert!(deeds(&server, &team).await.is_empty(), "a dry run does nothing");

    let reading = server.key(&team.organization, |new| new.scope = Scope::Read).await;
    assert_eq!(server.post(&reading, &path, &body(false)).await.status, 403);
    assert_eq!(server.post(&team.key, &path, &body(false)).await.json(), done);
    assert_eq!(pages(&server, &team).await, ["/docs"]);
    let told = format!(
        "API key test ({}…) removed page views by path /junk/** of {}",
        &team.key[..7],
        team.project.name
    );
    assert_eq!(deeds(&server, &team).await, [told]);
    assert_eq!(send(&server, &team).await["duplicates"], 3, "what is sent again stays away");
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

async fn deeds(server: &TestServer, team: &Team) -> Vec<String> {
    let deeds = server.app.people.audit_log(&team.organization.id, None, 10).await.unwrap();
    deeds.into_iter().map(|deed| format!("{} {} {}", deed.who, deed.what, deed.about)).collect()
}
