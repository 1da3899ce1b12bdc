//! Tests the wire format `gemini`.

use agent::model::{Arguments, Provider, StopReason, Usage};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answer, Fake};
use super::{arguments, events, sent_back, try_once};

fn parts(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
}

fn end(reason: &str) -> Value {
    let usage = json!({
        "promptTokenCount": 115, "candidatesTokenCount": 40, "thoughtsTokenCount": 2, "cachedContentTokenCount": 100,
    });
    json!({ "candidates": [{ "finishReason": reason, "index": 0 }], "usageMetadata": usage })
}

#[tokio::test]
async fn a_conversation_is_sent() {
    let fake = Fake::answering([Answer::stream(&events(&[end("STOP")]))]).await;
    try_once(&fake, Provider::Gemini).await.unwrap();
    let request = fake.only_request();
    let line = "post /models/test-model:streamgeneratecontent?alt=sse http/1.1\r\n";
    assert!(request.head.starts_with(line), "{}", request.head);
    assert!(request.head.contains("x-goog-api-key: sk-test-0123456789\r\n"));
    assert_snapshot!("gemini", format!("{:#}", request.body));
}

#[tokio::test]
async fn parts_become_a_turn_and_go_back_with_their_signatures() {
    let answer = [
        parts(json!([{ "text": "Hm.", "thought": true }])),
        parts(json!([{ "text": "Let me " }])),
        parts(json!([{ "text": "— 日本." }])),
        parts(json!([
            { "functionCall": { "name": "read", "args": { "path": "é" } }, "thoughtSignature": "c2ln" },
            { "functionCall": { "name": "list", "id": "fc-2", "args": null } },
        ])),
        end("STOP"),
    ];
    for size in [1, 6, usize::MAX] {
        let fake = Fake::answering([Answer::pieces(&events(&answer), size)]).await;
        let reply = try_once(&fake, Provider::Gemini).await.unwrap();
        assert_eq!(reply.turn.text, "Let me — 日本.");
        assert_eq!(
            arguments(&reply),
            [
                ("docwright_6_0", "read", &Arguments::Json(json!({ "path": "é" }))),
                ("fc-2", "list", &Arguments::Json(json!({}))),
            ]
        );
        assert_eq!(
            (reply.stop, reply.usage),
            (StopReason::Calls, Usage { input: 115, output: 42, cached: 100 })
        );
        let body = sent_back(Provider::Gemini, reply).await;
        assert_eq!(
            body["contents"][1]["parts"],
            json!([
                { "text": "Let me — 日本." },
                { "functionCall": { "name": "read", "args": { "path": "é" } }, "thoughtSignature": "c2ln" },
                { "functionCall": { "name": "list", "args": {}, "id": "fc-2" } },
            ])
        );
        assert_eq!(
            body["contents"][2]["parts"],
            json!([
                { "functionResponse": { "name": "read", "response": { "output": "done" } } },
                { "functionResponse": { "name": "list", "response": { "output": "done" }, "id": "fc-2" } },
            ])
        );
    }
}

#[tokio::test]
async fn why_it_stopped() {
    for (reason, stop) in
        [("STOP", StopReason::Done), ("MAX_TOKENS", StopReason::TooLong), ("SAFETY", StopReason::Refused)]
    {
        let fake = Fake::answering([Answer::stream(&events(&[end(reason)]))]).await;
        assert_eq!(try_once(&fake, Provider::Gemini).await.unwrap().stop, stop, "{reason}");
    }
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } });
    let fake = Fake::answering([Answer::stream(&events(&[blocked]))]).await;
    assert_eq!(try_once(&fake, Provider::Gemini).await.unwrap().stop, StopReason::Refused);
    let fake = Fake::answering([Answer::stream(&events(&[end("MALFORMED_FUNCTION_CALL")]))]).await;
    let reply = try_once(&fake, Provider::Gemini).await.unwrap();
    assert_eq!(
        (reply.stop, reply.turn.text.as_str()),
        (StopReason::Done, ""),
        "the agent asks for another answer"
    );
}
