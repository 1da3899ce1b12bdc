//! Checks front matter: syntax that all YAML parsers refuse, and duplicate keys.

use std::collections::HashSet;

use saphyr_parser::Parser;

use super::problem::{Problem, ProblemKind};
use crate::frontmatter::FrontMatter;
use crate::splice::line_of;

/// Errors of the parser that every YAML parser reports, and their explanations.
const SYNTAX_ERRORS: &[(&str, &str)] = &[
    ("mapping values are not allowed", "put a value that contains a colon in quotes"),
    ("invalid indentation in quoted scalar", "close the quote"),
    ("while scanning a quoted scalar", "close the quote"),
    ("invalid trailing content", "remove the text after the closing quote"),
    ("unexpected character: `@'", "put a value that begins with @ in quotes"),
    ("unexpected character: ``'", "put a value that begins with a backtick in quotes"),
    (NO_KEY, "the line is not a key with a value"),
];
const NO_KEY: &str = "simple key expect";

pub(super) fn check(path: &str, text: &str, front: &FrontMatter) -> Vec<Problem> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = text[start..].lines().next().unwrap_or_default().trim_end();
    let block = &text[start..front.body_start];
    match first {
        "---" if block.is_empty() => check_unclosed(path, text, start).into_iter().collect(),
        "---" => check_yaml(path, block, front.is_readable),
        "+++" if !block.is_empty() && !front.is_readable => check_toml(path, block).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Dashes at the beginning of a page are a thematic break, unless the next line can only be front matter.
fn check_unclosed(path: &str, text: &str, start: usize) -> Option<Problem> {
    let (key, value) = key_and_value(text[start..].lines().nth(1)?)?;
    let is_front =
        ["title", "description", "id", "slug", "sidebar_label", "layout", "sidebar_position"].contains(&key);
    let message = "the front matter is not closed; add a line of three dashes after it".to_owned();
    (is_front && !value.is_empty())
        .then(|| Problem::new(path, 1, ProblemKind::FrontMatter, "not closed", message))
}

fn check_yaml(path: &str, block: &str, is_readable: bool) -> Vec<Problem> {
    // The lines between the dashes, numbered as in the file.
    let mut lines: Vec<(usize, &str)> =
        block.lines().enumerate().map(|(index, line)| (index + 1, line)).collect();
    lines = lines[1..lines.len().max(2) - 1].to_vec();
    let mut content = lines.iter().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    // Two thematic breaks with text in between are not front matter.
    if content.next().is_none_or(|(_, line)| key_and_value(line).is_none()) {
        return Vec::new();
    }
    let error = if is_readable { None } else { first_syntax_error(&lines) };
    let end = error.as_ref().map_or(usize::MAX, |error| error.line);
    let mut keys = HashSet::new();
    let read = lines.iter().filter(|(number, _)| *number <= end);
    let keyed = read.filter_map(|(number, line)| Some((*number, key_and_value(line)?.0)));
    let duplicates = keyed.filter(|(_, key)| !keys.insert(*key));
    let duplicates = duplicates.map(|(number, key)| duplicate_key(path, number, key));
    duplicates.chain(error).map(|problem| Problem { path: path.to_owned(), ..problem }).collect()
}

/// The first syntax error. Errors after it are often caused by it.
fn first_syntax_error(lines: &[(usize, &str)]) -> Option<Problem> {
    let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    // A template changes the text before it is parsed.
    if text.contains("{{") || text.contains("{%") {
        return None;
    }
    let error = Parser::new_from_str(&text).find_map(Result::err)?;
    let (kind, advice) = SYNTAX_ERRORS.iter().find(|(start, _)| error.info().starts_with(start))?;
    let before = &lines[..lines.len().min(error.marker().line())];
    let mut up = before.iter().rev();
    let (number, line, what) = if *kind == NO_KEY {
        // The error is reported where the value should continue.
        let (number, line) = up.find(|(_, line)| !line.contains(':') && !line.trim().is_empty())?;
        (number, line, line.trim())
    } else {
        let (number, line) = before.last()?;
        (number, line, up.find_map(|(_, line)| key_and_value(line))?.0)
    };
    // Some parsers read `std::` as text.
    if line.trim_end().ends_with("::") {
        return None;
    }
    let message = format!("the front matter cannot be read at {what:?}: {advice}");
    Some(Problem::new("", *number, ProblemKind::FrontMatter, what, message))
}

fn duplicate_key(path: &str, line: usize, key: &str) -> Problem {
    let message = format!("the front matter has the key {key:?} twice");
    Problem::new(path, line, ProblemKind::DuplicateKey, key, message)
}

/// The key and the value of a line, if its key is a plain word.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let ends = value.is_empty() || value.starts_with([' ', '\t', '\r']);
    (is_key && ends).then_some((key, value.trim()))
}

fn check_toml(path: &str, block: &str) -> Option<Problem> {
    let first = block.find('\n')? + 1;
    let inside = &block[first..block.trim_end().rfind('\n')? + 1];
    let error = inside.parse::<toml::Table>().err()?;
    let span = error.span().filter(|_| error.message().starts_with("duplicate key"))?;
    Some(duplicate_key(path, line_of(block, first + span.start), inside[span].trim()))
}
