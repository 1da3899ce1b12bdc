//! Parses the front matter of a page: the block of YAML or TOML at its beginning.
//!
//! Each value has its key and its range in the file. A block has no values if it is malformed or nested too deeply, or
//! if its YAML has tags, anchors, directives or several documents.

use std::ops::Range;

use crate::WordList;
use crate::constructs::{Entry, lines, toml_entries, yaml_entries};

/// Keys whose values are prose. The values of other keys are names for the site generator.
const PROSE_KEYS: WordList = WordList(
    "title subtitle description summary excerpt label sidebar_label sidebartitle text tagline tags keywords",
);

/// Keys that give a page another address.
pub(crate) const ADDRESS_KEYS: WordList =
    WordList("id slug permalink url aliases redirect_from redirects redirectFrom");

/// The front matter of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// Where the body begins: after the block, or after a byte-order mark when there is no block.
    pub body_start: usize,
    pub values: Vec<Value>,
    /// Other addresses of the page.
    pub(crate) addresses: Vec<String>,
    /// Whether the block can be parsed. `true` when there is none.
    pub(crate) is_readable: bool,
}

/// A value without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub key: String,
    /// The top-level key above it, or its own key.
    pub top: String,
    pub range: Range<usize>,
    pub quote: Option<char>,
}

impl FrontMatter {
    pub fn parse(text: &str) -> Self {
        Self::parse_if(text, |_| true)
    }

    /// Only the addresses. A block without address keys is not parsed.
    pub(crate) fn addresses_in(text: &str) -> Vec<String> {
        let has_address_key = |line: &str| {
            let name = line.trim_start_matches([' ', '-']).split([':', '=']).next().unwrap_or_default();
            ADDRESS_KEYS.contains(name.trim_matches([' ', '"', '\'']))
        };
        Self::parse_if(text, |block| block.lines().any(has_address_key)).addresses
    }

    fn parse_if(text: &str, is_wanted: impl Fn(&str) -> bool) -> Self {
        let body_start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        block(text, body_start, is_wanted).unwrap_or(Self {
            body_start,
            is_readable: true,
            ..Self::default()
        })
    }

    /// Whether a generator can find front matter in a page that has none for [`FrontMatter::parse`]: JSON, or a block behind
    /// empty lines.
    pub(crate) fn may_have_other(text: &str) -> bool {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        ["---", "+++", "{"].iter().any(|mark| start.starts_with(mark)) && block_mark(text).is_none()
    }

    /// Whether a change puts a block in front of front matter of another kind, which then has no effect.
    pub fn is_displaced(before: &str, after: &str) -> bool {
        let (old, new) = (block_mark(before), block_mark(after));
        new.is_some() && old != new && (old.is_some() || Self::may_have_other(before))
    }

    /// The source text of a value.
    pub fn get<'a>(&self, text: &'a str, key: &str) -> Option<&'a str> {
        let value = self.values.iter().find(|value| value.key == key)?;
        text.get(value.range.clone())
    }
}

impl Value {
    /// Whether the value is prose for readers: its key is one of a few, and it is not a path or an address.
    pub fn is_prose(&self, text: &str) -> bool {
        let key = self.key.to_ascii_lowercase();
        let value = text.get(self.range.clone()).unwrap_or_default();
        let address = value.contains('/') && !value.contains(' ');
        !address && (PROSE_KEYS.contains(&key) || (key == "name" && self.top == "hero"))
    }

    /// Whether `new` can replace this value and still be parsed as text.
    pub fn can_hold(&self, new: &str) -> bool {
        match self.quote {
            _ if new.contains(['\n', '\r']) => false,
            Some('"') => !new.contains(['"', '\\']),
            Some(quote) => !new.contains(quote),
            None => {
                let special = |c| "[]{}&*!|>'\"%@`#,?:-".contains(c);
                !new.contains(": ") && !new.contains(" #") && !new.starts_with(special) && !new.ends_with(':')
            }
        }
    }
}

/// The line that opens the block.
fn block_mark(text: &str) -> Option<&str> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    block(text, start, |_| false).and_then(|_| lines(text, start).next()).map(|(_, line)| line.trim_end())
}

fn block(text: &str, start: usize, is_wanted: impl Fn(&str) -> bool) -> Option<FrontMatter> {
    let mut lines = lines(text, start);
    let (_, first) = lines.next()?;
    let (ends, read): (&[&str], Read) = match first.trim_end() {
        "---" => (&["---", "..."], yaml_entries),
        "+++" => (&["+++"], toml_entries),
        _ => return None,
    };
    let (end, last) = lines.find(|(_, line)| ends.contains(&line.trim_end()))?;
    let inside = start + first.len();
    let block = &text[inside..end];
    let entries = if is_wanted(block) { read(block) } else { Some(Vec::new()) };
    let is_readable = entries.is_some();
    let entries = entries.unwrap_or_default();
    let values =
        entries.iter().flat_map(|(entry, span)| values(text, entry, inside + span.start..inside + span.end));
    let with_address =
        entries.iter().map(|(entry, _)| entry).filter(|entry| ADDRESS_KEYS.contains(last_key(entry)));
    let addresses =
        with_address.map(|entry| entry.value.clone()).filter(|address| !address.is_empty()).collect();
    Some(FrontMatter { body_start: end + last.len(), values: values.collect(), addresses, is_readable })
}

type Read = fn(&str) -> Option<Vec<(Entry, Range<usize>)>>;

fn last_key(entry: &Entry) -> &str {
    entry.key.rsplit('.').next().unwrap_or_default()
}

/// The values of an entry: one, or one for each line. An item of a list in brackets has none.
fn values(text: &str, entry: &Entry, span: Range<usize>) -> Vec<Value> {
    let (before, after) = (&text[..span.start], text[span.end..].trim_start_matches(' '));
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    if line.contains(['[', '{']) || after.starts_with([',', ']', '}']) {
        return Vec::new();
    }
    let value = |(range, quote)| Value {
        key: last_key(entry).to_owned(),
        top: entry.key.split('.').next().unwrap_or_default().to_owned(),
        range,
        quote,
    };
    let whole = literal_range(text, span.start, &entry.value);
    let found = whole.map_or_else(|| literal_lines(text, entry, span), |whole| vec![whole]);
    found.into_iter().filter(|(range, _)| !range.is_empty()).map(value).collect()
}

/// The lines of a value that continues over several: literal (`|`), folded (`>`) or plain.
fn literal_lines(text: &str, entry: &Entry, span: Range<usize>) -> Vec<(Range<usize>, Option<char>)> {
    let is_quoted = text[span.clone()].starts_with(['"', '\'']);
    let found = lines(&text[..span.end], span.start).filter_map(|(at, line)| {
        let words = line.trim();
        let start = at + line.len() - line.trim_start().len();
        // The indicator of a block scalar is not part of its value. The lines of a quoted value can have quotes and
        // escapes, so they are not literal.
        (entry.value.contains(words) && !is_quoted).then_some((start..start + words.len(), None))
    });
    found.collect()
}

/// The range of a value at `start` without its quotes, and its quote. `None` unless the value is written literally: on one
/// line, without escapes.
pub(crate) fn literal_range(text: &str, start: usize, value: &str) -> Option<(Range<usize>, Option<char>)> {
    let quote = text.get(start..)?.chars().next().filter(|c| matches!(c, '"' | '\''));
    let start = start + usize::from(quote.is_some());
    let range = start..start + value.len();
    (text.get(range.clone()) == Some(value) && !value.contains('\n')).then_some((range, quote))
}
