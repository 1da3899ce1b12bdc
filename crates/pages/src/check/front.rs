//! Front matter that no parser of YAML would take, and keys that are there twice.
//!
//! Only lines at the margin are judged: deeper ones may be text of any kind.

use std::collections::HashSet;

use super::{Finding, FindingKind};
use crate::frontmatter::FrontMatter;

/// What a value may begin with that is not looked into: structures, blocks of lines, templates.
const STRUCTURES: [char; 8] = ['[', '{', '|', '>', '&', '*', '!', '#'];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = text[start..].lines().next().unwrap_or_default().trim_end();
    let body = FrontMatter::parse(text).body;
    match first {
        "---" if body == start => unclosed(path, text, start).into_iter().collect(),
        "---" => yaml(path, text, start, body),
        "+++" if body > start => toml(path, &text[start..body]),
        _ => Vec::new(),
    }
}

/// A line of dashes at the head is a rule, unless what stands behind it can only be front matter.
fn unclosed(path: &str, text: &str, start: usize) -> Option<Finding> {
    let mut lines = text[start..].lines().skip(1);
    let second = lines.next()?;
    let (key, value) = key_of(second)?;
    let is_front =
        ["title", "description", "id", "slug", "sidebar_label", "layout", "sidebar_position"].contains(&key);
    let message = "the front matter is not closed by a line of three dashes".to_owned();
    (is_front && !value.is_empty())
        .then(|| Finding::new(path, 1, FindingKind::FrontMatter, "not closed", message))
}

fn yaml(path: &str, text: &str, start: usize, body: usize) -> Vec<Finding> {
    let block = &text[start..body];
    let lines: Vec<&str> = block.lines().skip(1).collect();
    let lines = &lines[..lines.len().saturating_sub(1)];
    let is_content = |line: &&&str| !line.trim().is_empty() && !line.starts_with('#');
    // A rule, some words and another rule are no front matter.
    if lines.iter().find(is_content).is_none_or(|line| key_of(line).is_none()) {
        return Vec::new();
    }
    let (mut found, mut keys, mut at) = (Vec::new(), HashSet::new(), 0);
    while let Some(line) = lines.get(at) {
        let number = at + 2;
        at += 1;
        if line.is_empty() || line.starts_with([' ', '\t', '#', '-', '?', '}', ']', '{', '<', '%']) {
            continue;
        }
        let fault = match key_of(line) {
            Some((key, value)) => {
                if !keys.insert(key) {
                    found.push(twice(path, number, key));
                }
                let rest = lines.get(at..).unwrap_or_default();
                match value_fault(value, rest) {
                    Ok(lines) => {
                        at += lines;
                        None
                    }
                    Err(why) => Some((key, why)),
                }
            }
            None if line.contains(':') => None,
            None => Some((line.trim(), "it is no key with a value")),
        };
        if let Some((what, why)) = fault {
            let message = format!("the front matter cannot be read at {what:?}: {why}");
            found.push(Finding::new(path, number, FindingKind::FrontMatter, what, message));
            // What is read behind a mistake is often a mistake of the reader.
            break;
        }
    }
    found
}

fn twice(path: &str, line: usize, key: &str) -> Finding {
    let message = format!("the front matter has the key {key:?} twice");
    Finding::new(path, line, FindingKind::DuplicateKey, key, message)
}

/// The key and the value of a line, if its key is a plain word.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let ends = value.is_empty() || value.starts_with([' ', '\t', '\r']);
    (is_key && ends).then_some((key, value.trim()))
}

/// Says what is wrong with a value, or how many of the lines behind it belong to it.
fn value_fault(value: &str, behind: &[&str]) -> Result<usize, &'static str> {
    if value.contains("{{") || value.contains("{%") {
        return Ok(0);
    }
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(&value[1..], quote, behind),
        Some('@' | '`') => Err("a value that begins so must be in quotes"),
        Some(first) if STRUCTURES.contains(&first) => Ok(0),
        _ => plain(value),
    }
}

fn plain(value: &str) -> Result<usize, &'static str> {
    let value = value.split(" #").next().unwrap_or_default().trim_end();
    match value.contains(": ") || (value.ends_with(':') && !value.ends_with("::")) {
        true => Err("a value with a colon in it must be in quotes"),
        false => Ok(0),
    }
}

/// A value in quotes may go on over many lines.
fn quoted(first: &str, quote: char, behind: &[&str]) -> Result<usize, &'static str> {
    for (count, line) in [first].iter().chain(behind).enumerate() {
        if let Some(end) = quote_end(line, quote) {
            let rest = line[end..].trim();
            let clean = rest.is_empty() || rest.starts_with('#');
            return if clean { Ok(count) } else { Err("there is more behind the closing quote") };
        }
    }
    Err("its quote does not close")
}

/// Behind the closing quote; `""` and `''` are no end, nor is an escaped one.
fn quote_end(line: &str, quote: char) -> Option<usize> {
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote {
            if quote == '\'' && chars.next_if(|(_, next)| *next == quote).is_some() {
                continue;
            }
            return Some(at + 1);
        }
    }
    None
}

fn toml(path: &str, block: &str) -> Vec<Finding> {
    let (mut found, mut keys) = (Vec::new(), HashSet::new());
    // Text over many lines may look like anything.
    if block.contains("\"\"\"") || block.contains("'''") {
        return found;
    }
    for (index, line) in block.lines().enumerate() {
        if line.starts_with('[') {
            break;
        }
        let key = line.split_once('=').map_or("", |(key, _)| key.trim());
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        if is_key && !line.starts_with([' ', '\t']) && !keys.insert(key) {
            found.push(twice(path, index + 1, key));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in front matter of these lines, as `line what`.
    fn found(text: &str) -> Vec<String> {
        check("a.md", text).into_iter().map(|found| format!("{} {}", found.line, found.what)).collect()
    }

    #[test]
    fn good_front_matter() {
        for lines in [
            "title: A",
            "title: \"A: b\" # c",
            "title: 'it''s: so'",
            "title: \"say \\\"x\\\"\"",
            "title: A # b: c",
            "url: https://a.b:80/c",
            "time: 10:30",
            "module: std::",
            "title: \"one\n  two: three\"\nid: x",
            "description: >\n  a: b\n\n  c\ntags: [a, b]\nhero:\n  title: x\n  title: y",
            "tags:\n- a\n- b: c\nid: x",
            "head:\n  - - meta\n    - name: a",
            "title: {{ title }}: x",
            "a b: c\ntitle: x",
            "\"quoted\": x",
            "title:",
            "",
            "Some words between two rules.",
            "key: *alias\nother: &anchor x",
            "list: [\n  a,\n]\nid: x",
        ] {
            assert_eq!(found(&format!("---\n{lines}\n---\nB\n")), Vec::<String>::new(), "{lines}");
            assert_eq!(
                found(&format!("---\r\n{}\r\n---\r\nB", lines.replace('\n', "\r\n"))),
                Vec::<String>::new()
            );
        }
        for text in [
            "---\n\nA rule: and words\n",
            "---\n",
            "# A\n",
            "---\nNote: well\n",
            "+++\na = 1\n[b]\na = 1\n+++\n",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn bad_front_matter() {
        #[track_caller]
        fn bad(lines: &str, expected: &[&str]) {
            assert_eq!(found(&format!("---\n{lines}\n---\nB\n")), expected, "{lines}");
        }
        bad("title: A: b", &["2 title"]);
        bad("id: x\ntitle: A b:", &["3 title"]);
        bad("title: \"A\nid: x", &["2 title"]);
        bad("title: 'it's'", &["2 title"]);
        bad("title: \"A\" b", &["2 title"]);
        bad("title: @a", &["2 title"]);
        bad("title: A\njust words", &["3 just words"]);
        bad("title: A\nid: x\ntitle: B", &["4 title"]);
        assert_eq!(found("---\ntitle: A\n\n# A\n"), ["1 not closed"]);
        assert_eq!(found("+++\na = 1\na = 2\n+++\n"), ["3 a"]);
    }
}
