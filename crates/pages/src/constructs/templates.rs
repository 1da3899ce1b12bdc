//! Finds marks of template languages, which some generators fill in everywhere.

use std::ops::Range;

use super::ConstructKind;

/// The start and the end of each mark.
const MARKS: &[(&str, &str)] = &[("{{", "}}"), ("{%", "%}"), ("{!", "!}"), ("{#", "#}")];

/// The marks in a line of code.
pub(super) fn in_code(line: &str) -> impl Iterator<Item = Range<usize>> {
    let marks = if line.contains('{') { MARKS } else { &[] };
    marks.iter().flat_map(move |(open, close)| between(line, open, close))
}

/// The marks in a line of reStructuredText or AsciiDoc. Two braces are common text there, shortcodes are not.
pub(super) fn in_line(line: &str) -> impl Iterator<Item = ConstructKind> {
    in_code(line).map(|range| {
        let text = line[range].to_owned();
        match ["{{<", "{{%", "{%"].iter().any(|open| text.starts_with(open)) {
            true => ConstructKind::Template(text),
            false => ConstructKind::TemplateInCode { text, is_fenced: true },
        }
    })
}

fn between<'a>(
    line: &'a str,
    open: &'static str,
    close: &'static str,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut at = 0;
    let next = move || {
        let start = at + line[at..].find(open)?;
        let end = line[start..].find(close).map(|length| start + length + close.len());
        at = end.unwrap_or(line.len());
        // An escaped shortcode of Hugo.
        let is_escaped = ["{{</*", "{{%/*"].iter().any(|mark| line[start..].starts_with(mark));
        // Two braces can close on a later line. The others have no effect unless they close.
        Some((start..at, !is_escaped && (end.is_some() || open == "{{" || open == "{%")))
    };
    std::iter::from_fn(next).filter(|(_, counts)| *counts).map(|(range, _)| range)
}
