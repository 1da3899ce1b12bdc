//! Tests the wire format `chat`.

use agent::model::{Arguments, Provider, StopReason, Usage};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answer, Fake};
use super::{arguments, events, sent_back, try_once};

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }], "usage": null })
}

fn call(index: Value, id: Value, name: Value, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    delta(json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }))
}

fn stream(deltas: &[Value], reason: &str) -> String {
    let end = [
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 115, "completion_tokens": 42, "prompt_tokens_details": { "cached_tokens": 100 },
        } }),
    ];
    format!(": waiting\n\n{}data: [DONE]\n\n", events(&[deltas, &end].concat()))
}

#[tokio::test]
async fn a_conversation_is_sent() {
    for (provider, name) in [(Provider::OpenAi, "openai"), (Provider::Compatible, "compatible")] {
        let fake = Fake::answering([Answer::stream(&stream(&[], "stop"))]).await;
        try_once(&fake, provider).await.unwrap();
        let request = fake.only_request();
        assert!(request.head.starts_with("post /chat/completions http/1.1\r\n"), "{}", request.head);
        assert!(request.head.contains("authorization: bearer sk-test-0123456789\r\n"));
        assert_snapshot!(name, format!("{:#}", request.body));
    }
}

#[tokio::test]
async fn calls_come_in_pieces_and_between_each_other() {
    let deltas = [
        delta(json!({ "role": "assistant", "content": "Let " })),
        delta(json!({ "content": "me — 日本." })),
        call(json!(0), json!("call_a"), json!("read"), ""),
        call(json!(1), json!("call_b"), json!("list"), "{}"),
        call(json!(0), Value::Null, Value::Null, "{\"path\": "),
        call(json!(0), json!("call_a"), Value::Null, "\"é\"}"),
    ];
    for size in [1, 5, usize::MAX] {
        let fake = Fake::answering([Answer::pieces(&stream(&deltas, "tool_calls"), size)]).await;
        let reply = try_once(&fake, Provider::OpenAi).await.unwrap();
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
    }
}

/// Every call number 0, no numbers, no ids, the same id twice, objects as arguments, a wrong reason.
#[tokio::test]
async fn servers_that_are_almost_compatible_are_understood() {
    let object = json!({ "name": "d", "arguments": { "x": 1 } });
    let deltas = [
        call(json!(0), json!("1"), json!("a"), "{}"),
        call(json!(0), json!("2"), json!("b"), "{}"),
        call(Value::Null, json!("2"), json!("c c"), "null"),
        delta(json!({ "tool_calls": [{ "index": 7, "function": object }] })),
    ];
    let fake = Fake::answering([Answer::stream(&stream(&deltas, "stop"))]).await;
    let reply = try_once(&fake, Provider::Compatible).await.unwrap();
    let none = Arguments::Json(json!({}));
    assert_eq!(
        arguments(&reply),
        [
            ("1", "a", &none),
            ("2", "b", &none),
            ("docwright_6_2", "c_c", &none),
            ("docwright_6_3", "d", &Arguments::Json(json!({ "x": 1 }))),
        ]
    );
    assert_eq!(reply.stop, StopReason::Calls);
}

#[tokio::test]
async fn bad_json() {
    let deltas = [
        call(json!(0), json!("1"), json!("read"), "{\"path\": \"a"),
        call(json!(1), json!("2"), json!("read"), "[1]"),
        call(json!(2), json!("3"), json!("\u{1b}[31m<no such tool>"), "\"text\""),
    ];
    let fake = Fake::answering([Answer::stream(&stream(&deltas, "tool_calls"))]).await;
    let reply = try_once(&fake, Provider::Compatible).await.unwrap();
    let broken = |text: &str| Arguments::Broken(text.into());
    assert_eq!(
        arguments(&reply),
        [
            ("1", "read", &broken("{\"path\": \"a")),
            ("2", "read", &broken("[1]")),
            ("3", "__31m_no_such_tool_", &broken("\"text\"")),
        ]
    );
    let body = sent_back(Provider::Compatible, reply).await;
    let back = body["messages"][2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert_eq!(back, r#"{"not_json":"{\"path\": \"a"}"#);
}

#[tokio::test]
async fn reasoning_goes_back_to_its_provider() {
    let deltas = [
        delta(json!({ "reasoning_content": "Hm, " })),
        delta(json!({ "reasoning_content": "yes." })),
        call(json!(0), json!("1"), json!("read"), "{}"),
    ];
    let fake = Fake::answering([Answer::stream(&stream(&deltas, "tool_calls"))]).await;
    let reply = try_once(&fake, Provider::Compatible).await.unwrap();
    assert_eq!(reply.turn.text, "");
    let body = sent_back(Provider::Compatible, reply).await;
    assert_eq!(body["messages"][2]["reasoning_content"], "Hm, yes.");
}

#[tokio::test]
async fn why_it_stopped() {
    for (reason, stop) in [
        ("stop", StopReason::Done),
        ("length", StopReason::TooLong),
        ("content_filter", StopReason::Refused),
        ("eos", StopReason::Done),
    ] {
        let fake =
            Fake::answering([Answer::stream(&stream(&[delta(json!({ "content": "x" }))], reason))]).await;
        assert_eq!(try_once(&fake, Provider::OpenAi).await.unwrap().stop, stop, "{reason}");
    }
    let no = [delta(json!({ "refusal": "I will not." }))];
    let fake = Fake::answering([Answer::stream(&stream(&no, "stop"))]).await;
    let reply = try_once(&fake, Provider::OpenAi).await.unwrap();
    assert_eq!((reply.stop, reply.turn.text.as_str()), (StopReason::Refused, "I will not."));
}
