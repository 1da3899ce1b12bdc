//! Reads YAML into its entries. Tags, anchors and several documents are more than plain data, and are not understood.

use std::borrow::Cow;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{Entry, ScalarType};

/// Deeper nested data is not understood.
const MAX_DEPTH: usize = 64;

/// An entry and the byte range of its value.
pub(super) type SpannedEntry = (Entry, Range<usize>);

/// The entries of a document. `None` when it is not plain data.
pub(super) fn entries(text: &str) -> Option<Vec<SpannedEntry>> {
    read(text, Reader::default())
}

/// The same for settings. Tags, anchors and aliases become part of the values: their effect is unknown, but a comparison
/// of the values shows whether they changed.
pub(super) fn entries_with_tags(text: &str) -> Option<Vec<SpannedEntry>> {
    read(text, Reader { keeps_tags: true, ..Reader::default() })
}

fn read(text: &str, mut reader: Reader) -> Option<Vec<SpannedEntry>> {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // A directive changes the meaning of tags.
    if text.lines().any(|line| line.starts_with('%')) {
        return None;
    }
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let offset = |index: usize| offsets.get(index).copied().unwrap_or(text.len());
        reader.read_event(event, offset(span.start.index())..offset(span.end.index()))?;
    }
    (reader.documents <= 1).then_some(reader.entries)
}

#[derive(Default)]
struct Reader {
    entries: Vec<SpannedEntry>,
    stack: Vec<Level>,
    documents: usize,
    keeps_tags: bool,
}

enum Level {
    List,
    /// The key whose value comes next. `None` before the key.
    Map(Option<String>),
}

impl Reader {
    fn read_event(&mut self, event: Event<'_>, span: Range<usize>) -> Option<()> {
        match event {
            Event::DocumentStart(_) => self.documents += 1,
            Event::Scalar(value, style, anchor, tag) => match format_tag(anchor, tag.as_deref()) {
                None => self.read_scalar(value, style, span)?,
                Some(mark) => self.read_tagged(format!("{mark} {value}"), span)?,
            },
            Event::SequenceStart(anchor, tag) => {
                self.begin(Level::List, format_tag(anchor, tag.as_deref()), span)?
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Level::Map(None), format_tag(anchor, tag.as_deref()), span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.stack.pop();
                self.end_value();
            }
            Event::Alias(anchor) => self.read_tagged(format!("*{anchor}"), span)?,
            _ => {}
        }
        Some(())
    }

    /// A scalar with a tag or an anchor, or an alias.
    fn read_tagged(&mut self, value: String, span: Range<usize>) -> Option<()> {
        if self.keeps_tags { self.read_scalar(value.into(), ScalarStyle::DoubleQuoted, span) } else { None }
    }

    fn begin(&mut self, level: Level, mark: Option<String>, span: Range<usize>) -> Option<()> {
        self.require_value()?;
        if let Some(value) = mark {
            let entry = Entry { key: self.key(), value, scalar: ScalarType::Text };
            self.keeps_tags.then(|| self.entries.push((entry, span)))?;
        }
        self.stack.push(level);
        (self.stack.len() <= MAX_DEPTH).then_some(())
    }

    /// `None` for a list or a map in the position of a key.
    fn require_value(&self) -> Option<()> {
        (!matches!(self.stack.last(), Some(Level::Map(None)))).then_some(())
    }

    fn read_scalar(&mut self, value: Cow<'_, str>, style: ScalarStyle, span: Range<usize>) -> Option<()> {
        if let Some(Level::Map(key @ None)) = self.stack.last_mut() {
            // A merge key includes another map.
            if value == "<<" && !self.keeps_tags {
                return None;
            }
            *key = Some(value.into_owned());
            return Some(());
        }
        let scalar = if style == ScalarStyle::Plain { scalar_type(&value) } else { ScalarType::Text };
        self.entries.push((Entry { key: self.key(), value: value.into_owned(), scalar }, span));
        self.end_value();
        Some(())
    }

    fn key(&self) -> String {
        let keys = self.stack.iter().filter_map(|level| match level {
            Level::Map(key) => key.as_deref(),
            Level::List => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    fn end_value(&mut self) {
        if let Some(Level::Map(key)) = self.stack.last_mut() {
            *key = None;
        }
    }
}

/// An anchor and a tag as text.
fn format_tag(anchor: usize, tag: Option<&Tag>) -> Option<String> {
    let tag = tag.map(|tag| format!("!<{}{}>", tag.handle, tag.suffix));
    let anchor = (anchor != 0).then(|| format!("&{anchor}"));
    match (anchor, tag) {
        (None, None) => None,
        (anchor, tag) => Some(anchor.into_iter().chain(tag).collect::<Vec<_>>().join(" ")),
    }
}

fn scalar_type(value: &str) -> ScalarType {
    match value {
        "" | "~" | "null" => ScalarType::Null,
        "true" | "false" | "yes" | "no" | "on" | "off" => ScalarType::Boolean,
        _ if value.parse::<f64>().is_ok() => ScalarType::Number,
        _ => ScalarType::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_data_has_entries() {
        let text = "title: \"Ä b\"\ntags:\n  - one\n  - two\nhero:\n  order: 3\n";
        let found: Vec<_> = entries(text).unwrap();
        let found_values: Vec<_> =
            found.iter().map(|(entry, span)| (entry.key.as_str(), &text[span.clone()])).collect();
        assert_eq!(
            found_values,
            [("title", "\"Ä b\""), ("tags", "one"), ("tags", "two"), ("hero.order", "3")]
        );
        assert_eq!(found[3].0.scalar, ScalarType::Number);
    }

    #[test]
    fn more_than_plain_data_is_refused() {
        for text in [
            "a: !!python/name:os.system",
            "a: &x b\nc: *x",
            "<<: {a: b}",
            "a: b\n---\nc: d",
            "? [a]\n: b",
            "a: [",
            "a: b: c",
        ] {
            assert_eq!(entries(text), None, "{text}");
        }
    }
}
