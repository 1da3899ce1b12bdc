//! Implements the wire format of Gemini's `generateContent`.

use serde_json::{Value, json};

use super::draft::{Draft, DraftCall, GENERATED_ID, StreamDecoder, StreamState, as_text, set_if_number};
use super::wire_format::WireFormat;
use super::{Message, ModelRequest, StopReason, ToolCall, ToolResult, merge_by_role, non_empty};

pub(super) struct Gemini;

const NAME: &str = "gemini";

impl WireFormat for Gemini {
    fn path(&self, _base: &str, model: &str) -> String {
        format!("/models/{}:streamGenerateContent", model.trim_start_matches("models/"))
    }

    fn query(&self) -> Option<&'static str> {
        Some("alt=sse")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn request(&self, _model: &str, request: &ModelRequest<'_>) -> Value {
        let mut body = json!({
            "contents": contents(request.messages),
            "generationConfig": { "maxOutputTokens": request.max_output },
        });
        if let Some(temperature) = request.temperature {
            body["generationConfig"]["temperature"] = json!(temperature);
        }
        if !request.system.is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters,
                })
            });
            body["tools"] = json!([{ "functionDeclarations": tools.collect::<Vec<_>>() }]);
        }
        body
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(Parts::default())
    }

    /// Without `alt=sse`, the API answers with a list of the same objects.
    fn events(&self, response: Value) -> Vec<Value> {
        match response {
            Value::Array(events) => events,
            event => vec![event],
        }
    }

    fn description_path(&self, _base: &str, model: &str) -> Option<String> {
        Some(format!("/models/{}", model.trim_start_matches("models/")))
    }
}

fn contents(messages: &[&Message]) -> Vec<Value> {
    let sent = merge_by_role(messages, |message| match message {
        Message::User(text) => ("user", vec![text_part(text)]),
        Message::Assistant(turn) => ("model", turn.parts(NAME, text_part, call_part)),
        Message::Results(results) => ("user", results.iter().map(result_part).collect()),
    });
    sent.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn text_part(text: &str) -> Value {
    json!({ "text": non_empty(text) })
}

fn result_part(result: &ToolResult) -> Value {
    let outcome = if result.failed { "error" } else { "output" };
    let mut part = json!({ "name": result.name, "response": { outcome: result.content } });
    set_call_id(&mut part, &result.id);
    json!({ "functionResponse": part })
}

/// Sends back the id of a call if the provider assigned one. Only newer models do.
fn set_call_id(part: &mut Value, id: &str) {
    if !id.starts_with(GENERATED_ID) {
        part["id"] = json!(id);
    }
}

fn call_part(call: &ToolCall) -> Value {
    let mut part = json!({ "name": call.name, "args": call.arguments.to_object() });
    set_call_id(&mut part, &call.id);
    json!({ "functionCall": part })
}

/// The parts of a response, in their order, with the signatures of their reasoning.
#[derive(Default)]
struct Parts(Vec<Part>);

struct Part {
    /// The text, or the index in the draft's calls.
    content: Result<String, usize>,
    signature: Option<Value>,
}

impl StreamDecoder for Parts {
    fn decode(&mut self, event: &Value, draft: &mut Draft) -> StreamState {
        set_usage(&event["usageMetadata"], draft);
        let answer = &event["candidates"][0];
        for part in answer["content"]["parts"].as_array().into_iter().flatten() {
            self.add_part(part, draft);
        }
        if event["promptFeedback"]["blockReason"].is_string() {
            draft.stop = Some(StopReason::Refused);
        }
        draft.stop = stop_reason(&answer["finishReason"]).or(draft.stop);
        StreamState::Open
    }

    fn opaque(self: Box<Self>, calls: &[ToolCall]) -> Option<Value> {
        self.0.iter().any(|part| part.signature.is_some()).then(|| {
            let parts = self.0.into_iter().filter_map(|part| {
                let mut sent = match part.content {
                    Ok(text) => json!({ "text": text }),
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
    fn add_part(&mut self, part: &Value, draft: &mut Draft) {
        let signature = part.get("thoughtSignature").cloned();
        if let Some(call) = part.get("functionCall") {
            let (id, name) = (as_text(&call["id"]).to_owned(), as_text(&call["name"]).to_owned());
            let arguments = call.get("args").map(Value::to_string).unwrap_or_default();
            self.0.push(Part { content: Err(draft.calls.len()), signature });
            draft.calls.push(DraftCall { id, name, arguments });
        } else if part["thought"] != true {
            draft.push_text(&part["text"]);
            self.add_text(as_text(&part["text"]), signature);
        }
    }

    /// Joins pieces of text. A piece with a signature is a separate part.
    fn add_text(&mut self, text: &str, signature: Option<Value>) {
        match self.0.last_mut() {
            Some(Part { content: Ok(before), signature: None }) if signature.is_none() => {
                before.push_str(text)
            }
            _ => self.0.push(Part { content: Ok(text.to_owned()), signature }),
        }
    }
}

fn set_usage(usage: &Value, draft: &mut Draft) {
    set_if_number(&mut draft.usage.input, &usage["promptTokenCount"]);
    set_if_number(&mut draft.usage.cached, &usage["cachedContentTokenCount"]);
    let [text, reasoning] =
        ["candidatesTokenCount", "thoughtsTokenCount"].map(|part| usage[part].as_u64().unwrap_or(0));
    draft.usage.output = draft.usage.output.max(text.saturating_add(reasoning));
}

/// A malformed call has no content, so it's an empty answer.
fn stop_reason(reason: &Value) -> Option<StopReason> {
    match reason.as_str()? {
        "MAX_TOKENS" => Some(StopReason::TooLong),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
            Some(StopReason::Refused)
        }
        _ => Some(StopReason::Done),
    }
}
