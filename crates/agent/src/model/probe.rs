//! Tests with one small request whether jobs can use a model.

use serde_json::json;

use super::{Message, Model, ModelRequest, Reply, StopReason, Tool};

/// Enough for a model with reasoning.
const MAX_OUTPUT: u32 = 2_000;

/// The result of a test.
pub struct Probe {
    pub ok: bool,
    pub sentence: String,
    pub reply: Option<Reply>,
}

/// Asks the model to call a tool, because jobs need tool calls.
pub async fn probe(model: &dyn Model) -> Probe {
    let messages = [Message::User("Call the tool `ready`, and say nothing else.".into())];
    let parameters = json!({ "type": "object", "properties": {} });
    let tools = [Tool { name: "ready", description: "Says that you are ready.", parameters }];
    let request = ModelRequest {
        system: "This is a test.",
        messages: &messages,
        tools: &tools,
        max_output: MAX_OUTPUT,
    };
    let reply = model.reply(&request, &mut |_: &str| {}).await;
    let (ok, sentence) = match &reply {
        Err(error) => (false, error.to_string()),
        Ok(reply) => judge(reply),
    };
    Probe { ok, sentence, reply: reply.ok() }
}

fn judge(reply: &Reply) -> (bool, String) {
    let called = reply.turn.calls.iter().any(|call| call.name == "ready");
    match reply.stop {
        _ if called => (true, "it answers, and calls tools".into()),
        StopReason::Refused => (false, "it answers, but refuses the test request".into()),
        StopReason::TooLong => (false, format!("it answers, but doesn't finish within {MAX_OUTPUT} tokens")),
        StopReason::Done | StopReason::Calls => {
            (false, "it answers, but doesn't call tools: choose a model that does".into())
        }
    }
}
