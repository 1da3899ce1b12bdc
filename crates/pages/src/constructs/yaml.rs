//! Reads YAML into its entries. What is more than plain data is not understood: tags, anchors, several documents.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{Entry, Shape};

/// Deeper settings are nobody's.
const MAX_DEPTH: usize = 64;

/// An entry and where its value stands, as a byte range.
pub(super) type Placed = (Entry, std::ops::Range<usize>);

/// The entries of a document; `None` when it is no plain data.
pub(super) fn entries(text: &str) -> Option<Vec<Placed>> {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let place = |index: usize| offsets.get(index).copied().unwrap_or(text.len());
        reader.event(event, place(span.start.index())..place(span.end.index()))?;
    }
    (reader.documents <= 1).then_some(reader.entries)
}

#[derive(Default)]
struct Reader {
    entries: Vec<Placed>,
    stack: Vec<Level>,
    documents: usize,
}

enum Level {
    List,
    /// The key whose value comes next, if it was read.
    Map(Option<String>),
}

impl Reader {
    fn event(&mut self, event: Event<'_>, place: std::ops::Range<usize>) -> Option<()> {
        match event {
            Event::DocumentStart(_) => self.documents += 1,
            Event::Scalar(value, style, anchor, tag) => {
                if anchor != 0 || tag.is_some() {
                    return None;
                }
                self.scalar(value, style, place)?;
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if anchor != 0 || tag.is_some() || self.stack.len() >= MAX_DEPTH =>
            {
                return None;
            }
            Event::SequenceStart(..) => {
                self.is_value()?;
                self.stack.push(Level::List);
            }
            Event::MappingStart(..) => {
                self.is_value()?;
                self.stack.push(Level::Map(None));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.stack.pop();
                self.value_done();
            }
            Event::Alias(_) => return None,
            _ => {}
        }
        Some(())
    }

    /// A list or a map cannot be a key.
    fn is_value(&self) -> Option<()> {
        (!matches!(self.stack.last(), Some(Level::Map(None)))).then_some(())
    }

    fn scalar(
        &mut self,
        value: Cow<'_, str>,
        style: ScalarStyle,
        place: std::ops::Range<usize>,
    ) -> Option<()> {
        if let Some(Level::Map(key @ None)) = self.stack.last_mut() {
            // A merge key takes in another map.
            if value == "<<" {
                return None;
            }
            *key = Some(value.into_owned());
            return Some(());
        }
        let shape = if style == ScalarStyle::Plain { shape(&value) } else { Shape::Text };
        self.entries.push((Entry { key: self.key(), value: value.into_owned(), shape }, place));
        self.value_done();
        Some(())
    }

    fn key(&self) -> String {
        let keys = self.stack.iter().filter_map(|level| match level {
            Level::Map(key) => key.as_deref(),
            Level::List => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    fn value_done(&mut self) {
        if let Some(Level::Map(key)) = self.stack.last_mut() {
            *key = None;
        }
    }
}

fn shape(value: &str) -> Shape {
    match value {
        "" | "~" | "null" => Shape::Nothing,
        "true" | "false" | "yes" | "no" | "on" | "off" => Shape::Truth,
        _ if value.parse::<f64>().is_ok() => Shape::Number,
        _ => Shape::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_data() {
        let text = "title: \"Ä b\"\ntags:\n  - one\n  - two\nhero:\n  order: 3\n";
        let found: Vec<_> = entries(text).unwrap();
        let shown: Vec<_> =
            found.iter().map(|(entry, place)| (entry.key.as_str(), &text[place.clone()])).collect();
        assert_eq!(shown, [("title", "\"Ä b\""), ("tags", "one"), ("tags", "two"), ("hero.order", "3")]);
        assert_eq!(found[3].0.shape, Shape::Number);
    }

    #[test]
    fn more_than_data() {
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
