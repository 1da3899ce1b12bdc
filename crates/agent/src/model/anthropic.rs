//! Implements the wire format of Anthropic's Messages API.

use serde_json::{Value, json};

use super::draft::{Draft, DraftCall, StreamDecoder, StreamState, as_text, set_if_number};
use super::wire_format::WireFormat;
use super::{Message, ModelRequest, StopReason, ToolCall, merge_by_role, non_empty, sanitize_name};

pub(super) struct Anthropic;

/// The name of the format in [`super::Turn::opaque`].
const NAME: &str = "anthropic";

impl WireFormat for Anthropic {
    fn path(&self, base: &str, _model: &str) -> String {
        // Base URLs are in use with and without the version.
        if base.ends_with("/v1") { "/messages".into() } else { "/v1/messages".into() }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", "2023-06-01".to_owned())].into_iter().chain(key).collect()
    }

    fn request(&self, model: &str, request: &ModelRequest<'_>) -> Value {
        let mut body = json!({
            "model": model,
            "max_tokens": request.max_output,
            "stream": true,
            "messages": messages(request.messages),
        });
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature);
        }
        if !request.system.is_empty() {
            body["system"] = json!([{ "type": "text", "text": request.system }]);
            mark_for_cache(body["system"].get_mut(0));
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(
                |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters }),
            );
            body["tools"] = tools.collect();
            mark_for_cache(body["tools"].as_array_mut().and_then(|tools| tools.last_mut()));
        }
        body
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(Blocks::default())
    }

    fn events(&self, response: Value) -> Vec<Value> {
        let content = &response["content"];
        let mut events = vec![json!({ "type": "message_start", "message": { "usage": response["usage"] } })];
        for (index, block) in content.as_array().into_iter().flatten().enumerate() {
            events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
            if block["type"] == "tool_use" {
                let delta = json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() });
                events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            }
        }
        let delta = json!({ "stop_reason": response["stop_reason"] });
        events.push(json!({ "type": "message_delta", "delta": delta, "usage": {} }));
        events
    }

    fn description_path(&self, base: &str, model: &str) -> Option<String> {
        Some(if base.ends_with("/v1") { format!("/models/{model}") } else { format!("/v1/models/{model}") })
    }
}

/// Marks the end of a prefix that the provider should cache. A request has three such marks: after the tools, after the
/// system prompt, and after the newest message.
fn mark_for_cache(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn messages(messages: &[&Message]) -> Vec<Value> {
    let mut sent = merge_by_role(messages, |message| match message {
        Message::User(text) => ("user", vec![text_block(text)]),
        Message::Assistant(turn) => ("assistant", turn.parts(NAME, text_block, call_block)),
        Message::Results(results) => ("user", results.iter().map(result_block).collect()),
    });
    mark_for_cache(sent.last_mut().and_then(|(_, blocks)| blocks.last_mut()));
    sent.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": non_empty(text) })
}

fn result_block(result: &super::ToolResult) -> Value {
    let mut block = json!({
        "type": "tool_result", "tool_use_id": sanitize_name(&result.id), "content": result.content,
    });
    if result.failed {
        block["is_error"] = json!(true);
    }
    block
}

fn call_block(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use", "id": sanitize_name(&call.id), "name": call.name, "input": call.arguments.to_object(),
    })
}

/// The blocks of a response, in their order, each with its index.
#[derive(Default)]
struct Blocks(Vec<(u64, Block)>);

enum Block {
    Text(String),
    /// The index in the draft's calls.
    Call(usize),
    /// Reasoning, and unknown kinds of blocks.
    Other(Value),
}

impl StreamDecoder for Blocks {
    fn decode(&mut self, event: &Value, draft: &mut Draft) -> StreamState {
        match as_text(&event["type"]) {
            "message_start" => self.set_usage(&event["message"]["usage"], draft),
            "content_block_start" => self.start_block(event, draft),
            "content_block_delta" => self.extend_block(event, draft),
            "message_delta" => {
                self.set_usage(&event["usage"], draft);
                draft.stop = stop_reason(&event["delta"]["stop_reason"]).or(draft.stop);
            }
            "message_stop" => return StreamState::Done,
            _ => {}
        }
        StreamState::Open
    }

    fn opaque(self: Box<Self>, calls: &[ToolCall]) -> Option<Value> {
        let is_other = |(_, block): &(u64, Block)| matches!(block, Block::Other(_));
        self.0.iter().any(is_other).then(|| {
            let blocks = self.0.into_iter().filter_map(|(_, block)| match block {
                Block::Text(text) => (!text.trim().is_empty()).then(|| text_block(&text)),
                Block::Call(at) => calls.get(at).map(call_block),
                Block::Other(block) => Some(block),
            });
            json!({ NAME: blocks.collect::<Vec<_>>() })
        })
    }
}

impl Blocks {
    /// Sums up the input: `input_tokens` counts neither reads of the cache nor writes to it.
    fn set_usage(&self, usage: &Value, draft: &mut Draft) {
        set_if_number(&mut draft.usage.output, &usage["output_tokens"]);
        if let Some(uncached) = usage["input_tokens"].as_u64() {
            let part = |name: &str| usage[name].as_u64().unwrap_or(0);
            draft.usage.cached = part("cache_read_input_tokens");
            let written = part("cache_creation_input_tokens");
            draft.usage.input = uncached.saturating_add(written).saturating_add(draft.usage.cached);
        }
    }

    fn start_block(&mut self, event: &Value, draft: &mut Draft) {
        let block = &event["content_block"];
        let block = match as_text(&block["type"]) {
            "text" => {
                draft.push_text(&block["text"]);
                Block::Text(as_text(&block["text"]).to_owned())
            }
            "tool_use" => {
                let (id, name) = (as_text(&block["id"]).to_owned(), as_text(&block["name"]).to_owned());
                draft.calls.push(DraftCall { id, name, arguments: String::new() });
                Block::Call(draft.calls.len() - 1)
            }
            _ if block.is_object() => Block::Other(block.clone()),
            _ => return,
        };
        self.0.push((event["index"].as_u64().unwrap_or(0), block));
    }

    fn extend_block(&mut self, event: &Value, draft: &mut Draft) {
        let index = event["index"].as_u64().unwrap_or(0);
        let Some((_, block)) = self.0.iter_mut().rev().find(|(at, _)| *at == index) else { return };
        let delta = &event["delta"];
        match block {
            Block::Text(text) => {
                draft.push_text(&delta["text"]);
                text.push_str(as_text(&delta["text"]));
            }
            Block::Call(at) => draft.calls[*at].arguments.push_str(as_text(&delta["partial_json"])),
            Block::Other(block) => {
                for part in ["thinking", "signature"] {
                    match (&mut block[part], delta[part].as_str()) {
                        (Value::String(before), Some(more)) => before.push_str(more),
                        (missing, Some(more)) => *missing = json!(more),
                        (_, None) => {}
                    }
                }
            }
        }
    }
}

fn stop_reason(reason: &Value) -> Option<StopReason> {
    Some(match reason.as_str()? {
        "tool_use" => StopReason::Calls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::TooLong,
        "refusal" => StopReason::Refused,
        _ => StopReason::Done,
    })
}
