//! Gemini's generateContent.

use serde_json::{Value, json};

use super::client::Format;
use super::draft::{Draft, DraftCall, Ear, Flow, OWN_ID, set, text};
use super::{Call, Message, Stop, ToolCall, ToolResult, by_role, or_nothing};

pub(super) struct Gemini;

const NAME: &str = "gemini";

impl Format for Gemini {
    fn path(&self, _base: &str, model: &str) -> String {
        format!("/models/{}:streamGenerateContent", model.trim_start_matches("models/"))
    }

    fn query(&self) -> Option<&'static str> {
        Some("alt=sse")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn request(&self, _model: &str, call: &Call<'_>) -> Value {
        let mut body = json!({
            "contents": contents(call.messages),
            "generationConfig": { "maxOutputTokens": call.max_output },
        });
        if !call.system.is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": call.system }] });
        }
        if !call.tools.is_empty() {
            let tools = call.tools.iter().map(|tool| {
                json!({
                    "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters,
                })
            });
            body["tools"] = json!([{ "functionDeclarations": tools.collect::<Vec<_>>() }]);
        }
        body
    }

    fn ear(&self) -> Box<dyn Ear> {
        Box::new(Parts::default())
    }
}

fn contents(messages: &[Message]) -> Vec<Value> {
    let sent = by_role(messages, |message| match message {
        Message::User(said) => ("user", vec![text_part(said)]),
        Message::Assistant(turn) => ("model", turn.parts(NAME, text_part, call_part)),
        Message::Results(results) => ("user", results.iter().map(result_part).collect()),
    });
    sent.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn text_part(text: &str) -> Value {
    json!({ "text": or_nothing(text) })
}

fn result_part(result: &ToolResult) -> Value {
    let outcome = if result.failed { "error" } else { "output" };
    let mut part = json!({ "name": result.name, "response": { outcome: result.content } });
    name_call(&mut part, &result.id);
    json!({ "functionResponse": part })
}

/// Only newer models number their calls; then they want the number back.
fn name_call(part: &mut Value, id: &str) {
    if !id.starts_with(OWN_ID) {
        part["id"] = json!(id);
    }
}

fn call_part(call: &ToolCall) -> Value {
    let mut part = json!({ "name": call.name, "args": call.arguments.sendable() });
    name_call(&mut part, &call.id);
    json!({ "functionCall": part })
}

/// The parts of an answer, in their order, with the signatures of the thinking behind them.
#[derive(Default)]
struct Parts(Vec<Part>);

struct Part {
    /// The text, or the place among the draft's calls.
    what: Result<String, usize>,
    signature: Option<Value>,
}

impl Ear for Parts {
    fn hear(&mut self, event: &Value, draft: &mut Draft) -> Flow {
        count(&event["usageMetadata"], draft);
        let answer = &event["candidates"][0];
        for part in answer["content"]["parts"].as_array().into_iter().flatten() {
            self.take(part, draft);
        }
        if event["promptFeedback"]["blockReason"].is_string() {
            draft.stop = Some(Stop::Refused);
        }
        draft.stop = stop(&answer["finishReason"]).or(draft.stop);
        Flow::On
    }

    fn opaque(self: Box<Self>, calls: &[ToolCall]) -> Option<Value> {
        self.0.iter().any(|part| part.signature.is_some()).then(|| {
            let parts = self.0.into_iter().filter_map(|part| {
                let mut sent = match part.what {
                    Ok(said) => json!({ "text": said }),
                    Err(at) => call_part(calls.get(at)?),
                };
                if let Some(signature) = part.signature {
                    sent["thoughtSignature"] = signature;
                }
                Some(sent)
            });
            json!({ NAME: parts.collect::<Vec<_>>() })
        })
    }
}

impl Parts {
    fn take(&mut self, part: &Value, draft: &mut Draft) {
        let signature = part.get("thoughtSignature").cloned();
        if let Some(call) = part.get("functionCall") {
            let (id, name) = (text(&call["id"]).to_owned(), text(&call["name"]).to_owned());
            let arguments = call.get("args").map(Value::to_string).unwrap_or_default();
            self.0.push(Part { what: Err(draft.calls.len()), signature });
            draft.calls.push(DraftCall { id, name, arguments });
        } else if part["thought"] != true {
            draft.say(&part["text"]);
            self.say(text(&part["text"]), signature);
        }
    }

    /// Text comes in pieces; one with a signature stands for itself.
    fn say(&mut self, said: &str, signature: Option<Value>) {
        match self.0.last_mut() {
            Some(Part { what: Ok(before), signature: None }) if signature.is_none() => before.push_str(said),
            _ => self.0.push(Part { what: Ok(said.to_owned()), signature }),
        }
    }
}

fn count(usage: &Value, draft: &mut Draft) {
    set(&mut draft.usage.input, &usage["promptTokenCount"]);
    set(&mut draft.usage.cached, &usage["cachedContentTokenCount"]);
    let [said, thought] =
        ["candidatesTokenCount", "thoughtsTokenCount"].map(|part| usage[part].as_u64().unwrap_or(0));
    draft.usage.output = draft.usage.output.max(said.saturating_add(thought));
}

/// A call that the model could not write down is no end: it may be asked again.
fn stop(reason: &Value) -> Option<Stop> {
    match reason.as_str()? {
        "MAX_TOKENS" => Some(Stop::TooLong),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
            Some(Stop::Refused)
        }
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => None,
        _ => Some(Stop::Done),
    }
}
