//! Tests the stream of a job's events.

use reqwest::Method;
use serde_json::Value;

use crate::support::TestServer;

/// Reads a stream to its end, and returns `(id, event, number in the data)` of each event.
pub(crate) async fn watch(
    server: &TestServer,
    key: &str,
    path: &str,
    last: Option<&str>,
) -> Vec<(String, String, u64)> {
    let mut request =
        server.request(Method::GET, path).bearer_auth(key).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let answer = request.send().await.unwrap();
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    let text = answer.text().await.unwrap();
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().to_owned()
    };
    text.split("\n\n")
        .filter(|block| block.contains("data:"))
        .map(|block| {
            let data: Value = serde_json::from_str(&field(block, "data:")).unwrap();
            (field(block, "id:"), field(block, "event:"), data["number"].as_u64().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn a_stream_has_all_events_and_ends_with_the_job() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    let path = format!("/v2/agent/{}/job/{}/events", team.project.id, job["id"].as_str().unwrap());
    let (events, ()) = tokio::join!(watch(&server, &team.key, &path, None), server.run_queued_jobs());
    let numbers: Vec<_> =
        events.iter().map(|(id, _, number)| (id.parse::<u64>().unwrap(), *number)).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).map(|n| (n, n)).collect::<Vec<_>>());
    assert_eq!((events[0].1.as_str(), events.last().unwrap().1.as_str()), ("created", "ended"));

    let resumed = watch(&server, &team.key, &path, Some("3")).await;
    assert_eq!(resumed, events[3..]);
    let last = events.len().to_string();
    assert!(watch(&server, &team.key, &path, Some(&last)).await.is_empty());
    assert_eq!(watch(&server, &team.key, &path, Some("junk")).await, events);
    let array = server.get(&team.key, &path).await.json();
    assert_eq!(array.as_array().unwrap().len(), events.len());
}
