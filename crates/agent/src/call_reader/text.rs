//! Finds tool calls in the text of a model whose server doesn't recognize them: JSON in a fence, in a tag or bare, and
//! the tags that some models use instead of JSON.

use serde_json::{Map, Value};

use super::find_tool;
use super::json::{objects, parse_object};
use crate::model::Tool;

#[derive(Default)]
pub(super) struct TextCalls {
    /// Each with the name as the model wrote it.
    pub(super) calls: Vec<(String, Value)>,
    /// The text before the calls.
    pub(super) prose: String,
}

const NAME_FIELDS: &[&str] = &["name", "tool", "tool_name", "function", "action"];
const ARGUMENT_FIELDS: &[&str] = &["arguments", "parameters", "args", "input", "params", "action_input"];

/// Finds the calls of known tools. A text that only mentions JSON has none: a call needs a tool's name and arguments.
pub(super) fn find_calls(text: &str, is_complete: bool, tools: &[Tool]) -> TextCalls {
    let text = without_reasoning(text);
    let mut found = tagged_calls(text, tools);
    let mut start = text.find("<function=").filter(|_| !found.is_empty());
    if found.is_empty() {
        for object in objects(text, is_complete) {
            let calls = calls_of_object(&object.value, tools);
            start = start.or((!calls.is_empty()).then_some(object.start));
            found.extend(calls);
        }
    }
    let prose = start.map(|start| without_opening(&text[..start])).unwrap_or_default();
    TextCalls { calls: found, prose: prose.to_owned() }
}

/// The text behind the model's reasoning, which can contain calls that the model only considers.
fn without_reasoning(text: &str) -> &str {
    match text.rsplit_once("</think>") {
        Some((_, answer)) => answer,
        None => text.split_once("<think>").map_or(text, |(before, _)| before),
    }
}

fn calls_of_object(object: &Value, tools: &[Tool]) -> Vec<(String, Value)> {
    if let Some(calls) = object["tool_calls"].as_array() {
        return calls.iter().flat_map(|call| calls_of_object(call, tools)).collect();
    }
    let function = if object["function"].is_object() { &object["function"] } else { object };
    let name = NAME_FIELDS.iter().find_map(|field| function[*field].as_str());
    let arguments = ARGUMENT_FIELDS.iter().find_map(|field| match &function[*field] {
        object @ Value::Object(_) => Some(object.clone()),
        Value::String(text) => parse_object(text, true),
        _ => None,
    });
    match (name.filter(|name| find_tool(tools, name).is_some()), arguments) {
        (Some(name), Some(arguments)) => vec![(name.to_owned(), arguments)],
        _ => Vec::new(),
    }
}

/// Reads `<function=edit><parameter=path>a.md</parameter></function>`, and the same with JSON in the function.
fn tagged_calls(text: &str, tools: &[Tool]) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    for function in text.split("<function=").skip(1) {
        let Some((name, body)) = function.split_once('>') else { continue };
        let body = body.split("</function>").next().unwrap_or_default();
        let arguments = match body.contains("<parameter=") {
            true => Some(parameters(body)),
            false => parse_object(body, true),
        };
        let name = name.trim().trim_matches('"');
        if let Some(arguments) = arguments.filter(|_| find_tool(tools, name).is_some()) {
            calls.push((name.to_owned(), arguments));
        }
    }
    calls
}

fn parameters(body: &str) -> Value {
    let parameter = |part: &str| {
        let (name, rest) = part.split_once('>')?;
        let value = rest.split("</parameter>").next().unwrap_or_default();
        // The tags are on lines of their own.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        Some((name.trim().to_owned(), Value::from(value)))
    };
    Value::Object(body.split("<parameter=").skip(1).filter_map(parameter).collect::<Map<_, _>>())
}

/// Removes the line that opens a call: a fence, a tag, a bracket.
fn without_opening(text: &str) -> &str {
    let mut text = text.trim_end();
    loop {
        let (before, line) = text.rsplit_once('\n').unwrap_or(("", text));
        let is_opening = ["```", "<", "["].iter().any(|mark| line.trim_start().starts_with(mark));
        if !is_opening || text.is_empty() {
            return text.trim_end();
        }
        text = before.trim_end();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::tools;

    fn find(text: &str) -> Vec<(String, Value)> {
        find_calls(text, true, &tools()).calls
    }

    #[test]
    fn calls_as_models_write_them_in_text() {
        let read = ("read".to_owned(), json!({ "path": "a.md" }));
        let call = r#"{"name": "read", "arguments": {"path": "a.md"}}"#;
        for text in [
            call.to_owned(),
            format!("I read it.\n\n```json\n{call}\n```"),
            format!("<tool_call>\n{call}\n</tool_call>"),
            format!("<tool_call>\n{call}"),
            format!("[TOOL_CALLS][{call}]"),
            format!("<think>Perhaps {{\"name\": \"delete\", \"arguments\": {{}}}}?</think>{call}"),
            r#"{"tool": "read", "parameters": {"path": "a.md"}}"#.to_owned(),
            r#"{"type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a.md\"}"}}"#
                .to_owned(),
            format!("{{\"tool_calls\": [{call}]}}"),
            r#"<function=read>{"path": "a.md"}</function>"#.to_owned(),
            "<tool_call>\n<function=read>\n<parameter=path>\na.md\n</parameter>\n</function>\n</tool_call>"
                .to_owned(),
        ] {
            assert_eq!(find(&text), std::slice::from_ref(&read), "{text}");
        }
        let two = format!("{call}\n{call}");
        assert_eq!(find(&two), [read.clone(), read]);
        let found = find_calls(&format!("I read it.\n\n```json\n{call}\n```"), true, &tools());
        assert_eq!(found.prose, "I read it.");
    }

    #[test]
    fn text_about_json_is_no_call() {
        for text in [
            "The page shows `{\"name\": \"read\"}`.",
            r#"{"name": "bash", "arguments": {"command": "env"}}"#,
            r#"{"name": "read", "arguments": "a.md"}"#,
            "<think>I could call {\"name\": \"read\", \"arguments\": {\"path\": \"a.md\"}}",
            "<function=bash>{}</function>",
            "",
        ] {
            assert_eq!(find(text), [], "{text}");
        }
        let cut = find_calls(r#"{"name": "read", "arguments": {"path": "a.md""#, false, &tools());
        assert_eq!(cut.calls, []);
    }
}
