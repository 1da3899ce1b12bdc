//! Anthropic's messages.

use serde_json::{Value, json};

use super::client::Format;
use super::draft::{Draft, DraftCall, Ear, Flow, set, text};
use super::{Call, Message, Stop, ToolCall, by_role, or_nothing, plain_name};

pub(super) struct Anthropic;

/// Under which name a turn keeps its blocks.
const NAME: &str = "anthropic";

impl Format for Anthropic {
    fn path(&self, base: &str, _model: &str) -> String {
        // Both are in use as a base: with the version, and without.
        if base.ends_with("/v1") { "/messages".into() } else { "/v1/messages".into() }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", "2023-06-01".to_owned())].into_iter().chain(key).collect()
    }

    fn request(&self, model: &str, call: &Call<'_>) -> Value {
        let mut body = json!({
            "model": model,
            "max_tokens": call.max_output,
            "stream": true,
            "messages": messages(call.messages),
        });
        if !call.system.is_empty() {
            body["system"] = json!([{ "type": "text", "text": call.system }]);
            mark(body["system"].get_mut(0));
        }
        if !call.tools.is_empty() {
            let tools = call.tools.iter().map(
                |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters }),
            );
            body["tools"] = tools.collect();
            mark(body["tools"].as_array_mut().and_then(|tools| tools.last_mut()));
        }
        body
    }

    fn ear(&self) -> Box<dyn Ear> {
        Box::new(Blocks::default())
    }
}

/// What is sent up to here is to be remembered. Of the marks that a request may have, three are
/// set: after the tools, after the instructions, and after the newest message.
fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn messages(messages: &[Message]) -> Vec<Value> {
    let mut sent = by_role(messages, |message| match message {
        Message::User(said) => ("user", vec![text_block(said)]),
        Message::Assistant(turn) => ("assistant", turn.parts(NAME, text_block, call_block)),
        Message::Results(results) => ("user", results.iter().map(result_block).collect()),
    });
    mark(sent.last_mut().and_then(|(_, blocks)| blocks.last_mut()));
    sent.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": or_nothing(text) })
}

fn result_block(result: &super::ToolResult) -> Value {
    let mut block = json!({
        "type": "tool_result", "tool_use_id": plain_name(&result.id), "content": result.content,
    });
    if result.failed {
        block["is_error"] = json!(true);
    }
    block
}

fn call_block(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use", "id": plain_name(&call.id), "name": call.name, "input": call.arguments.sendable(),
    })
}

/// The blocks of an answer, in their order.
#[derive(Default)]
struct Blocks(Vec<(u64, Block)>);

enum Block {
    Text(String),
    /// The place among the draft's calls.
    Call(usize),
    /// Thinking, and whatever else there may come to be.
    Other(Value),
}

impl Ear for Blocks {
    fn hear(&mut self, event: &Value, draft: &mut Draft) -> Flow {
        match text(&event["type"]) {
            "message_start" => self.count(&event["message"]["usage"], draft),
            "content_block_start" => self.begin(event, draft),
            "content_block_delta" => self.go_on(event, draft),
            "message_delta" => {
                self.count(&event["usage"], draft);
                draft.stop = stop(&event["delta"]["stop_reason"]).or(draft.stop);
            }
            "message_stop" => return Flow::Done,
            _ => {}
        }
        Flow::On
    }

    fn opaque(self: Box<Self>, calls: &[ToolCall]) -> Option<Value> {
        let told = |(_, block): &(u64, Block)| matches!(block, Block::Other(_));
        self.0.iter().any(told).then(|| {
            let blocks = self.0.into_iter().filter_map(|(_, block)| match block {
                Block::Text(said) => (!said.trim().is_empty()).then(|| text_block(&said)),
                Block::Call(at) => calls.get(at).map(call_block),
                Block::Other(block) => Some(block),
            });
            json!({ NAME: blocks.collect::<Vec<_>>() })
        })
    }
}

impl Blocks {
    /// `input_tokens` is what was neither read from the cache nor written to it.
    fn count(&self, usage: &Value, draft: &mut Draft) {
        set(&mut draft.usage.output, &usage["output_tokens"]);
        if let Some(fresh) = usage["input_tokens"].as_u64() {
            let part = |name: &str| usage[name].as_u64().unwrap_or(0);
            draft.usage.cached = part("cache_read_input_tokens");
            let written = part("cache_creation_input_tokens");
            draft.usage.input = fresh.saturating_add(written).saturating_add(draft.usage.cached);
        }
    }

    fn begin(&mut self, event: &Value, draft: &mut Draft) {
        let block = &event["content_block"];
        let block = match text(&block["type"]) {
            "text" => {
                draft.say(&block["text"]);
                Block::Text(text(&block["text"]).to_owned())
            }
            "tool_use" => {
                let (id, name) = (text(&block["id"]).to_owned(), text(&block["name"]).to_owned());
                draft.calls.push(DraftCall { id, name, arguments: String::new() });
                Block::Call(draft.calls.len() - 1)
            }
            _ if block.is_object() => Block::Other(block.clone()),
            _ => return,
        };
        self.0.push((event["index"].as_u64().unwrap_or(0), block));
    }

    fn go_on(&mut self, event: &Value, draft: &mut Draft) {
        let index = event["index"].as_u64().unwrap_or(0);
        let Some((_, block)) = self.0.iter_mut().rev().find(|(at, _)| *at == index) else { return };
        let delta = &event["delta"];
        match block {
            Block::Text(said) => {
                draft.say(&delta["text"]);
                said.push_str(text(&delta["text"]));
            }
            Block::Call(at) => draft.calls[*at].arguments.push_str(text(&delta["partial_json"])),
            Block::Other(block) => {
                for part in ["thinking", "signature"] {
                    match (&mut block[part], delta[part].as_str()) {
                        (Value::String(before), Some(more)) => before.push_str(more),
                        (nothing, Some(more)) => *nothing = json!(more),
                        (_, None) => {}
                    }
                }
            }
        }
    }
}

fn stop(reason: &Value) -> Option<Stop> {
    Some(match reason.as_str()? {
        "tool_use" => Stop::Calls,
        "max_tokens" | "model_context_window_exceeded" => Stop::TooLong,
        "refusal" => Stop::Refused,
        _ => Stop::Done,
    })
}
