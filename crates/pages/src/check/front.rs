//! Front matter that no parser of YAML would take, and keys that are there twice.

use std::collections::HashSet;

use saphyr_parser::Parser;

use super::{Finding, FindingKind};
use crate::frontmatter::FrontMatter;
use crate::splice::line_of;

/// What the parser says that every other parser of YAML would refuse as well, and how it is told.
const FAULTS: &[(&str, &str)] = &[
    ("mapping values are not allowed", "a value with a colon in it must be in quotes"),
    ("invalid indentation in quoted scalar", "its quote does not close"),
    ("while scanning a quoted scalar", "its quote does not close"),
    ("invalid trailing content", "there is more behind the closing quote"),
    ("unexpected character: `@'", "a value that begins so must be in quotes"),
    ("unexpected character: ``'", "a value that begins so must be in quotes"),
    (NO_KEY, "it is no key with a value"),
];
const NO_KEY: &str = "simple key expect";

pub(super) fn check(path: &str, text: &str, front: &FrontMatter) -> Vec<Finding> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = text[start..].lines().next().unwrap_or_default().trim_end();
    let block = &text[start..front.body];
    match first {
        "---" if block.is_empty() => unclosed(path, text, start).into_iter().collect(),
        "---" => yaml(path, block, front.is_readable),
        "+++" if !block.is_empty() && !front.is_readable => toml(path, block).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// A line of dashes at the head is a rule, unless what stands behind it can only be front matter.
fn unclosed(path: &str, text: &str, start: usize) -> Option<Finding> {
    let (key, value) = key_of(text[start..].lines().nth(1)?)?;
    let is_front =
        ["title", "description", "id", "slug", "sidebar_label", "layout", "sidebar_position"].contains(&key);
    let message = "the front matter is not closed by a line of three dashes".to_owned();
    (is_front && !value.is_empty())
        .then(|| Finding::new(path, 1, FindingKind::FrontMatter, "not closed", message))
}

fn yaml(path: &str, block: &str, is_readable: bool) -> Vec<Finding> {
    // The lines between the dashes, numbered as in the file.
    let mut lines: Vec<(usize, &str)> =
        block.lines().enumerate().map(|(index, line)| (index + 1, line)).collect();
    lines = lines[1..lines.len().max(2) - 1].to_vec();
    let mut content = lines.iter().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    // A rule, some words and another rule are no front matter.
    if content.next().is_none_or(|(_, line)| key_of(line).is_none()) {
        return Vec::new();
    }
    let fault = if is_readable { None } else { fault(&lines) };
    let end = fault.as_ref().map_or(usize::MAX, |fault| fault.line);
    let mut keys = HashSet::new();
    let read = lines.iter().filter(|(number, _)| *number <= end);
    let keyed = read.filter_map(|(number, line)| Some((*number, key_of(line)?.0)));
    let again = keyed.filter(|(_, key)| !keys.insert(*key)).map(|(number, key)| twice(path, number, key));
    again.chain(fault).map(|finding| Finding { path: path.to_owned(), ..finding }).collect()
}

/// The first fault; what is read behind it is often a fault of the reader.
fn fault(lines: &[(usize, &str)]) -> Option<Finding> {
    let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    // A template makes something else of it.
    if text.contains("{{") || text.contains("{%") {
        return None;
    }
    let error = Parser::new_from_str(&text).find_map(Result::err)?;
    let (kind, why) = FAULTS.iter().find(|(said, _)| error.info().starts_with(said))?;
    let before = &lines[..lines.len().min(error.marker().line())];
    let mut up = before.iter().rev();
    let (number, line, what) = if *kind == NO_KEY {
        // It was expected to go on.
        let (number, line) = up.find(|(_, line)| !line.contains(':') && !line.trim().is_empty())?;
        (number, line, line.trim())
    } else {
        let (number, line) = before.last()?;
        (number, line, up.find_map(|(_, line)| key_of(line))?.0)
    };
    // `std::` is a text to some.
    if line.trim_end().ends_with("::") {
        return None;
    }
    let message = format!("the front matter cannot be read at {what:?}: {why}");
    Some(Finding::new("", *number, FindingKind::FrontMatter, what, message))
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

fn toml(path: &str, block: &str) -> Option<Finding> {
    let first = block.find('\n')? + 1;
    let inside = &block[first..block.trim_end().rfind('\n')? + 1];
    let error = inside.parse::<toml::Table>().err()?;
    let place = error.span().filter(|_| error.message().starts_with("duplicate key"))?;
    Some(twice(path, line_of(block, first + place.start), inside[place].trim()))
}
