//! Finds the position of values in JSON. The text must be valid JSON.

use std::ops::Range;

/// The members of the object at `at`: the position of each key, and the range of its value.
pub(super) fn members(text: &str, at: usize) -> Vec<(usize, String, Range<usize>)> {
    let mut found = Vec::new();
    let mut here = skip_space(text, at + 1);
    while text.as_bytes().get(here) == Some(&b'"') {
        let key_end = value_end(text, here);
        let key = serde_json::from_str(&text[here..key_end]).unwrap_or_default();
        let start = skip_space(text, skip_space(text, key_end) + 1);
        let end = value_end(text, start);
        found.push((here, key, start..end));
        here = next_item(text, end);
    }
    found
}

/// The ranges of the items of the array at `at`.
pub(super) fn items(text: &str, at: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut here = skip_space(text, at + 1);
    while text.as_bytes().get(here).is_some_and(|byte| *byte != b']') {
        let end = value_end(text, here);
        found.push(here..end);
        here = next_item(text, end);
    }
    found
}

/// The position of the item behind the comma after `end`, or of the closing bracket.
fn next_item(text: &str, end: usize) -> usize {
    let here = skip_space(text, end);
    if text.as_bytes().get(here) == Some(&b',') { skip_space(text, here + 1) } else { here }
}

pub(super) fn skip_space(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    text.len() - rest.trim_start().len()
}

fn value_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut here) = (0_usize, at);
    while let Some(byte) = bytes.get(here) {
        match byte {
            b'"' => here = string_end(bytes, here) - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return here,
            b'}' | b']' => depth -= 1,
            b',' | b' ' | b'\t' | b'\r' | b'\n' | b':' if depth == 0 => return here,
            _ => {}
        }
        here += 1;
        if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
            return here;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut here = at + 1;
    while let Some(byte) = bytes.get(here) {
        match byte {
            b'\\' => here += 1,
            b'"' => return here + 1,
            _ => {}
        }
        here += 1;
    }
    bytes.len()
}
