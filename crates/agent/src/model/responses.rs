//! OpenAI's responses. Nothing is stored there: the whole conversation is sent each time.

use serde_json::{Value, json};

use super::client::Format;
use super::draft::{Draft, DraftCall, Ear, Flow, set, text};
use super::{Call, Message, Stop, ToolCall, or_nothing};

pub(super) struct Responses;

const NAME: &str = "responses";

impl Format for Responses {
    fn path(&self, _base: &str, _model: &str) -> String {
        "/responses".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn request(&self, model: &str, call: &Call<'_>) -> Value {
        let mut body = json!({
            "model": model,
            "stream": true,
            "store": false,
            "max_output_tokens": call.max_output,
            "input": call.messages.iter().flat_map(items).collect::<Vec<_>>(),
        });
        if thinks(model) {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        if !call.system.is_empty() {
            body["instructions"] = json!(call.system);
        }
        if !call.tools.is_empty() {
            body["tools"] = call.tools.iter().map(tool).collect();
        }
        body
    }

    fn ear(&self) -> Box<dyn Ear> {
        Box::new(Items::default())
    }
}

/// The older models answer a request for their thinking with an error.
fn thinks(model: &str) -> bool {
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
        Message::User(said) => vec![json!({ "role": "user", "content": or_nothing(said) })],
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
    json!({ "role": "assistant", "content": or_nothing(text) })
}

fn call_item(call: &ToolCall) -> Value {
    json!({
        "type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": call.arguments.sendable().to_string(),
    })
}

/// The items of an answer as they were done, in their order; of a call its place in the draft.
#[derive(Default)]
struct Items {
    done: Vec<Result<Value, usize>>,
    /// By the number of the item.
    calls: Vec<(u64, usize)>,
    refused: bool,
}

impl Ear for Items {
    fn hear(&mut self, event: &Value, draft: &mut Draft) -> Flow {
        let item = &event["item"];
        match text(&event["type"]) {
            "response.output_text.delta" => draft.say(&event["delta"]),
            "response.refusal.delta" => {
                draft.say(&event["delta"]);
                self.refused = true;
            }
            "response.output_item.added" if item["type"] == "function_call" => {
                let (id, name) = (text(&item["call_id"]).to_owned(), text(&item["name"]).to_owned());
                self.calls.push((number(event), draft.calls.len()));
                draft.calls.push(DraftCall { id, name, arguments: String::new() });
            }
            "response.function_call_arguments.delta" => {
                if let Some(at) = self.call(event) {
                    draft.calls[at].arguments.push_str(text(&event["delta"]));
                }
            }
            "response.output_item.done" => self.keep(event, draft),
            "response.completed" | "response.incomplete" => {
                self.end(&event["response"], draft);
                return Flow::Done;
            }
            _ => {}
        }
        Flow::On
    }

    fn opaque(self: Box<Self>, calls: &[ToolCall]) -> Option<Value> {
        let thought = |item: &Result<Value, usize>| matches!(item, Ok(item) if item["type"] == "reasoning");
        self.done.iter().any(thought).then(|| {
            let items = self.done.into_iter().filter_map(|item| match item {
                Ok(item) => Some(item),
                Err(at) => calls.get(at).map(call_item),
            });
            json!({ NAME: items.collect::<Vec<_>>() })
        })
    }
}

impl Items {
    fn call(&self, event: &Value) -> Option<usize> {
        let number = number(event);
        self.calls.iter().find(|(known, _)| *known == number).map(|(_, at)| *at)
    }

    fn keep(&mut self, event: &Value, draft: &mut Draft) {
        let item = &event["item"];
        match (text(&item["type"]), self.call(event)) {
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
        set(&mut draft.usage.input, &usage["input_tokens"]);
        set(&mut draft.usage.output, &usage["output_tokens"]);
        set(&mut draft.usage.cached, &usage["input_tokens_details"]["cached_tokens"]);
        draft.stop = Some(match text(&response["incomplete_details"]["reason"]) {
            _ if self.refused => Stop::Refused,
            "content_filter" => Stop::Refused,
            "" => Stop::Done,
            _ => Stop::TooLong,
        });
    }
}

fn number(event: &Value) -> u64 {
    event["output_index"].as_u64().unwrap_or(0)
}
