//! Parses JSON objects that models wrote, and repairs what they often get wrong: line breaks in strings, invalid
//! escapes, trailing commas, names of Python's constants, missing brackets at the end, text before and after.

use serde_json::{Value, json};

/// Objects that can be within a text. A text with more braces is no call.
const MAX_OBJECTS: usize = 256;
/// Bytes that are looked at in all tries together.
const MAX_SCANNED_BYTES: usize = 16 << 20;
/// An object as a string in a string is a mistake of a model. Deeper than this, it's something else.
const MAX_ENCODINGS: usize = 3;

/// Parses an object. Empty text is an empty object, because many models send it for a call without arguments. With
/// `is_complete`, brackets that are missing at the end are added. `None` for text that has no object, or several.
pub(crate) fn parse_object(text: &str, is_complete: bool) -> Option<Value> {
    let mut text = text.trim().to_owned();
    for _ in 0..MAX_ENCODINGS {
        match serde_json::from_str(&text) {
            Ok(object @ Value::Object(_)) => return Some(object),
            Ok(Value::Null) => return Some(json!({})),
            Ok(Value::String(inner)) => text = inner.trim().to_owned(),
            _ if text.is_empty() => return Some(json!({})),
            _ => break,
        }
    }
    let (object, end) = objects(&text, is_complete).next().map(|found| (found.value, found.end))?;
    // Two objects are two calls: choosing one of them would lose an edit.
    (!text[end..].contains('{')).then_some(object)
}

pub(super) struct FoundObject {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: Value,
}

/// Finds the objects in a text, in their order, without those within another one.
pub(super) fn objects(text: &str, is_complete: bool) -> impl Iterator<Item = FoundObject> {
    let mut next = 0;
    let mut scanned = 0;
    let mut tries = 0;
    std::iter::from_fn(move || {
        while let Some(start) = text[next..].find('{').map(|at| next + at) {
            tries += 1;
            if tries > MAX_OBJECTS || scanned > MAX_SCANNED_BYTES {
                return None;
            }
            next = start + 1;
            scanned += text.len() - start;
            let Some((repaired, length)) = repair(&text[start..], is_complete) else { continue };
            let Ok(value) = serde_json::from_str(&repaired) else { continue };
            next = start + length;
            return Some(FoundObject { start, end: next, value });
        }
        None
    })
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

    #[test]
    fn what_is_incomplete_or_ambiguous_is_not_guessed() {
        for text in [r#"{"old": "a"#, "read a.md", "[1]", r#"{"path": "a"} {"path": "b"}"#, "{]"] {
            assert_eq!(parse_object(text, true), None, "{text}");
        }
        assert_eq!(parse_object(r#"{"path": "a.md""#, false), None);
        assert_eq!(parse_object(&"{".repeat(100_000), true), None);
    }
}
