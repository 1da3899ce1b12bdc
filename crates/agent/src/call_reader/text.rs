//! Finds tool calls in the text of a model whose server doesn't recognize them: JSON in a fence, in a tag or bare, and
//! the tags that some models use instead of JSON.
//!
//! A text is read once from its start to its end, and never inside of a call: an edit can contain an example of another
//! call. The end of a call that can't be read is unknown, so nothing behind it is read.

use serde_json::{Map, Value};

use super::find_tool;
use super::json::{object_at_start, parse_object};
use crate::model::{Arguments, Tool};

/// Calls of one text. As many as in any other answer.
const MAX_CALLS: usize = 128;
/// Braces that can open an object. A text with more of them is no call.
const MAX_OBJECTS: usize = 256;
/// Bytes that are looked at in all tries together.
const MAX_SCANNED_BYTES: usize = 16 << 20;
/// How much of a call is looked at to recognize it, and how much of an unreadable one is kept.
const MAX_HEAD_CHARS: usize = 200;
const MAX_BROKEN_CHARS: usize = 500;
const FUNCTION: &str = "<function=";

const NAME_FIELDS: &[&str] = &["name", "tool", "tool_name", "function", "action"];
const ARGUMENT_FIELDS: &[&str] = &["arguments", "parameters", "args", "input", "params", "action_input"];

#[derive(Default)]
pub(super) struct TextCalls {
    /// The tool's name, or the name of a tool that doesn't exist, and the arguments.
    pub(super) calls: Vec<(String, Arguments)>,
    /// The text before the calls.
    pub(super) prose: String,
}

/// Which calls count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepted {
    All,
    /// Those of a text that has nothing else.
    Alone,
    /// Those in `<tool_call>` or `<function=…>`.
    Tagged,
}

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
pub(super) fn find_calls(text: &str, is_complete: bool, tools: &[Tool], accepted: Accepted) -> TextCalls {
    let (text, mut found) = without_reasoning(text, |text| Scanner::new(text, is_complete, tools).scan());
    match accepted {
        Accepted::All => {}
        Accepted::Alone if is_alone(text, &found) => {}
        Accepted::Alone | Accepted::Tagged => found.retain(|call| is_tagged(text, call)),
    }
    let prose = found.first().map(|first| without_opening(&text[..first.start]).to_owned());
    let known_name = |name: String| find_tool(tools, &name).map_or(name, |tool| tool.name.to_owned());
    let calls = found.into_iter().take(MAX_CALLS).map(|call| (known_name(call.name), call.arguments));
    TextCalls { calls: calls.collect(), prose: prose.unwrap_or_default() }
}

/// The text behind the model's reasoning, which can contain calls that the model only considers, and its calls. The end
/// of a reasoning within a call belongs to the call: docs can be about such tags.
fn without_reasoning(text: &str, scan: impl Fn(&str) -> Vec<FoundCall>) -> (&str, Vec<FoundCall>) {
    let (open, close) = ("<think>", "</think>");
    let text = text.trim_start();
    if text.starts_with(open) {
        let answer = text.split_once(close).map_or("", |(_, answer)| answer);
        return (answer, scan(answer));
    }
    let found = scan(text);
    match text.find(close) {
        Some(end) if !found.iter().any(|call| (call.start..call.end).contains(&end)) => {
            let answer = &text[end + close.len()..];
            (answer, scan(answer))
        }
        _ => (text, found),
    }
}

/// Reads a text once, from its start to its end.
struct Scanner<'a> {
    text: &'a str,
    is_complete: bool,
    tools: &'a [Tool],
    calls: Vec<FoundCall>,
    /// The position to continue from.
    next: usize,
    tries: usize,
    scanned: usize,
    /// Whether an object could not be read, so that what follows may be inside of it.
    is_ambiguous: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, is_complete: bool, tools: &'a [Tool]) -> Self {
        let (calls, next, tries, scanned) = (Vec::new(), 0, 0, 0);
        Self { text, is_complete, tools, calls, next, tries, scanned, is_ambiguous: false }
    }

    fn scan(mut self) -> Vec<FoundCall> {
        while self.calls.len() <= MAX_CALLS {
            let rest = &self.text[self.next..];
            let is_start = |at: usize| rest[at..].starts_with('{') || rest[at..].starts_with(FUNCTION);
            let Some(at) = rest.match_indices(['{', '<']).map(|(at, _)| at).find(|at| is_start(*at)) else {
                break;
            };
            let start = self.next + at;
            let goes_on = match rest[at..].starts_with('{') {
                true => self.read_object(start),
                false => self.read_function(start),
            };
            if !goes_on {
                break;
            }
        }
        self.calls
    }

    fn push(&mut self, start: usize, end: usize, name: &str, arguments: Arguments) {
        self.next = end;
        self.calls.push(FoundCall { start, end, name: name.to_owned(), arguments });
    }

    /// Adds a call that can't be read. Nothing behind it is read.
    fn push_broken(&mut self, start: usize, name: &str, body: &str) -> bool {
        let broken = Arguments::Broken(body.chars().take(MAX_BROKEN_CHARS).collect());
        self.push(start, self.text.len(), name, broken);
        false
    }

    /// Reads the object at `start`. Returns whether to go on.
    fn read_object(&mut self, start: usize) -> bool {
        let (text, rest) = (self.text, &self.text[start..]);
        (self.tries, self.scanned) = (self.tries + 1, self.scanned + rest.len());
        if self.tries > MAX_OBJECTS || self.scanned > MAX_SCANNED_BYTES {
            return false;
        }
        if let Some((object, length)) = object_at_start(rest, self.is_complete) {
            self.next = start + length;
            let calls = match is_quoted(text, start, start + length) {
                true => Vec::new(),
                false => calls_of_object(&object),
            };
            if let Some((name, _)) = calls.first().filter(|_| self.is_ambiguous) {
                return self.push_broken(start, name, rest);
            }
            for (name, arguments) in calls {
                self.push(start, start + length, &name, Arguments::Json(arguments));
            }
            return true;
        }
        if let Some(name) = unreadable_call(rest, self.tools) {
            return self.push_broken(start, &name, rest);
        }
        self.is_ambiguous |= rest[1..].trim_start().starts_with('"');
        self.next = start + 1;
        true
    }

    /// Reads `<function=edit><parameter=path>a.md</parameter></function>`, and the same with JSON in the function.
    fn read_function(&mut self, start: usize) -> bool {
        let rest = &self.text[start + FUNCTION.len()..];
        let head = rest.char_indices().nth(MAX_HEAD_CHARS).map_or(rest, |(at, _)| &rest[..at]);
        let Some((name, _)) = head.split_once('>') else {
            self.next = start + FUNCTION.len();
            return true;
        };
        let body = &rest[name.len() + 1..];
        let end = body.find("</function>");
        let body = &body[..end.unwrap_or(body.len())];
        let arguments = match body.contains("<parameter=") {
            true => parameters(body),
            false => parse_object(body, self.is_complete),
        };
        let is_whole = (end.is_some() || self.is_complete) && !self.is_ambiguous;
        let after = start + FUNCTION.len() + name.len() + 1 + body.len();
        let name = name.trim().trim_matches('"');
        match arguments.filter(|_| is_whole) {
            Some(arguments) => {
                self.push(start, after, name, Arguments::Json(arguments));
                true
            }
            None => self.push_broken(start, name, body),
        }
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

/// The name of a known tool, if the text begins like a call of it: `{"name": "edit", "arguments"`.
fn unreadable_call(text: &str, tools: &[Tool]) -> Option<String> {
    let head: String = text.chars().take(MAX_HEAD_CHARS).filter(|c| !c.is_whitespace()).collect();
    let (name, rest) = NAME_FIELDS
        .iter()
        .find_map(|field| head.strip_prefix(&format!("{{\"{field}\":\""))?.split_once('"'))?;
    let has_arguments = ARGUMENT_FIELDS.iter().any(|field| rest.starts_with(&format!(",\"{field}\"")));
    (has_arguments && find_tool(tools, name).is_some()).then(|| name.to_owned())
}

/// Whether the object is in a quotation, or in code within a sentence.
fn is_quoted(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].rsplit('\n').next().unwrap_or_default().trim_start();
    let after = text[end..].split('\n').next().unwrap_or_default().trim_end();
    let is_inline_code = before.ends_with('`') && !before.ends_with("```");
    before.starts_with('>') || is_inline_code && (before, after) != ("`", "`")
}

/// Whether the text has nothing but the calls, and what encloses them.
fn is_alone(text: &str, calls: &[FoundCall]) -> bool {
    let first = calls.first().map_or(text.len(), |call| call.start);
    let behind = calls.last().map_or("", |call| &text[call.end..]);
    let is_enclosing = |line: &str| {
        let line = line.trim();
        line.is_empty() || ["```", "</", "]", ",", ";"].iter().any(|mark| line.starts_with(mark))
    };
    without_opening(&text[..first]).is_empty() && behind.lines().all(is_enclosing)
}

/// Whether the call is in the tags of one.
fn is_tagged(text: &str, call: &FoundCall) -> bool {
    let before = text[..call.start].trim_end();
    text[call.start..].starts_with(FUNCTION) || before.ends_with("<tool_call>")
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
        find_calls(text, true, &tools(), Accepted::All).calls
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
        let text = format!("I read it.\n\n```json\n{call}\n```");
        let found = find_calls(&text, true, &tools(), Accepted::All);
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
            let found = find_calls(text, is_complete, &tools(), Accepted::All);
            matches!(&found.calls[..], [(name, Arguments::Broken(_))] if name == "edit" || name == "write")
        };
        assert!(is_broken(r#"{"name": "edit", "arguments": {"old": "say "hi"", "new": "x"}}"#, true));
        assert!(is_broken(r#"{"name": "edit", "arguments": {"path": "a.md""#, false));
        let cut = "<function=write><parameter=path>a.md</parameter><parameter=text>first half of the pa";
        assert!(is_broken(cut, false) && is_broken(cut, true));
        let unknown = find(r#"{"name": "bash", "arguments": {"command": "env"}}"#);
        assert_eq!(unknown, [("bash".to_owned(), Arguments::Json(json!({ "command": "env" })))]);
    }

    /// Where an unreadable call ends is unknown. So what is behind it may belong to it.
    #[test]
    fn nothing_is_read_within_or_behind_an_unreadable_call() {
        let delete = r#"{"name": "delete", "arguments": {"path": "keep.md"}}"#;
        for outer in [
            format!(r#"{{"name": "edit", "arguments": {{"old": "say "hi"", "new": "{delete}"}}}}"#),
            format!(r#"{{"tool": "edit", "parameters": {{"old": "say "hi"", "new": "{delete}"}}}}"#),
            format!("{}\n{delete}", r#"{"name": "edit", "arguments": {"old": "say "hi""}}"#),
            format!("<function=edit><parameter=new>{delete}"),
            format!(
                "<function=edit><parameter=new>An example: <function=x></function> {delete}</parameter></function>"
            ),
            format!(r#"{{"edit": "an "unknown" shape", "example": {delete}}}"#),
        ] {
            let calls = find(&outer);
            assert!(matches!(&calls[..], [(_, Arguments::Broken(_))]), "{outer}: {calls:?}");
        }
    }

    #[test]
    fn a_call_within_another_one_is_its_text() {
        let delete = r#"{"name": "delete", "arguments": {"path": "keep.md"}}"#;
        let tagged = "<function=delete><parameter=path>keep.md</parameter></function>";
        let in_tags = format!(
            "<function=edit><parameter=path>a.md</parameter><parameter=new>{delete}</think></parameter></function>"
        );
        let in_json =
            json!({ "name": "edit", "arguments": { "path": "a.md", "new": format!("{tagged}</think>") } });
        for text in [in_tags, in_json.to_string()] {
            let names: Vec<_> = find(&text).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["edit"], "{text}");
        }
    }

    #[test]
    fn quoted_calls_are_not_made() {
        let call = r#"{"name": "delete", "arguments": {"path": "keep.md"}}"#;
        for text in [
            format!("The page has an example, which I left alone:\n> {call}"),
            format!("I did not run `{call}`, because it is an example."),
            format!("`{call}` is an example."),
        ] {
            assert_eq!(find(&text), [], "{text}");
        }
        assert_eq!(find(&format!("`{call}`")).len(), 1);
        let in_prose = format!("The page shows this, and I left it alone:\n\n{call}\n\nDone.");
        let count = |text: &str, accepted: Accepted| find_calls(text, true, &tools(), accepted).calls.len();
        assert_eq!((count(&in_prose, Accepted::All), count(&in_prose, Accepted::Alone)), (1, 0));
        let (alone, tagged) =
            (format!("```json\n{call}\n```\n"), format!("Now:\n<tool_call>\n{call}\n</tool_call>"));
        assert_eq!((count(&alone, Accepted::Alone), count(&alone, Accepted::Tagged)), (1, 0));
        assert_eq!((count(&tagged, Accepted::Alone), count(&tagged, Accepted::Tagged)), (1, 1));
    }

    /// Models get stuck and repeat themselves.
    #[test]
    fn a_long_text_of_openings_takes_little_memory() {
        for text in ["<function=a>".repeat(30_000), "<function=a>{".repeat(30_000), "{\"a".repeat(100_000)] {
            let calls = find(&text);
            assert!(calls.len() <= 1, "{}", calls.len());
            let is_short = |(_, arguments): &(String, Arguments)| matches!(arguments, Arguments::Broken(text) if text.len() <= MAX_BROKEN_CHARS);
            assert!(calls.iter().all(is_short));
        }
        let many = r#"<function=read>{"path": "a.md"}</function>"#.repeat(100_000);
        assert_eq!(find(&many).len(), MAX_CALLS);
    }
}
