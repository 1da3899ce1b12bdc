//! Tests each wire format against a fake server with scripted responses.

mod anthropic;
mod chat;
mod errors;
pub(crate) mod fake;
mod gemini;
mod responses;
mod settings;

use agent::model::{
    Arguments, Message, Model, ModelError, ModelRequest, Provider, Reply, Secret, Settings, Tool, ToolCall,
    ToolResult, Turn,
};
use fake::Fake;
use serde_json::{Value, json};

const KEY: &str = "sk-test-0123456789";

pub(crate) fn settings(fake: &Fake, provider: Provider) -> Settings {
    Settings {
        base_url: Some(fake.url.clone()),
        api_key: Secret::parse(KEY),
        allow_private: true,
        ..Settings::new(provider, "test-model")
    }
}

pub(crate) fn open(settings: &Settings) -> std::sync::Arc<dyn Model> {
    // Each test can be a process, or a thread of one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    agent::model::open(settings).unwrap()
}

/// A conversation with every kind of message.
fn conversation() -> Vec<Message> {
    let call = |id: &str, name: &str, arguments| ToolCall { id: id.into(), name: name.into(), arguments };
    let result = |id: &str, name: &str, content: &str, failed| ToolResult {
        id: id.into(),
        name: name.into(),
        content: content.into(),
        failed,
    };
    let calls = vec![
        call("call_1", "read", Arguments::Json(json!({ "path": "a.md" }))),
        call("call_2", "edit", Arguments::Broken("{\"path\": \"a.m".into())),
    ];
    vec![
        Message::User("Fix the — “typo”.".into()),
        Message::Assistant(Turn { text: "I look.".into(), calls, opaque: None }),
        Message::Results(vec![
            result("call_1", "read", "teh", false),
            result("call_2", "edit", "not JSON", true),
        ]),
        Message::User("Go on.".into()),
        Message::Assistant(Turn::default()),
        Message::User("Well?".into()),
    ]
}

fn tools() -> Vec<Tool> {
    let parameters = json!({
        "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"],
        "additionalProperties": false,
    });
    let tool = |name, description| Tool { name, description, parameters: parameters.clone() };
    vec![tool("read", "Reads a page."), tool("edit", "Edits a page.")]
}

async fn ask(model: &dyn Model, messages: &[Message]) -> (Result<Reply, ModelError>, Vec<String>) {
    let (tools, mut texts) = (tools(), Vec::new());
    let messages: Vec<_> = messages.iter().collect();
    let request = ModelRequest {
        system: "You edit docs.",
        messages: &messages,
        tools: &tools,
        max_output: 4000,
        temperature: None,
    };
    let reply = model.reply(&request, &mut |text: &str| texts.push(text.to_owned())).await;
    (reply, texts)
}

async fn try_once(fake: &Fake, provider: Provider) -> Result<Reply, ModelError> {
    ask(&*open(&settings(fake, provider)), &conversation()).await.0
}

/// The events of a stream, each with its own type as its name.
pub(crate) fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

fn arguments(reply: &Reply) -> Vec<(&str, &str, &Arguments)> {
    reply.turn.calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), &call.arguments)).collect()
}

/// The request that sends a turn back. The message of the assistant is the last but one.
async fn sent_back(provider: Provider, reply: Reply) -> Value {
    let results = reply.turn.calls.iter().map(|call| ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content: "done".into(),
        failed: false,
    });
    let messages = [
        Message::User("Go.".into()),
        Message::Assistant(reply.turn.clone()),
        Message::Results(results.collect()),
    ];
    // As the store keeps a transcript.
    let messages: Vec<Message> = serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap();
    let fake = Fake::answering([fake::Answer::status(500, "")]).await;
    let _ = ask(&*open(&settings(&fake, provider)), &messages).await;
    fake.only_request().body
}
