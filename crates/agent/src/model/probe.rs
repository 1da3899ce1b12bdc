//! One small call to a model, to see whether jobs could live with it.

use serde_json::json;

use super::{Call, Message, Model, Reply, Stop, Tool};

/// Enough for a model that thinks before it does what it is told.
const MAX_OUTPUT: u32 = 2_000;

/// What came of it.
pub struct Probe {
    pub ok: bool,
    /// What is the matter, or that nothing is.
    pub sentence: String,
    pub reply: Option<Reply>,
}

/// Jobs live by tools, so the one small thing is to call one.
pub async fn probe(model: &dyn Model) -> Probe {
    let messages = [Message::User("Call the tool `ready`, and say nothing else.".into())];
    let parameters = json!({ "type": "object", "properties": {} });
    let tools = [Tool { name: "ready", description: "Says that you are ready.", parameters }];
    let call = Call { system: "This is a test.", messages: &messages, tools: &tools, max_output: MAX_OUTPUT };
    let reply = model.reply(&call, &mut |_: &str| {}).await;
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
        Stop::Refused => (false, "it answers, but refused to do what it was asked".into()),
        Stop::TooLong => (false, format!("it answers, but came to no end within {MAX_OUTPUT} tokens")),
        Stop::Done | Stop::Calls => (
            false,
            "it answers, but did not call the tool that it was asked to: a job needs a model that does"
                .into(),
        ),
    }
}
