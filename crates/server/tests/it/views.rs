//! Tests ingesting page views, and counting views and visitors.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::support::{Answer, Team, TestServer, send};

const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const CHATGPT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";

async fn send_events(server: &TestServer, team: &Team, events: Value) -> Answer {
    server.post(&team.key, &format!("/v1/analytics/{}/events", team.project.id), &events).await
}

async fn views(server: &TestServer, team: &Team, query: &str) -> Value {
    server.get(&team.key, &format!("/v1/analytics/{}/views?{query}", team.project.id)).await.json()
}

fn view(path: &str, at: &str, user_agent: &str) -> Value {
    json!({ "path": path, "timestamp": at, "userAgent": user_agent })
}

#[tokio::test]
async fn human_and_ai_views_are_counted_separately_and_the_end_is_exclusive() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let response = send_events(
        &server,
        &team,
        json!([
            view("/guide/", "2026-03-01T00:00:00Z", CHROME),
            view("/guide", "2026-03-01T23:59:59.999Z", CHATGPT),
            view("/guide.md", "2026-03-01T12:00:00Z", "curl/8.5.0"),
            view("/guide", "2026-03-02T00:00:00Z", CHROME),
            view("/", "2026-03-01T12:00:00+05:30", CHROME),
            view("/guide", "2026-03-01T12:00:00Z", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
            { "path": "/gone", "timestamp": "2026-03-01T12:00:00Z", "userAgent": CHROME, "status": 404 },
            { "path": "/logo.png", "timestamp": "2026-03-01T12:00:00Z", "userAgent": CHROME },
        ]),
    )
    .await;
    assert_eq!(response.to_string(), r#"202 {"accepted":8,"duplicates":0,"rejected":[]}"#);
    let day = views(&server, &team, "dateFrom=2026-03-01&dateTo=2026-03-02").await;
    let expected = json!({
        "totals": { "human": 2, "ai": 2, "total": 4 },
        "views": [
            { "path": "/guide", "human": 1, "ai": 2, "total": 3 },
            { "path": "/", "human": 1, "ai": 0, "total": 1 },
        ],
        "hasMore": false,
    });
    assert_eq!(day, expected);
    assert_eq!(views(&server, &team, "").await["totals"]["total"], 5);
    assert_eq!(views(&server, &team, "dateFrom=2026-03-02&dateTo=2026-03-02").await["totals"]["total"], 0);
}

#[tokio::test]
async fn pages_are_listed_in_parts_that_add_up() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let events: Vec<_> = (0..7).map(|n| view(&format!("/p{n}"), "2026-03-01T00:00:00Z", CHROME)).collect();
    send_events(&server, &team, json!(events)).await;
    let mut paths = Vec::new();
    for offset in [0, 3, 6] {
        let part = views(&server, &team, &format!("limit=3&offset={offset}")).await;
        assert_eq!(part["hasMore"], offset < 6);
        assert_eq!(part["totals"]["total"], 7);
        paths
            .extend(part["views"].as_array().unwrap().iter().map(|v| v["path"].as_str().unwrap().to_owned()));
    }
    assert_eq!(paths, (0..7).map(|n| format!("/p{n}")).collect::<Vec<_>>());
    assert_eq!(views(&server, &team, "offset=7").await["views"], json!([]));
}

#[tokio::test]
async fn invalid_events_are_rejected_with_their_lines_and_valid_ones_are_stored() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let body = [
        &serde_json::to_string(&view("/a", "2026-03-01T00:00:00Z", CHROME)).unwrap(),
        "",
        "not json",
        r#"{"path":"/b","timestamp":"yesterday"}"#,
        r#"{"userAgent":"x"}"#,
        r#"{"path":"/c","timestamp":"2027-01-01"}"#,
        r#"{"path":"/d","status":"200"}"#,
        r#"["/e"]"#,
        r#"{"url":"https://docs.acme.dev/e?x=1","userAgent":"ChatGPT-User/1.0","unknown":{}}"#,
    ]
    .join("\n");
    let path = format!("/v1/analytics/{}/events", team.project.id);
    let request = server
        .request(Method::POST, &path)
        .bearer_auth(&team.key)
        .header(CONTENT_TYPE, "application/x-ndjson");
    let answer = send(request.body(body)).await;
    assert_eq!((answer.status, &answer.json()["accepted"]), (202, &json!(2)), "{answer}");
    let lines: Vec<_> =
        answer.json()["rejected"].as_array().unwrap().iter().map(|r| r["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7, 8], "{answer}");
    assert_eq!(views(&server, &team, "").await["totals"], json!({ "human": 1, "ai": 1, "total": 2 }));
}

#[tokio::test]
async fn an_event_id_counts_once() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let event = json!({ "path": "/a", "userAgent": CHROME, "eventId": "one" });
    let twice = send_events(&server, &team, json!([event, event])).await;
    assert_eq!(twice.to_string(), r#"202 {"accepted":2,"duplicates":1,"rejected":[]}"#);
    let again = send_events(&server, &team, json!([event])).await;
    assert_eq!(again.to_string(), r#"202 {"accepted":1,"duplicates":1,"rejected":[]}"#);
    assert_eq!(views(&server, &team, "").await["totals"]["total"], 1);
}

#[tokio::test]
async fn views_of_one_project_are_not_counted_in_another() {
    let server = TestServer::start().await;
    let (mine, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    send_events(&server, &mine, json!([view("/a", "2026-03-01", CHROME)])).await;
    assert_eq!(views(&server, &mine, "").await["totals"]["total"], 1);
    assert_eq!(views(&server, &theirs, "").await["totals"]["total"], 0);
}

#[tokio::test]
async fn a_visitor_counts_once_per_day() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let read = |path: &str, at: &str, agent: &str, ip: &str| json!({ "path": path, "timestamp": at, "userAgent": agent, "ip": ip });
    let events = json!([
        read("/guide", "2026-03-01T08:00:00Z", CHROME, "192.0.2.1"),
        read("/guide", "2026-03-01T09:00:00Z", CHROME, "192.0.2.1"),
        read("/guide.md", "2026-03-01T09:00:00Z", CHROME, "192.0.2.1"),
        read("/", "2026-03-01T09:00:00Z", CHROME, "192.0.2.1"),
        read("/", "2026-03-01T09:00:00Z", CHATGPT, "192.0.2.1"),
        read("/", "2026-03-01T09:00:00Z", CHROME, "2001:db8::1"),
        read("/", "2026-03-02T09:00:00Z", CHROME, "192.0.2.1"),
        read("/", "2026-03-02T09:00:00Z", "Googlebot/2.1", "192.0.2.9"),
    ]);
    assert_eq!(send_events(&server, &team, events).await.status, 202);
    let visitors = async |query: &str| {
        server.get(&team.key, &format!("/v1/analytics/{}/visitors?{query}", team.project.id)).await.json()
    };
    let expected = json!({
        "totals": { "human": 2, "ai": 2, "total": 3 },
        "visitors": [
            { "path": "/", "human": 2, "ai": 1, "total": 3 },
            { "path": "/guide", "human": 1, "ai": 1, "total": 1 },
        ],
        "hasMore": false,
    });
    assert_eq!(visitors("dateFrom=2026-03-01&dateTo=2026-03-02").await, expected);
    let all = visitors("limit=1").await;
    assert_eq!(all["totals"], json!({ "human": 3, "ai": 2, "total": 4 }));
    assert_eq!(all["visitors"], json!([{ "path": "/", "human": 3, "ai": 1, "total": 4 }]));
    assert_eq!(all["hasMore"], true);
    let empty = json!({ "totals": { "human": 0, "ai": 0, "total": 0 }, "visitors": [], "hasMore": false });
    assert_eq!(visitors("dateFrom=2026-03-01T00:00:00.001Z&dateTo=2026-03-02").await, empty);
}
