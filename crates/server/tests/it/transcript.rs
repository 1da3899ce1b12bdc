//! Tests the transcript of a job: its events and its conversation with the model.

use serde_json::{Value, json};
use server::model::Provider;

use crate::agent::{create, edit, run, server};
use crate::provider::{FakeProvider, KEY, Turn, calls, finish};
use crate::support::{Answer, Team, TestServer};

async fn transcript(server: &TestServer, team: &Team, job: &Value) -> (Answer, Vec<Value>) {
    let path = format!("/v2/agent/{}/job/{}/transcript", team.project.id, job["id"].as_str().unwrap());
    let answer = server.get(&team.key, &path).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"), "{answer}");
    let lines = answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (answer, lines)
}

#[tokio::test]
async fn a_transcript_has_all_events_and_messages_in_order() {
    let provider = FakeProvider::start([
        Turn::Calls(vec![("read", json!({ "path": "setup.md" })), ("bash", json!({}))]),
        edit("a minute", "two minutes"),
        finish("Say two minutes"),
    ])
    .await;
    let (server, team) = server(&provider, Provider::Anthropic).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    let (_, waiting) = transcript(&server, &team, &job).await;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    run(&server, &team, &job).await;
    provider.say(finish("Leave it"));
    server.ask(&team, &job, "message", &json!({ "prompt": "Is that so?" })).await;
    run(&server, &team, &job).await;

    let (_, lines) = transcript(&server, &team, &job).await;
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).cloned().collect::<Vec<_>>();
    let (events, messages) = (of("event"), of("message"));
    let expected = server.events(&team, &job["id"]).await;
    let without_kind = |mut line: Value| line.as_object_mut().unwrap().remove("kind").map(|_| line);
    assert_eq!(events.into_iter().filter_map(without_kind).collect::<Vec<_>>(), expected);
    let roles: Vec<_> =
        messages.iter().map(|line| (line["run"].as_u64(), line["role"].as_str().unwrap())).collect();
    let (first, then) = (["user", "assistant", "tool"], ["assistant", "tool"]);
    let once = first.iter().chain(&then).chain(&then).map(|role| (Some(1), *role));
    assert_eq!(roles, once.chain(first.iter().map(|role| (Some(2), *role))).collect::<Vec<_>>());
    assert!(
        (1..).zip(&messages).all(|(n, line)| line["number"] == n && line["at"] == "2026-11-15T12:00:00.000Z")
    );
    assert!(messages[0]["content"].as_str().unwrap().contains("how long the setup takes"));
    assert_eq!(messages[1]["calls"][0]["arguments"], json!({ "path": "setup.md" }));
    assert_eq!(messages[1]["usage"], json!({ "inputTokens": 100, "outputTokens": 10, "cachedTokens": 0 }));
    let failed: Vec<_> =
        messages[2]["results"].as_array().unwrap().iter().map(|result| &result["failed"]).collect();
    assert_eq!(failed, [false, true]);

    let position = |kind: &str, name: &str, value: Value| {
        lines.iter().position(|line| line["kind"] == kind && line[name] == value).unwrap()
    };
    let order = [
        position("event", "type", json!("fetched")),
        position("message", "number", json!(1)),
        position("message", "number", json!(7)),
        position("event", "type", json!("ended")),
        position("event", "type", json!("message")),
        position("message", "number", json!(8)),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

/// Neither if a model got hold of a key, nor if a person put one into a prompt.
#[tokio::test]
async fn no_key_is_in_a_transcript_or_an_event() {
    let name = format!("docs/{KEY}.md");
    let turns =
        [calls("read", json!({ "path": name })), calls("plan", json!({ "steps": [KEY] })), finish(KEY)];
    let provider = FakeProvider::start(turns).await;
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, &format!("The key is {KEY}, is it not?")).await;
    server.ask(&team, &job, "message", &json!({ "prompt": format!("I mean {KEY}") })).await;
    let done = run(&server, &team, &job).await;
    let (answer, lines) = transcript(&server, &team, &job).await;
    assert!(!answer.body.contains(&KEY[..20]), "{answer}");
    assert!(lines.iter().any(|line| {
        line["content"].as_str().is_some_and(|text| text.contains("The key is [removed], is it not?"))
    }));
    let mut events = server.events(&team, &job["id"]).await;
    events.retain(|event| event["type"] != "message");
    assert!(!json!(events).to_string().contains(&KEY[..20]), "{done}: {events:?}");
}
