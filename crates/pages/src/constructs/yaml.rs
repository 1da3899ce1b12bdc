//! Reads YAML into its entries. What is more than plain data is not understood: tags, anchors, several documents.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{Entry, Shape};

/// Deeper settings are nobody's.
const MAX_DEPTH: usize = 64;

/// An entry and where its value stands, as a byte range.
pub(super) type Placed = (Entry, std::ops::Range<usize>);

/// The entries of a document; `None` when it is no plain data.
pub(super) fn entries(text: &str) -> Option<Vec<Placed>> {
    read(text, Reader::default())
}

/// The same for settings, where tags, anchors and aliases are part of the values: what they do is not known, but whether
/// they are as they were.
pub(super) fn marked_entries(text: &str) -> Option<Vec<Placed>> {
    read(text, Reader { keeps_marks: true, ..Reader::default() })
}

fn read(text: &str, mut reader: Reader) -> Option<Vec<Placed>> {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // A directive gives tags another meaning.
    if text.lines().any(|line| line.starts_with('%')) {
        return None;
    }
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
    keeps_marks: bool,
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
            Event::Scalar(value, style, anchor, tag) => match mark(anchor, tag.as_deref()) {
                None => self.scalar(value, style, place)?,
                Some(mark) => self.marked(format!("{mark} {value}"), place)?,
            },
            Event::SequenceStart(anchor, tag) => {
                self.begin(Level::List, mark(anchor, tag.as_deref()), place)?
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Level::Map(None), mark(anchor, tag.as_deref()), place)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.stack.pop();
                self.value_done();
            }
            Event::Alias(anchor) => self.marked(format!("*{anchor}"), place)?,
            _ => {}
        }
        Some(())
    }

    /// A scalar that is more than it says.
    fn marked(&mut self, value: String, place: std::ops::Range<usize>) -> Option<()> {
        if self.keeps_marks { self.scalar(value.into(), ScalarStyle::DoubleQuoted, place) } else { None }
    }

    fn begin(&mut self, level: Level, mark: Option<String>, place: std::ops::Range<usize>) -> Option<()> {
        self.is_value()?;
        if let Some(value) = mark {
            let entry = Entry { key: self.key(), value, shape: Shape::Text };
            self.keeps_marks.then(|| self.entries.push((entry, place)))?;
        }
        self.stack.push(level);
        (self.stack.len() <= MAX_DEPTH).then_some(())
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
            if value == "<<" && !self.keeps_marks {
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

/// An anchor and a tag, as they are told apart.
fn mark(anchor: usize, tag: Option<&Tag>) -> Option<String> {
    let tag = tag.map(|tag| format!("!<{}{}>", tag.handle, tag.suffix));
    let anchor = (anchor != 0).then(|| format!("&{anchor}"));
    match (anchor, tag) {
        (None, None) => None,
        (anchor, tag) => Some(anchor.into_iter().chain(tag).collect::<Vec<_>>().join(" ")),
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
