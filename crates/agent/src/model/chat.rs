//! OpenAI's chat completions, and what everybody else calls compatible with them.

use serde_json::{Value, json};

use super::client::Format;
use super::draft::{Draft, DraftCall, Ear, Flow, set, text};
use super::{Call, Message, Stop, ToolCall, Turn, or_nothing};

pub(super) struct Chat {
    /// How the limit of an answer is named: OpenAI has renamed it, the others have not.
    pub(super) limit: &'static str,
}

const NAME: &str = "chat";

impl Format for Chat {
    fn path(&self, _base: &str, _model: &str) -> String {
        "/chat/completions".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn request(&self, model: &str, call: &Call<'_>) -> Value {
        let system = (!call.system.is_empty()).then(|| json!({ "role": "system", "content": call.system }));
        let messages = system.into_iter().chain(call.messages.iter().flat_map(messages));
        let mut body = json!({
            "model": model,
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": messages.collect::<Vec<_>>(),
        });
        body[self.limit] = json!(call.max_output);
        if !call.tools.is_empty() {
            body["tools"] = call.tools.iter().map(tool).collect();
        }
        body
    }

    fn ear(&self) -> Box<dyn Ear> {
        Box::new(Chunks::default())
    }
}

fn tool(tool: &super::Tool) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
    } })
}

fn messages(message: &Message) -> Vec<Value> {
    match message {
        Message::User(said) => vec![json!({ "role": "user", "content": or_nothing(said) })],
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
        message["content"] = json!(or_nothing(&turn.text));
    }
    if !turn.calls.is_empty() {
        message["tool_calls"] = turn.calls.iter().map(sent_call).collect();
    }
    if let Some(thinking) = turn.opaque_of(NAME) {
        message["reasoning_content"] = thinking.clone();
    }
    message
}

fn sent_call(call: &ToolCall) -> Value {
    json!({ "id": call.id, "type": "function", "function": {
        "name": call.name, "arguments": call.arguments.sendable().to_string(),
    } })
}

#[derive(Default)]
struct Chunks {
    /// The provider's number of each call of the draft.
    indexes: Vec<Option<u64>>,
    /// Some refuse a conversation from which their model's thinking was left out.
    thinking: String,
    refused: bool,
}

impl Ear for Chunks {
    fn hear(&mut self, event: &Value, draft: &mut Draft) -> Flow {
        count(&event["usage"], draft);
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        draft.say(&delta["content"]);
        self.thinking.push_str(text(&delta["reasoning_content"]));
        if let Some(refusal) = delta["refusal"].as_str() {
            draft.text.push_str(refusal);
            self.refused = true;
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(piece, draft);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            draft.stop = Some(if self.refused { Stop::Refused } else { stop(reason) });
        }
        Flow::On
    }

    fn opaque(self: Box<Self>, _calls: &[ToolCall]) -> Option<Value> {
        (!self.thinking.is_empty()).then(|| json!({ NAME: self.thinking }))
    }
}

impl Chunks {
    /// A piece goes on with the newest call of its number, unless it has another id: there are
    /// servers that number every call 0, or none.
    fn take_call(&mut self, piece: &Value, draft: &mut Draft) {
        let (index, id) = (piece["index"].as_u64(), text(&piece["id"]));
        let goes_on = |at: &usize| id.is_empty() || draft.calls[*at].id == id;
        let at = self.indexes.iter().rposition(|known| *known == index).filter(goes_on);
        let at = at.unwrap_or_else(|| {
            self.indexes.push(index);
            draft.calls.push(DraftCall { id: id.to_owned(), ..DraftCall::default() });
            draft.calls.len() - 1
        });
        let (call, function) = (&mut draft.calls[at], &piece["function"]);
        if call.name.is_empty() {
            call.name.push_str(text(&function["name"]));
        }
        match &function["arguments"] {
            // Not as documented, but seen.
            whole @ Value::Object(_) => call.arguments = whole.to_string(),
            piece => call.arguments.push_str(text(piece)),
        }
    }
}

fn count(usage: &Value, draft: &mut Draft) {
    set(&mut draft.usage.input, &usage["prompt_tokens"]);
    set(&mut draft.usage.output, &usage["completion_tokens"]);
    set(&mut draft.usage.cached, &usage["prompt_cache_hit_tokens"]);
    set(&mut draft.usage.cached, &usage["prompt_tokens_details"]["cached_tokens"]);
}

fn stop(reason: &str) -> Stop {
    match reason {
        "tool_calls" | "function_call" => Stop::Calls,
        "length" => Stop::TooLong,
        "content_filter" => Stop::Refused,
        _ => Stop::Done,
    }
}
