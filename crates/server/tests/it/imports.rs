//! Tests batches that are parts of a file: each is stored once, and the server says where to continue.

use serde_json::{Value, json};

use crate::support::{Answer, Team, TestServer};

const FILE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

async fn send_part(server: &TestServer, team: &Team, query: &str) -> Answer {
    let view = json!([{ "path": "/a", "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0" }]);
    server.post(&team.key, &format!("/v1/analytics/{}/events?{query}", team.project.id), &view).await
}

fn part(from: u64, to: u64) -> String {
    format!("file={FILE}&from={from}&to={to}&hash={}", "ab".repeat(32))
}

async fn progress(server: &TestServer, team: &Team) -> Value {
    server.get(&team.key, &format!("/v1/analytics/{}/imports/{FILE}", team.project.id)).await.json()
}

#[tokio::test]
async fn a_part_counts_once_and_a_repeated_part_is_a_409() {
    let server = TestServer::start().await;
    let (team, other) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    assert_eq!(progress(&server, &team).await, json!({ "bytes": 0, "hash": null }));
    assert_eq!(send_part(&server, &team, &part(0, 100)).await.status, 202);
    let again = send_part(&server, &team, &part(0, 100)).await;
    assert_eq!(
        again.to_string(),
        r#"409 {"error":"the file was imported up to byte 100; send the part that begins there"}"#
    );
    assert_eq!(again.header("x-error-code"), "conflict");
    assert_eq!(send_part(&server, &team, &part(100, 150)).await.status, 202);
    assert_eq!(progress(&server, &team).await, json!({ "bytes": 150, "hash": "ab".repeat(32) }));
    assert_eq!(progress(&server, &other).await["bytes"], 0);
    let views = server.get(&team.key, &format!("/v1/analytics/{}/views", team.project.id)).await;
    assert_eq!(views.json()["totals"]["human"], 2);
}

#[tokio::test]
async fn an_invalid_part_is_refused_and_nothing_is_stored() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for query in [&part(5, 5), "file=x", &format!("file={FILE}"), &part(0, u64::MAX)] {
        let answer = send_part(&server, &team, query).await;
        assert_eq!((answer.status, answer.header("x-error-code")), (400, "invalid_query"), "{answer}");
    }
    assert_eq!(progress(&server, &team).await["bytes"], 0);
}
