//! Implements the wire format of OpenAI's Chat Completions API, and of servers that are compatible with it.

use serde_json::{Value, json};

use super::draft::{Draft, DraftCall, StreamDecoder, StreamState, as_text, set_if_number};
use super::wire_format::WireFormat;
use super::{Message, ModelRequest, StopReason, ToolCall, Turn, non_empty};

pub(super) struct Chat {
    /// The name of the field for the output limit: OpenAI renamed it, compatible servers did not.
    pub(super) limit_field: &'static str,
}

const NAME: &str = "chat";

impl WireFormat for Chat {
    fn path(&self, _base: &str, _model: &str) -> String {
        "/chat/completions".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn request(&self, model: &str, request: &ModelRequest<'_>) -> Value {
        let system =
            (!request.system.is_empty()).then(|| json!({ "role": "system", "content": request.system }));
        let messages = merge_user_messages(request.messages.iter().copied().flat_map(messages));
        let messages = system.into_iter().chain(messages);
        let mut body = json!({
            "model": model,
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": messages.collect::<Vec<_>>(),
        });
        body[self.limit_field] = json!(request.max_output);
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature);
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        body
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(Chunks::default())
    }

    fn events(&self, mut response: Value) -> Vec<Value> {
        if let Some(choice) = response.pointer_mut("/choices/0").filter(|choice| choice.is_object()) {
            let mut delta = choice["message"].take();
            let calls = delta.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
            for (at, call) in calls.enumerate().filter(|(_, call)| call.is_object()) {
                call["index"] = json!(at);
            }
            choice["delta"] = delta;
        }
        vec![response]
    }

    /// OpenAI itself says nothing about sizes. Many compatible servers do, in their list of models.
    fn description_path(&self, _base: &str, _model: &str) -> Option<String> {
        (self.limit_field == "max_tokens").then(|| "/models".into())
    }
}

/// Joins successive messages of the user, because the templates of some models require that roles alternate.
fn merge_user_messages(messages: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for message in messages {
        match merged.last_mut() {
            Some(last) if last["role"] == "user" && message["role"] == "user" => {
                let joined = [as_text(&last["content"]), as_text(&message["content"])].join("\n\n");
                last["content"] = json!(joined);
            }
            _ => merged.push(message),
        }
    }
    merged
}

fn tool(tool: &super::Tool) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
    } })
}

fn messages(message: &Message) -> Vec<Value> {
    match message {
        Message::User(text) => vec![json!({ "role": "user", "content": non_empty(text) })],
        Message::Assistant(turn) => vec![assistant(turn)],
        Message::Results(results) => results
            .iter()
            .map(|result| json!({ "role": "tool", "tool_call_id": result.id, "content": result.content }))
            .collect(),
    }
}

fn assistant(turn: &Turn) -> Value {
    let mut message = json!({ "role": "assistant" });
    if turn.calls.is_empty() || !turn.text.is_empty() {
        message["content"] = json!(non_empty(&turn.text));
    }
    if !turn.calls.is_empty() {
        message["tool_calls"] = turn.calls.iter().map(call_object).collect();
    }
    if let Some(reasoning) = turn.opaque_of(NAME) {
        message["reasoning_content"] = reasoning.clone();
    }
    message
}

fn call_object(call: &ToolCall) -> Value {
    json!({ "id": call.id, "type": "function", "function": {
        "name": call.name, "arguments": call.arguments.to_object().to_string(),
    } })
}

#[derive(Default)]
struct Chunks {
    /// The provider's index of each call of the draft.
    indexes: Vec<Option<u64>>,
    /// Some servers refuse a conversation without the reasoning of their model.
    reasoning: String,
    refused: bool,
}

impl StreamDecoder for Chunks {
    fn decode(&mut self, event: &Value, draft: &mut Draft) -> StreamState {
        set_usage(&event["usage"], draft);
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        draft.push_text(&delta["content"]);
        self.reasoning.push_str(as_text(&delta["reasoning_content"]));
        if let Some(refusal) = delta["refusal"].as_str() {
            draft.text.push_str(refusal);
            self.refused = true;
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.add_call_piece(piece, draft);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            draft.stop = Some(if self.refused { StopReason::Refused } else { stop_reason(reason) });
        }
        StreamState::Open
    }

    fn opaque(self: Box<Self>, _calls: &[ToolCall]) -> Option<Value> {
        (!self.reasoning.is_empty()).then(|| json!({ NAME: self.reasoning }))
    }
}

impl Chunks {
    /// Adds a piece to the newest call with its index, unless the piece has another id: some servers give every call
    /// the index 0, or none.
    fn add_call_piece(&mut self, piece: &Value, draft: &mut Draft) {
        let (index, id) = (piece["index"].as_u64(), as_text(&piece["id"]));
        let continues = |at: &usize| id.is_empty() || draft.calls[*at].id == id;
        let at = self.indexes.iter().rposition(|known| *known == index).filter(continues);
        let at = at.unwrap_or_else(|| {
            self.indexes.push(index);
            draft.calls.push(DraftCall { id: id.to_owned(), ..DraftCall::default() });
            draft.calls.len() - 1
        });
        let (call, function) = (&mut draft.calls[at], &piece["function"]);
        if call.name.is_empty() {
            call.name.push_str(as_text(&function["name"]));
        }
        match &function["arguments"] {
            // Some servers send an object, against the documentation.
            whole @ Value::Object(_) => call.arguments = whole.to_string(),
            piece => call.arguments.push_str(as_text(piece)),
        }
    }
}

fn set_usage(usage: &Value, draft: &mut Draft) {
    set_if_number(&mut draft.usage.input, &usage["prompt_tokens"]);
    set_if_number(&mut draft.usage.output, &usage["completion_tokens"]);
    set_if_number(&mut draft.usage.cached, &usage["prompt_cache_hit_tokens"]);
    set_if_number(&mut draft.usage.cached, &usage["prompt_tokens_details"]["cached_tokens"]);
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "tool_calls" | "function_call" => StopReason::Calls,
        "length" => StopReason::TooLong,
        "content_filter" => StopReason::Refused,
        _ => StopReason::Done,
    }
}
