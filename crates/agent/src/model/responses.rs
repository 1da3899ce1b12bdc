//! Implements the wire format of OpenAI's Responses API. OpenAI stores nothing: each request has the whole
//! conversation.

use serde_json::{Value, json};

use super::draft::{Draft, DraftCall, StreamDecoder, StreamState, as_text, set_if_number};
use super::wire_format::WireFormat;
use super::{Message, ModelRequest, StopReason, ToolCall, non_empty};

pub(super) struct Responses;

const NAME: &str = "responses";

impl WireFormat for Responses {
    fn path(&self, _base: &str, _model: &str) -> String {
        "/responses".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn request(&self, model: &str, request: &ModelRequest<'_>) -> Value {
        let mut body = json!({
            "model": model,
            "stream": true,
            "store": false,
            "max_output_tokens": request.max_output,
            "input": request.messages.iter().copied().flat_map(items).collect::<Vec<_>>(),
        });
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature);
        }
        if has_reasoning(model) {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        if !request.system.is_empty() {
            body["instructions"] = json!(request.system);
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        body
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(Items::default())
    }

    fn events(&self, response: Value) -> Vec<Value> {
        let mut events = Vec::new();
        for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
            let event = |kind: &str| json!({ "type": kind, "output_index": index, "item": item });
            events.push(event("response.output_item.added"));
            for part in item["content"].as_array().into_iter().flatten().filter(|_| item["type"] == "message")
            {
                events.push(match part["refusal"].is_string() {
                    true => json!({ "type": "response.refusal.delta", "delta": part["refusal"] }),
                    false => json!({ "type": "response.output_text.delta", "delta": part["text"] }),
                });
            }
            events.push(event("response.output_item.done"));
        }
        events.push(json!({ "type": "response.completed", "response": response }));
        events
    }
}

/// Older models answer a request for their reasoning with an error.
fn has_reasoning(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt", "ft:gpt-3", "ft:gpt-4"].iter().any(|old| model.starts_with(old))
}

fn tool(tool: &super::Tool) -> Value {
    json!({
        "type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.parameters, "strict": false,
    })
}

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User(text) => vec![json!({ "role": "user", "content": non_empty(text) })],
        Message::Assistant(turn) => turn.parts(NAME, text_item, call_item),
        Message::Results(results) => results
            .iter()
            .map(|result| {
                json!({ "type": "function_call_output", "call_id": result.id, "output": result.content })
            })
            .collect(),
    }
}

fn text_item(text: &str) -> Value {
    json!({ "role": "assistant", "content": non_empty(text) })
}

fn call_item(call: &ToolCall) -> Value {
    json!({
        "type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": call.arguments.to_object().to_string(),
    })
}

#[derive(Default)]
struct Items {
    /// The complete items of a response, in their order. A call is its index in the draft's calls.
    done: Vec<Result<Value, usize>>,
    /// The index of each call in the draft, by the output index of its item.
    calls: Vec<(u64, usize)>,
    refused: bool,
}

impl StreamDecoder for Items {
    fn decode(&mut self, event: &Value, draft: &mut Draft) -> StreamState {
        let item = &event["item"];
        match as_text(&event["type"]) {
            "response.output_text.delta" => draft.push_text(&event["delta"]),
            "response.refusal.delta" => {
                draft.push_text(&event["delta"]);
                self.refused = true;
            }
            "response.output_item.added" if item["type"] == "function_call" => {
                let (id, name) = (as_text(&item["call_id"]).to_owned(), as_text(&item["name"]).to_owned());
                self.calls.push((output_index(event), draft.calls.len()));
                draft.calls.push(DraftCall { id, name, arguments: String::new() });
            }
            "response.function_call_arguments.delta" => {
                if let Some(at) = self.call_index(event) {
                    draft.calls[at].arguments.push_str(as_text(&event["delta"]));
                }
            }
            "response.output_item.done" => self.complete_item(event, draft),
            "response.completed" | "response.incomplete" => {
                self.end(&event["response"], draft);
                return StreamState::Done;
            }
            _ => {}
        }
        StreamState::Open
    }

    fn opaque(self: Box<Self>, calls: &[ToolCall]) -> Option<Value> {
        let is_reasoning =
            |item: &Result<Value, usize>| matches!(item, Ok(item) if item["type"] == "reasoning");
        self.done.iter().any(is_reasoning).then(|| {
            let items = self.done.into_iter().filter_map(|item| match item {
                Ok(item) => Some(item),
                Err(at) => calls.get(at).map(call_item),
            });
            json!({ NAME: items.collect::<Vec<_>>() })
        })
    }
}

impl Items {
    fn call_index(&self, event: &Value) -> Option<usize> {
        let index = output_index(event);
        self.calls.iter().find(|(known, _)| *known == index).map(|(_, at)| *at)
    }

    fn complete_item(&mut self, event: &Value, draft: &mut Draft) {
        let item = &event["item"];
        match (as_text(&item["type"]), self.call_index(event)) {
            ("function_call", Some(at)) => {
                if let Some(whole) = item["arguments"].as_str() {
                    draft.calls[at].arguments = whole.to_owned();
                }
                self.done.push(Err(at));
            }
            ("reasoning" | "message", _) => self.done.push(Ok(item.clone())),
            _ => {}
        }
    }

    fn end(&mut self, response: &Value, draft: &mut Draft) {
        let usage = &response["usage"];
        set_if_number(&mut draft.usage.input, &usage["input_tokens"]);
        set_if_number(&mut draft.usage.output, &usage["output_tokens"]);
        set_if_number(&mut draft.usage.cached, &usage["input_tokens_details"]["cached_tokens"]);
        draft.stop = Some(match as_text(&response["incomplete_details"]["reason"]) {
            _ if self.refused => StopReason::Refused,
            "content_filter" => StopReason::Refused,
            "" => StopReason::Done,
            _ => StopReason::TooLong,
        });
    }
}

fn output_index(event: &Value) -> u64 {
    event["output_index"].as_u64().unwrap_or(0)
}
