//! Finds tool calls in the text of a model whose server doesn't recognize them: JSON in a fence, in a tag or bare, and
//! the tags that some models use instead of JSON.

use serde_json::{Map, Value};

use super::find_tool;
use super::json::{objects, parse_object};
use crate::model::{Arguments, Tool};

const MAX_UNREADABLE: usize = 8;
/// How much of a call is looked at to recognize it, and how much of an unreadable one is kept.
const MAX_HEAD_CHARS: usize = 200;
const MAX_BROKEN_CHARS: usize = 500;

#[derive(Default)]
pub(super) struct TextCalls {
    /// The tool's name, or the name of a tool that doesn't exist, and the arguments.
    pub(super) calls: Vec<(String, Arguments)>,
    /// The text before the calls.
    pub(super) prose: String,
}

const NAME_FIELDS: &[&str] = &["name", "tool", "tool_name", "function", "action"];
const ARGUMENT_FIELDS: &[&str] = &["arguments", "parameters", "args", "input", "params", "action_input"];

/// A call in a text, by its position.
struct FoundCall {
    start: usize,
    end: usize,
    name: String,
    arguments: Arguments,
}

/// Finds the calls in a text. A text that only mentions JSON has none: a call has a name and arguments. A call of a known
/// tool that can't be read is found, too: dropping it would lose an edit. `is_complete` is false if the answer was cut
/// off.
pub(super) fn find_calls(text: &str, is_complete: bool, tools: &[Tool]) -> TextCalls {
    let text = without_reasoning(text);
    let mut found = tagged_calls(text, is_complete);
    for object in objects(text, is_complete) {
        let calls = calls_of_object(&object.value).into_iter();
        found.extend(calls.map(|(name, arguments)| FoundCall {
            start: object.start,
            end: object.end,
            name,
            arguments: Arguments::Json(arguments),
        }));
    }
    found.extend(unreadable_calls(text, &found, tools));
    found.sort_by_key(|call| call.start);
    let prose = found.first().map(|first| without_opening(&text[..first.start]).to_owned());
    let known_name = |name: String| find_tool(tools, &name).map_or(name, |tool| tool.name.to_owned());
    let calls = found.into_iter().map(|call| (known_name(call.name), call.arguments));
    TextCalls { calls: calls.collect(), prose: prose.unwrap_or_default() }
}

/// The text behind the model's reasoning, which can contain calls that the model only considers.
fn without_reasoning(text: &str) -> &str {
    match text.rsplit_once("</think>") {
        Some((_, answer)) => answer,
        None => text.split_once("<think>").map_or(text, |(before, _)| before),
    }
}

fn calls_of_object(object: &Value) -> Vec<(String, Value)> {
    if let Some(calls) = object["tool_calls"].as_array() {
        return calls.iter().flat_map(calls_of_object).collect();
    }
    let function = if object["function"].is_object() { &object["function"] } else { object };
    let name = NAME_FIELDS.iter().find_map(|field| function[*field].as_str());
    let arguments = ARGUMENT_FIELDS.iter().find_map(|field| match &function[*field] {
        object @ Value::Object(_) => Some(object.clone()),
        Value::String(text) => parse_object(text, true),
        _ => None,
    });
    name.zip(arguments).map(|(name, arguments)| (name.to_owned(), arguments)).into_iter().collect()
}

/// Reads `<function=edit><parameter=path>a.md</parameter></function>`, and the same with JSON in the function.
fn tagged_calls(text: &str, is_complete: bool) -> Vec<FoundCall> {
    let mut calls = Vec::new();
    for (start, opening) in text.match_indices("<function=") {
        let Some((name, body)) = text[start + opening.len()..].split_once('>') else { continue };
        let end = body.find("</function>");
        let body = &body[..end.unwrap_or(body.len())];
        let arguments = match body.contains("<parameter=") {
            true => parameters(body),
            false => parse_object(body, is_complete),
        };
        let is_whole = end.is_some() || is_complete;
        let arguments =
            arguments.filter(|_| is_whole).map_or(Arguments::Broken(body.to_owned()), Arguments::Json);
        let name = name.trim().trim_matches('"').to_owned();
        calls.push(FoundCall {
            start,
            end: start + opening.len() + name.len() + body.len(),
            name,
            arguments,
        });
    }
    calls
}

/// `None` if a parameter has no end: its value may be incomplete.
fn parameters(body: &str) -> Option<Value> {
    let parameter = |part: &str| {
        let (name, rest) = part.split_once('>')?;
        let (value, _) = rest.split_once("</parameter>")?;
        // The tags are on lines of their own.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        Some((name.trim().to_owned(), Value::from(value)))
    };
    let parameters: Option<Map<_, _>> = body.split("<parameter=").skip(1).map(parameter).collect();
    parameters.map(Value::Object)
}

/// Calls of known tools by the beginning of their JSON, `{"name": "edit", "arguments"`, that are in no call so far.
fn unreadable_calls(text: &str, found: &[FoundCall], tools: &[Tool]) -> Vec<FoundCall> {
    let mut calls = Vec::new();
    for (start, _) in text.match_indices('{') {
        let is_inside = |call: &FoundCall| (call.start..call.end).contains(&start);
        if calls.len() >= MAX_UNREADABLE || found.iter().chain(&calls).any(is_inside) {
            continue;
        }
        let head: String =
            text[start..].chars().take(MAX_HEAD_CHARS).filter(|c| !c.is_whitespace()).collect();
        let name = head.strip_prefix("{\"name\":\"").and_then(|rest| rest.split_once('"'));
        let Some((name, rest)) = name.filter(|(name, _)| find_tool(tools, name).is_some()) else { continue };
        if ARGUMENT_FIELDS.iter().any(|field| rest.starts_with(&format!(",\"{field}\""))) {
            let broken: String = text[start..].chars().take(MAX_BROKEN_CHARS).collect();
            let end = start + broken.len();
            calls.push(FoundCall { start, end, name: name.to_owned(), arguments: Arguments::Broken(broken) });
        }
    }
    calls
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

    fn find(text: &str) -> Vec<(String, Arguments)> {
        find_calls(text, true, &tools()).calls
    }

    #[test]
    fn calls_as_models_write_them_in_text() {
        let read = ("read".to_owned(), Arguments::Json(json!({ "path": "a.md" })));
        let call = r#"{"name": "read", "arguments": {"path": "a.md"}}"#;
        for text in [
            call.to_owned(),
            format!("I read it.\n\n```json\n{call}\n```"),
            format!("<tool_call>\n{call}\n</tool_call>"),
            format!("<tool_call>\n{call}"),
            format!("[TOOL_CALLS][{call}]"),
            format!("<think>Perhaps {{\"name\": \"delete\", \"arguments\": {{}}}}?</think>{call}"),
            call.replace("read", "functions.read"),
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
            r#"{"name": "read", "arguments": "a.md"}"#,
            "<think>I could call {\"name\": \"read\", \"arguments\": {\"path\": \"a.md\"}}",
            "",
        ] {
            let calls = find(text);
            assert!(
                calls.iter().all(|(_, arguments)| matches!(arguments, Arguments::Broken(_))),
                "{text}: {calls:?}"
            );
        }
        assert_eq!(find("The page shows `{\"name\": \"read\"}`."), []);
    }

    /// A call that is dropped would be an edit that nobody misses.
    #[test]
    fn unreadable_and_unknown_calls_are_not_dropped() {
        let is_broken = |text: &str, is_complete: bool| {
            let found = find_calls(text, is_complete, &tools());
            matches!(&found.calls[..], [(name, Arguments::Broken(_))] if name == "edit" || name == "write")
        };
        assert!(is_broken(r#"{"name": "edit", "arguments": {"old": "say "hi"", "new": "x"}}"#, true));
        assert!(is_broken(r#"{"name": "edit", "arguments": {"path": "a.md""#, false));
        let cut = "<function=write><parameter=path>a.md</parameter><parameter=text>first half of the pa";
        assert!(is_broken(cut, false) && is_broken(cut, true));
        let unknown = find(r#"{"name": "bash", "arguments": {"command": "env"}}"#);
        assert_eq!(unknown, [("bash".to_owned(), Arguments::Json(json!({ "command": "env" })))]);
        let finish = r#"{"name": "finish", "arguments": {}}"#;
        let both = find(&format!("{}\n{finish}", r#"{"name": "edit", "arguments": {"old": "say "hi""}}"#));
        let names: Vec<_> = both.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["edit", "finish"]);
    }
}
