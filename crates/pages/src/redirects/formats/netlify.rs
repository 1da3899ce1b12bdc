//! Redirects in `netlify.toml`: tables `[[redirects]]`.

use toml::{Table, Value};

use super::{covers, line_ending};
use crate::constructs::lines;
use crate::redirects::existing::Redirect;
use crate::splice::splice;

const HEADER: &str = "[[redirects]]";

pub(crate) fn read(text: &str) -> Option<Vec<Redirect>> {
    let table: Table = text.parse().ok()?;
    let Some(redirects) = table.get("redirects") else { return Some(Vec::new()) };
    let is_redirect = |entry: &&Value| {
        entry.get("status").and_then(Value::as_integer).is_none_or(|status| status / 100 == 3)
    };
    let redirect = |entry: &Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        Some(Redirect::new(text("from")?, text("to")?))
    };
    Some(redirects.as_array()?.iter().filter(is_redirect).filter_map(redirect).collect())
}

/// The first table that covers an address counts, so new ones are in front of such a pattern.
pub(crate) fn add(text: &str, new: &[Redirect]) -> Option<String> {
    let before = read(text)?;
    let end = line_ending(text);
    let at = start_of_pattern(text, new)?;
    let indent = indent(text);
    let table = |redirect: &Redirect| {
        let (from, to) = (Value::from(redirect.from.as_str()), Value::from(redirect.to.as_str()));
        format!("{HEADER}{end}{indent}from = {from}{end}{indent}to = {to}{end}{indent}status = 301{end}")
    };
    let tables: Vec<String> = new.iter().map(table).collect();
    let tables = tables.join(end);
    let insertion = match (at == text.len(), text.is_empty(), text.ends_with('\n')) {
        (false, ..) => format!("{tables}{end}"),
        (true, true, _) => tables,
        (true, false, true) => format!("{end}{tables}"),
        (true, false, false) => format!("{end}{end}{tables}"),
    };
    let after = splice(text, vec![(at..at, insertion)]);
    let mut found = read(&after)?;
    found.retain(|redirect| !new.contains(redirect));
    (found == before).then_some(after)
}

/// The start of the first table that covers one of the addresses, or the end of the text.
fn start_of_pattern(text: &str, new: &[Redirect]) -> Option<usize> {
    let table: Table = text.parse().ok()?;
    let rules = table.get("redirects").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_pattern = |rule: &Value| {
        let from = rule.get("from").and_then(Value::as_str).unwrap_or_default();
        new.iter().any(|redirect| covers(from, &redirect.from))
    };
    let Some(index) = rules.iter().position(is_pattern) else { return Some(text.len()) };
    let headers: Vec<usize> =
        lines(text, 0).filter(|(_, line)| line.trim().starts_with(HEADER)).map(|(at, _)| at).collect();
    (headers.len() == rules.len()).then(|| headers[index])
}

/// The indentation of the keys of the tables.
fn indent(text: &str) -> &str {
    let key = text.lines().find(|line| line.trim_start().starts_with("from"));
    key.map_or("  ", |line| &line[..line.len() - line.trim_start().len()])
}
