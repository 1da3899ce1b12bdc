//! Tests the wire format `anthropic`.

use agent::model::{Arguments, Provider, StopReason, Usage};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answer, Fake};
use super::{arguments, ask, conversation, events, open, sent_back, settings, try_once};

fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 42 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn stream(blocks: &[Value], reason: &str) -> String {
    let usage = json!({
        "input_tokens": 5, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1,
    });
    let begin =
        [json!({ "type": "message_start", "message": { "usage": usage } }), json!({ "type": "ping" })];
    events(&[&begin, blocks, &end(reason)[..]].concat())
}

fn two_calls() -> String {
    stream(
        &[
            start(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "Ich prüfe " })),
            delta(0, json!({ "type": "text_delta", "text": "日本語 — ok." })),
            json!({ "type": "content_block_stop", "index": 0 }),
            start(1, json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": "" })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": "{\"pa" })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": "th\": \"é" })),
            delta(1, json!({ "type": "input_json_delta", "partial_json": ".md\"}" })),
            start(2, json!({ "type": "tool_use", "id": "toolu_2", "name": "list", "input": {} })),
        ],
        "tool_use",
    )
}

#[tokio::test]
async fn a_conversation_is_sent_with_marks_for_the_cache() {
    let fake = Fake::answering([Answer::stream(&two_calls())]).await;
    try_once(&fake, Provider::Anthropic).await.unwrap();
    let request = fake.only_request();
    assert!(request.head.starts_with("post /v1/messages http/1.1\r\n"), "{}", request.head);
    assert!(request.head.contains("x-api-key: sk-test-0123456789\r\n"));
    assert!(request.head.contains("anthropic-version: 2023-06-01\r\n"));
    assert_snapshot!("anthropic", format!("{:#}", request.body));
}

#[tokio::test]
async fn a_stream_may_be_cut_into_any_pieces() {
    for size in [1, 2, 3, 7, 100, usize::MAX] {
        let fake = Fake::answering([Answer::pieces(&two_calls(), size)]).await;
        let model = open(&settings(&fake, Provider::Anthropic));
        let (reply, texts) = ask(&*model, &conversation()).await;
        let reply = reply.unwrap();
        assert_eq!(texts, ["Ich prüfe ", "日本語 — ok."]);
        assert_eq!(reply.turn.text, "Ich prüfe 日本語 — ok.");
        assert_eq!(
            arguments(&reply),
            [
                ("toolu_1", "read", &Arguments::Json(json!({ "path": "é.md" }))),
                ("toolu_2", "list", &Arguments::Json(json!({}))),
            ]
        );
        assert_eq!(reply.stop, StopReason::Calls);
        assert_eq!(reply.usage, Usage { input: 115, output: 42, cached: 100 });
        assert_eq!(reply.turn.opaque, None);
    }
}

#[tokio::test]
async fn signed_thinking_is_sent_back_verbatim_and_in_its_place() {
    let thinking = stream(
        &[
            start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "Hm, " })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "yes." })),
            delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
            start(1, json!({ "type": "redacted_thinking", "data": "eHl6" })),
            start(2, json!({ "type": "text", "text": "Now." })),
            start(3, json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
            delta(3, json!({ "type": "input_json_delta", "partial_json": "{\"path\":\"a\"}" })),
        ],
        "tool_use",
    );
    let fake = Fake::answering([Answer::stream(&thinking)]).await;
    let reply = try_once(&fake, Provider::Anthropic).await.unwrap();
    assert_eq!(reply.turn.text, "Now.");
    let body = sent_back(Provider::Anthropic, reply.clone()).await;
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            { "type": "thinking", "thinking": "Hm, yes.", "signature": "c2ln" },
            { "type": "redacted_thinking", "data": "eHl6" },
            { "type": "text", "text": "Now." },
            { "type": "tool_use", "id": "toolu_1", "name": "read", "input": { "path": "a" } },
        ])
    );
    // Another provider can continue the conversation, and doesn't get what it can't read.
    let other = sent_back(Provider::OpenAi, reply).await;
    assert!(!other.to_string().contains("c2ln"));
}

#[tokio::test]
async fn why_it_stopped() {
    for (reason, stop) in [
        ("end_turn", StopReason::Done),
        ("max_tokens", StopReason::TooLong),
        ("refusal", StopReason::Refused),
        ("new", StopReason::Done),
    ] {
        let blocks = [start(0, json!({ "type": "text", "text": "Well." }))];
        let fake = Fake::answering([Answer::stream(&stream(&blocks, reason))]).await;
        assert_eq!(try_once(&fake, Provider::Anthropic).await.unwrap().stop, stop, "{reason}");
    }
}
