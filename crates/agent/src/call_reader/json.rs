//! Parses JSON objects that models wrote, and repairs what they often get wrong: line breaks in strings, invalid
//! escapes, trailing commas, names of Python's constants, missing brackets at the end, text before and after.

use serde_json::{Map, Value, json};

/// No tool takes more than a list.
const MAX_DEPTH: usize = 32;
/// An object as a string in a string is a mistake of a model. Deeper than this, it's something else.
const MAX_ENCODINGS: usize = 3;

/// Parses an object. Empty text is an empty object, because many models send it for a call without arguments. With
/// `is_complete`, brackets that are missing at the end are added. `None` for text that has no object, or several.
pub(crate) fn parse_object(text: &str, is_complete: bool) -> Option<Value> {
    let mut text = text.trim().to_owned();
    for _ in 0..MAX_ENCODINGS {
        match serde_json::from_str(&text) {
            Ok(object @ Value::Object(_)) => return Some(object).filter(is_shallow),
            Ok(Value::Null) => return Some(json!({})),
            Ok(Value::String(inner)) => text = inner.trim().to_owned(),
            _ if text.is_empty() => return Some(json!({})),
            _ => break,
        }
    }
    // An object behind a brace that opens none may be within a text that can't be read.
    let text = &text[text.find('{')?..];
    let (object, length) = object_at_start(text, is_complete)?;
    // Two objects are two calls: choosing one of them would lose an edit.
    (!text[length..].contains('{')).then_some(object)
}

/// Parses the object at the start of a text. Returns it and its length.
pub(super) fn object_at_start(text: &str, is_complete: bool) -> Option<(Value, usize)> {
    let (repaired, length) = repair(text, is_complete)?;
    let object = serde_json::from_str(&repaired).ok().filter(is_shallow)?;
    Some((object, length))
}

/// Whether the value can be stored as a part of a message, which has levels of its own.
fn is_shallow(value: &Value) -> bool {
    fn is_within(value: &Value, depth: usize) -> bool {
        let fields = value.as_object().into_iter().flat_map(Map::values);
        let mut inner = value.as_array().into_iter().flatten().chain(fields);
        inner.all(|value| depth > 0 && is_within(value, depth - 1))
    }
    is_within(value, MAX_DEPTH)
}

/// Copies the object at the start of the text, with repairs. Returns it and its length in the text.
fn repair(text: &str, is_complete: bool) -> Option<(String, usize)> {
    let (mut repaired, mut open, mut in_string) = (String::with_capacity(text.len()), Vec::new(), false);
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' if in_string => copy_escape(characters.next().map(|(_, c)| c), &mut repaired),
            '"' => {
                in_string = !in_string;
                repaired.push(c);
            }
            c if in_string && c.is_control() => repaired.push_str(&escape(c)),
            _ if in_string => repaired.push(c),
            '{' | '[' => {
                open.push(if c == '{' { '}' } else { ']' });
                repaired.push(c);
            }
            '}' | ']' => {
                remove_trailing_comma(&mut repaired);
                if open.pop() != Some(c) {
                    return None;
                }
                repaired.push(c);
                if open.is_empty() {
                    return Some((replace_constants(&repaired), at + 1));
                }
            }
            _ => repaired.push(c),
        }
    }
    if in_string || !is_complete {
        return None; // A value may be missing its end.
    }
    remove_trailing_comma(&mut repaired);
    repaired.extend(open.into_iter().rev());
    Some((replace_constants(&repaired), text.len()))
}

/// Copies an escape. A backslash before another character than JSON allows stands for itself, as in `\d`.
fn copy_escape(escaped: Option<char>, repaired: &mut String) {
    match escaped {
        Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => repaired.extend(['\\', c]),
        Some('\'') => repaired.push('\''),
        Some(c) if c.is_control() => repaired.push_str(&escape(c)),
        Some(c) => {
            repaired.push_str(r"\\");
            repaired.push(c);
        }
        None => {}
    }
}

fn escape(c: char) -> String {
    match c {
        '\n' => r"\n".to_owned(),
        '\t' => r"\t".to_owned(),
        '\r' => r"\r".to_owned(),
        other => format!(r"\u{:04x}", u32::from(other)),
    }
}

fn remove_trailing_comma(text: &mut String) {
    let content = text.trim_end();
    if let Some(without) = content.strip_suffix(',') {
        text.truncate(without.len());
    }
}

/// Replaces Python's names of constants, outside of strings.
fn replace_constants(text: &str) -> String {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return text.to_owned();
    }
    let mut replaced = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped, mut rest) = (false, false, text);
    while let Some(c) = rest.chars().next() {
        let word = [("True", "true"), ("False", "false"), ("None", "null")];
        let constant = word.iter().find(|(python, _)| !in_string && rest.starts_with(python));
        if let Some((python, json)) = constant {
            replaced.push_str(json);
            rest = &rest[python.len()..];
            continue;
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
        replaced.push(c);
        rest = &rest[c.len_utf8()..];
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_as_models_write_them() {
        let path = json!({ "path": "a.md" });
        for text in [
            r#"{"path": "a.md"}"#,
            r#"  {"path": "a.md",}  "#,
            r#""{\"path\": \"a.md\"}""#,
            r#"{"path": "a.md"} I will read it now."#,
            "```json\n{\"path\": \"a.md\"}\n```",
            r#"{"path": "a.md""#,
            r#"{"path": "a.md"}}"#,
        ] {
            assert_eq!(parse_object(text, true), Some(path.clone()), "{text}");
        }
        for text in ["", "null", " {} "] {
            assert_eq!(parse_object(text, true), Some(json!({})), "{text}");
        }
        let lines = "{\"old\": \"a\n\tb \\d \\' \\\" {\", \"all\": True, \"x\": [1, 2,], \"y\": None}";
        assert_eq!(
            parse_object(lines, true),
            Some(json!({ "old": "a\n\tb \\d ' \" {", "all": true, "x": [1, 2], "y": null }))
        );
    }

    /// An object in a string of a broken one.
    const INNER: &str = r#"{"path": "a.md", "why": "see "this" {"path": "b.md"} "}"#;

    #[test]
    fn what_is_incomplete_or_ambiguous_is_not_guessed() {
        for text in [r#"{"old": "a"#, "read a.md", "[1]", r#"{"path": "a"} {"path": "b"}"#, "{]", INNER] {
            assert_eq!(parse_object(text, true), None, "{text}");
        }
        assert_eq!(parse_object(r#"{"path": "a.md""#, false), None);
        assert_eq!(parse_object(&"{".repeat(100_000), true), None);
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(parse_object(&nested(30), true).is_some());
        assert_eq!((parse_object(&nested(100), true), parse_object(&nested(200), true)), (None, None));
    }
}
