//! Reads data files (JSON, YAML, TOML and redirect lists) into their entries.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::{Construct, ConstructKind, Entry, ScalarType, lines, yaml};

/// Deeper nested data is reported as unknown.
const MAX_DEPTH: usize = 64;

pub(super) fn json(text: &str) -> Vec<Construct> {
    let mut entries = Vec::new();
    let read = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).ok();
    match read.and_then(|value| walk(&value, &mut Vec::new(), &mut entries)) {
        Some(()) if !has_duplicate_keys(text) => entries.into_iter().map(setting).collect(),
        _ => unknown(text),
    }
}

pub(super) fn yaml(text: &str) -> Vec<Construct> {
    let Some(entries) = yaml::entries_with_tags(text.trim_start_matches('\u{feff}')) else {
        return unknown(text);
    };
    let construct =
        |(entry, span): yaml::SpannedEntry| Construct::standard(ConstructKind::Setting(entry), span);
    entries.into_iter().map(construct).collect()
}

pub(super) fn toml(text: &str) -> Vec<Construct> {
    let Some(entries) = toml_entries(text) else { return unknown(text) };
    let construct =
        |(entry, span): yaml::SpannedEntry| Construct::standard(ConstructKind::Setting(entry), span);
    entries.into_iter().map(construct).collect()
}

pub(super) fn toml_entries(text: &str) -> Option<Vec<yaml::SpannedEntry>> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let mut open: Vec<_> = table.into_iter().map(|(key, value)| (vec![key.into_inner()], value)).collect();
    let mut entries = Vec::new();
    while let Some((keys, value)) = open.pop() {
        let span = value.span();
        let raw = || text[span.clone()].to_owned();
        let (value, scalar) = match value.into_inner() {
            DeValue::Table(table) if keys.len() < MAX_DEPTH => {
                let below =
                    table.into_iter().map(|(key, value)| ([&keys[..], &[key.into_inner()]].concat(), value));
                open.extend(below);
                continue;
            }
            DeValue::Table(_) => return None,
            DeValue::Array(values) => {
                open.extend(values.into_iter().map(|value| (keys.clone(), value)));
                continue;
            }
            DeValue::String(text) => (text.into_owned(), ScalarType::Text),
            DeValue::Integer(_) | DeValue::Float(_) => (raw(), ScalarType::Number),
            DeValue::Boolean(_) => (raw(), ScalarType::Boolean),
            DeValue::Datetime(_) => (raw(), ScalarType::Text),
        };
        entries.push((Entry { key: keys.join("."), value, scalar }, span));
    }
    entries.sort_by_key(|(_, span)| span.start);
    Some(entries)
}

/// Lines of `from to [status]`, one redirect each.
pub(super) fn redirect_lines(text: &str) -> Vec<Construct> {
    let rules =
        lines(text, 0).filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let construct = |(at, line): (usize, &str)| {
        let entry =
            Entry { key: "redirects".to_owned(), value: line.trim().to_owned(), scalar: ScalarType::Text };
        Construct::standard(ConstructKind::Setting(entry), at..at + line.trim_end().len())
    };
    rules.map(construct).collect()
}

fn unknown(text: &str) -> Vec<Construct> {
    vec![Construct::standard(ConstructKind::Unknown(text.to_owned()), 0..text.len())]
}

/// The parser reports no spans, and a search for each value would read the whole file each time.
fn setting(entry: Entry) -> Construct {
    Construct::standard(ConstructKind::Setting(entry), 0..0)
}

fn walk<'a>(value: &'a Value, keys: &mut Vec<&'a str>, entries: &mut Vec<Entry>) -> Option<()> {
    if keys.len() >= MAX_DEPTH {
        return None;
    }
    let (text, scalar) = match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.push(key);
                walk(value, keys, entries)?;
                keys.pop();
            }
            return Some(());
        }
        Value::Array(values) => return values.iter().try_for_each(|value| walk(value, keys, entries)),
        Value::String(text) => (text.clone(), ScalarType::Text),
        Value::Number(number) => (number.to_string(), ScalarType::Number),
        Value::Bool(truth) => (truth.to_string(), ScalarType::Boolean),
        Value::Null => (String::new(), ScalarType::Null),
    };
    entries.push(Entry { key: keys.join("."), value: text, scalar });
    Some(())
}

/// Whether an object can have a key twice. Readers differ on which one counts. The parser keeps the last one, so the text
/// then has more keys than the value.
fn has_duplicate_keys(text: &str) -> bool {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(map) => map.len() + map.values().map(count).sum::<usize>(),
            Value::Array(values) => values.iter().map(count).sum(),
            _ => 0,
        }
    }
    let Ok(value) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else { return false };
    count_written_keys(text) != count(&value)
}

/// The number of colons outside of strings.
fn count_written_keys(text: &str) -> usize {
    let (mut keys, mut in_string, mut escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            ':' if !in_string => keys += 1,
            _ => {}
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(found: Vec<Construct>) -> Vec<String> {
        let show = |construct: Construct| match construct.kind {
            ConstructKind::Setting(entry) => format!("{}={}", entry.key, entry.value),
            _ => "unknown".to_owned(),
        };
        found.into_iter().map(show).collect()
    }

    #[test]
    fn entries_of_each_format() {
        assert_eq!(formatted(json("{\"a\": [{\"b\": 1}, \"c\"], \"d\": null}")), ["a.b=1", "a=c", "d="]);
        assert_eq!(formatted(json("{\"a\": \"x:y\", \"a\": 2}")), ["unknown"]);
        assert_eq!(formatted(json("{\"a\": ")), ["unknown"]);
        assert_eq!(formatted(yaml("nav:\n  - A: a.md\n  - b.md\n")), ["nav.A=a.md", "nav=b.md"]);
        assert_eq!(formatted(toml("[[redirects]]\nfrom = \"/a\"\n")), ["redirects.from=/a"]);
        assert_eq!(formatted(redirect_lines("# x\n/a /b 301\n")), ["redirects=/a /b 301"]);
    }
}
