//! Imitates the provider of a model in each wire format. It sends scripted responses and records requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use server::model::{Provider, Secret, Settings};

/// A response: tool calls, or an error.
pub(crate) enum Turn {
    Calls(Vec<(&'static str, Value)>),
    Status(u16, &'static str),
    /// 429 with this `retry-after` in seconds.
    Busy(u64),
    /// Sends the response after this delay.
    Late(Duration, Box<Turn>),
    /// Never answers.
    Silence,
}

pub(crate) fn calls(name: &'static str, arguments: Value) -> Turn {
    Turn::Calls(vec![(name, arguments)])
}

pub(crate) fn finish(title: &str) -> Turn {
    calls("finish", json!({ "title": title, "summary": "As asked." }))
}

#[derive(Clone)]
pub(crate) struct FakeProvider {
    pub(crate) url: String,
    turns: Arc<Mutex<VecDeque<Turn>>>,
    sent: Arc<Mutex<Vec<String>>>,
}

pub(crate) const KEY: &str = "sk-proj-Vq7Lr2Tz9XwKb4Nd8Hc1Mf6Pj3Gs5Ya0";

impl FakeProvider {
    pub(crate) async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        net::quote_test_host(listener.local_addr().unwrap());
        let provider = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            turns: Arc::new(Mutex::new(turns.into_iter().collect())),
            sent: Arc::default(),
        };
        let router = Router::new().fallback(answer).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    pub(crate) fn settings(&self, provider: Provider) -> Settings {
        let mut settings = Settings::new(provider, "test-model");
        settings.base_url = Some(self.url.clone());
        settings.api_key = Secret::parse(KEY);
        settings.allow_private = true;
        settings
    }

    pub(crate) fn say(&self, turn: Turn) {
        self.turns.lock().unwrap().push_back(turn);
    }

    pub(crate) fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

async fn answer(State(provider): State<FakeProvider>, method: Method, uri: Uri, body: Bytes) -> Response {
    // It has no description of its models.
    if method == Method::GET {
        return StatusCode::NOT_FOUND.into_response();
    }
    provider.sent.lock().unwrap().push(String::from_utf8(body.to_vec()).unwrap());
    let mut turn = provider.turns.lock().unwrap().pop_front();
    if let Some(Turn::Late(delay, late)) = turn {
        tokio::time::sleep(delay).await;
        turn = Some(*late);
    }
    match turn {
        Some(Turn::Calls(calls)) => {
            ([(CONTENT_TYPE, "text/event-stream")], stream(uri.path(), &calls)).into_response()
        }
        Some(Turn::Status(status, body)) => (StatusCode::from_u16(status).unwrap(), body).into_response(),
        Some(Turn::Busy(seconds)) => {
            (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, seconds.to_string())]).into_response()
        }
        Some(Turn::Late(..) | Turn::Silence) | None => std::future::pending().await,
    }
}

fn stream(path: &str, calls: &[(&'static str, Value)]) -> String {
    let events = match path {
        path if path.ends_with("/messages") => anthropic(calls),
        path if path.ends_with("/responses") => responses(calls),
        path if path.contains(":streamGenerateContent") => gemini(calls),
        _ => chat(calls),
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn anthropic(calls: &[(&'static str, Value)]) -> Vec<Value> {
    let mut events =
        vec![json!({ "type": "message_start", "message": { "usage": { "input_tokens": 100 } } })];
    for (n, (name, arguments)) in calls.iter().enumerate() {
        let block = json!({ "type": "tool_use", "id": format!("toolu_{n}"), "name": name, "input": {} });
        events.push(json!({ "type": "content_block_start", "index": n, "content_block": block }));
        let delta = json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
        events.push(json!({ "type": "content_block_delta", "index": n, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": n }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 10 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn chat(calls: &[(&'static str, Value)]) -> Vec<Value> {
    let call = |(n, (name, arguments)): (usize, &(&'static str, Value))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "index": n, "id": format!("call_{n}"), "type": "function", "function": function })
    };
    let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    vec![
        json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "tool_calls": calls } }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } }),
        json!("[DONE]"),
    ]
}

fn responses(calls: &[(&'static str, Value)]) -> Vec<Value> {
    let item = |(n, (name, arguments)): (usize, &(&'static str, Value))| {
        let item = json!({ "type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"),
                           "name": name, "arguments": arguments.to_string() });
        ["added", "done"].map(
            |when| json!({ "type": format!("response.output_item.{when}"), "output_index": n, "item": item }),
        )
    };
    let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
    let end = json!({ "type": "response.completed", "response": { "status": "completed", "usage": usage } });
    calls.iter().enumerate().flat_map(item).chain([end]).collect()
}

fn gemini(calls: &[(&'static str, Value)]) -> Vec<Value> {
    let part = |(name, arguments): &(&'static str, Value)| json!({ "functionCall": { "name": name, "args": arguments } });
    let parts: Vec<_> = calls.iter().map(part).collect();
    vec![
        json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] }),
        json!({ "candidates": [{ "finishReason": "STOP", "index": 0 }],
                "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10 } }),
    ]
}
