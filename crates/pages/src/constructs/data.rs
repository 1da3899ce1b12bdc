//! Reads data files into their entries.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::{Construct, ConstructKind, Entry, Shape, lines, yaml};

const MAX_DEPTH: usize = 64;

pub(super) fn json(text: &str) -> Vec<Construct> {
    let mut entries = Vec::new();
    let read = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).ok();
    match read.and_then(|value| walk(&value, &mut Vec::new(), &mut entries)) {
        Some(()) if !has_twin_keys(text) => entries.into_iter().map(setting).collect(),
        _ => unknown(text),
    }
}

pub(super) fn yaml(text: &str) -> Vec<Construct> {
    let Some(entries) = yaml::marked_entries(text.trim_start_matches('\u{feff}')) else {
        return unknown(text);
    };
    let construct = |(entry, place): yaml::Placed| Construct::standard(ConstructKind::Setting(entry), place);
    entries.into_iter().map(construct).collect()
}

pub(super) fn toml(text: &str) -> Vec<Construct> {
    let Some(entries) = toml_entries(text) else { return unknown(text) };
    let construct = |(entry, place): yaml::Placed| Construct::standard(ConstructKind::Setting(entry), place);
    entries.into_iter().map(construct).collect()
}

pub(super) fn toml_entries(text: &str) -> Option<Vec<yaml::Placed>> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let mut open: Vec<_> = table.into_iter().map(|(key, value)| (vec![key.into_inner()], value)).collect();
    let mut entries = Vec::new();
    while let Some((keys, value)) = open.pop() {
        let place = value.span();
        let raw = || text[place.clone()].to_owned();
        let (value, shape) = match value.into_inner() {
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
            DeValue::String(text) => (text.into_owned(), Shape::Text),
            DeValue::Integer(_) | DeValue::Float(_) => (raw(), Shape::Number),
            DeValue::Boolean(_) => (raw(), Shape::Truth),
            DeValue::Datetime(_) => (raw(), Shape::Text),
        };
        entries.push((Entry { key: keys.join("."), value, shape }, place));
    }
    entries.sort_by_key(|(_, place)| place.start);
    Some(entries)
}

/// `from to [status]`, a redirect each.
pub(super) fn redirect_lines(text: &str) -> Vec<Construct> {
    let rules =
        lines(text, 0).filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let construct = |(at, line): (usize, &str)| {
        let entry = Entry { key: "redirects".to_owned(), value: line.trim().to_owned(), shape: Shape::Text };
        Construct::standard(ConstructKind::Setting(entry), at..at + line.trim_end().len())
    };
    rules.map(construct).collect()
}

fn unknown(text: &str) -> Vec<Construct> {
    vec![Construct::standard(ConstructKind::Unknown(text.to_owned()), 0..text.len())]
}

/// The parser tells no places, and a search for each value would read the file once for each.
fn setting(entry: Entry) -> Construct {
    Construct::standard(ConstructKind::Setting(entry), 0..0)
}

fn walk<'a>(value: &'a Value, keys: &mut Vec<&'a str>, entries: &mut Vec<Entry>) -> Option<()> {
    if keys.len() >= MAX_DEPTH {
        return None;
    }
    let (text, shape) = match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.push(key);
                walk(value, keys, entries)?;
                keys.pop();
            }
            return Some(());
        }
        Value::Array(values) => return values.iter().try_for_each(|value| walk(value, keys, entries)),
        Value::String(text) => (text.clone(), Shape::Text),
        Value::Number(number) => (number.to_string(), Shape::Number),
        Value::Bool(truth) => (truth.to_string(), Shape::Truth),
        Value::Null => (String::new(), Shape::Nothing),
    };
    entries.push(Entry { key: keys.join("."), value: text, shape });
    Some(())
}

/// Whether an object may have a key twice: readers differ on which of them counts. The parser keeps the last, so that
/// the text has more strings than the value.
fn has_twin_keys(text: &str) -> bool {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(map) => map.len() + map.values().map(count).sum::<usize>(),
            Value::Array(values) => values.iter().map(count).sum(),
            _ => 0,
        }
    }
    let Ok(value) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else { return false };
    keys_written(text) != count(&value)
}

/// How many colons stand behind a string that is a key.
fn keys_written(text: &str) -> usize {
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

    fn shown(found: Vec<Construct>) -> Vec<String> {
        let show = |construct: Construct| match construct.kind {
            ConstructKind::Setting(entry) => format!("{}={}", entry.key, entry.value),
            _ => "unknown".to_owned(),
        };
        found.into_iter().map(show).collect()
    }

    #[test]
    fn entries() {
        assert_eq!(shown(json("{\"a\": [{\"b\": 1}, \"c\"], \"d\": null}")), ["a.b=1", "a=c", "d="]);
        assert_eq!(shown(json("{\"a\": \"x:y\", \"a\": 2}")), ["unknown"]);
        assert_eq!(shown(json("{\"a\": ")), ["unknown"]);
        assert_eq!(shown(yaml("nav:\n  - A: a.md\n  - b.md\n")), ["nav.A=a.md", "nav=b.md"]);
        assert_eq!(shown(toml("[[redirects]]\nfrom = \"/a\"\n")), ["redirects.from=/a"]);
        assert_eq!(shown(redirect_lines("# x\n/a /b 301\n")), ["redirects=/a /b 301"]);
    }
}
