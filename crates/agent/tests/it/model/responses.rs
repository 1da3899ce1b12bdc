//! Tests the wire format `responses`.

use agent::model::{Arguments, Provider, StopReason, Usage};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answer, Fake};
use super::{arguments, events, sent_back, try_once};

fn item(when: &str, index: u64, item: Value) -> Value {
    json!({ "type": format!("response.output_item.{when}"), "output_index": index, "item": item })
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": index, "delta": delta })
}

fn end(status: &str, reason: Option<&str>) -> Value {
    let usage =
        json!({ "input_tokens": 115, "output_tokens": 42, "input_tokens_details": { "cached_tokens": 100 } });
    let details = reason.map(|reason| json!({ "reason": reason }));
    let response = json!({ "status": status, "error": null, "incomplete_details": details, "usage": usage });
    json!({ "type": format!("response.{status}"), "response": response })
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> Vec<Value> {
    let shown = |arguments: &str| json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": arguments });
    let pieces = arguments.char_indices().map(|(at, c)| &arguments[at..at + c.len_utf8()]);
    let deltas = pieces.map(|piece| delta("function_call_arguments", index, piece));
    let (first, last) = (item("added", index, shown("")), item("done", index, shown(arguments)));
    [first].into_iter().chain(deltas).chain([last]).collect()
}

fn two_calls() -> Vec<Value> {
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln" });
    let message = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "Let me — 日本.", "annotations": [] }],
    });
    let begin = [
        json!({ "type": "response.created", "response": { "error": null } }),
        item("done", 0, reasoning),
        delta("output_text", 1, "Let me "),
        delta("output_text", 1, "— 日本."),
        item("done", 1, message),
    ];
    let calls = [call(2, "call_a", "read", "{\"path\": \"é\"}"), call(3, "call_b", "list", "")].concat();
    [&begin[..], &calls, &[end("completed", None)]].concat()
}

#[tokio::test]
async fn a_conversation_is_sent() {
    let fake = Fake::answering([Answer::stream(&events(&two_calls()))]).await;
    try_once(&fake, Provider::OpenAiResponses).await.unwrap();
    let request = fake.only_request();
    assert!(request.head.starts_with("post /responses http/1.1\r\n"), "{}", request.head);
    assert_snapshot!("responses", format!("{:#}", request.body));
}

#[tokio::test]
async fn items_become_a_turn_and_go_back_as_they_came() {
    for size in [1, 6, usize::MAX] {
        let fake = Fake::answering([Answer::pieces(&events(&two_calls()), size)]).await;
        let reply = try_once(&fake, Provider::OpenAiResponses).await.unwrap();
        assert_eq!(reply.turn.text, "Let me — 日本.");
        assert_eq!(
            arguments(&reply),
            [
                ("call_a", "read", &Arguments::Json(json!({ "path": "é" }))),
                ("call_b", "list", &Arguments::Json(json!({}))),
            ]
        );
        assert_eq!(
            (reply.stop, reply.usage),
            (StopReason::Calls, Usage { input: 115, output: 42, cached: 100 })
        );
        let body = sent_back(Provider::OpenAiResponses, reply).await;
        let kinds: Vec<_> = body["input"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
        assert_eq!(
            json!(kinds),
            json!([
                null,
                "reasoning",
                "message",
                "function_call",
                "function_call",
                "function_call_output",
                "function_call_output",
            ])
        );
        assert_eq!(body["input"][1]["encrypted_content"], "c2ln");
    }
}

#[tokio::test]
async fn why_it_stopped() {
    for (ending, stop) in [
        (end("completed", None), StopReason::Done),
        (end("incomplete", Some("max_output_tokens")), StopReason::TooLong),
        (end("incomplete", Some("content_filter")), StopReason::Refused),
    ] {
        let fake = Fake::answering([Answer::stream(&events(&[delta("output_text", 0, "x"), ending]))]).await;
        assert_eq!(try_once(&fake, Provider::OpenAiResponses).await.unwrap().stop, stop);
    }
    let no = [delta("refusal", 0, "I will not."), end("completed", None)];
    let fake = Fake::answering([Answer::stream(&events(&no))]).await;
    assert_eq!(try_once(&fake, Provider::OpenAiResponses).await.unwrap().stop, StopReason::Refused);
}
