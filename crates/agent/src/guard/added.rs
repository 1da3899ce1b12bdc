//! What a change adds: the lines that did not stand in the touched files before.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::Change;
use super::stood::{Scope, Stood, is_page};

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    File(&'a str),
    /// The path of a file that was added.
    Name,
    Title,
    Summary,
}

/// One text that is about to leave.
pub(super) struct Text<'a> {
    pub(super) place: Place<'a>,
    pub(super) text: Cow<'a, str>,
    /// Line numbers, counted from 1, and where those lines are.
    pub(super) lines: Vec<(usize, Range<usize>)>,
}

impl<'a> Text<'a> {
    fn new(place: Place<'a>, text: Cow<'a, str>, is_known: impl Fn(&str) -> bool) -> Self {
        let lines = new_lines(&text, is_known);
        Self { place, text, lines }
    }

    pub(super) fn path(&self) -> Option<&'a str> {
        match self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// The line that a byte is on, counted from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// What is said of a line; the title and a name have but one.
    pub(super) fn shown_line(&self, line: usize) -> Option<usize> {
        matches!(self.place, Place::File(_) | Place::Summary).then_some(line)
    }
}

/// The lines of `text` that are not known, with their numbers.
fn new_lines(text: &str, is_known: impl Fn(&str) -> bool) -> Vec<(usize, Range<usize>)> {
    let mut at = 0;
    let mut lines = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if !is_known(line.trim()) {
            lines.push((index + 1, at..at + line.len()));
        }
        at += line.len();
    }
    lines
}

/// Added lines, one behind the other.
pub(super) struct AddedText {
    pub(super) text: String,
    starts: Vec<(usize, usize)>,
}

impl AddedText {
    fn of(text: &str, lines: Vec<(usize, Range<usize>)>) -> Self {
        let mut added = Self { text: String::new(), starts: Vec::new() };
        for (number, range) in lines {
            added.starts.push((added.text.len(), number));
            added.text.push_str(&text[range]);
        }
        added
    }

    pub(super) fn line(&self, offset: usize) -> usize {
        let next = self.starts.partition_point(|(start, _)| *start <= offset);
        next.checked_sub(1).map_or(1, |index| self.starts[index].1)
    }
}

/// All that a change adds, and what was there before.
pub(super) struct Added<'a> {
    pub(super) texts: Vec<Text<'a>>,
    /// The touched files as they were.
    pub(super) before: BTreeMap<&'a str, String>,
    /// The same, to be searched.
    stood: Stood<'a>,
    /// Paths that hold a secret.
    unspeakable: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Added<'a> {
    pub(super) fn of(change: &Change<'a>) -> Self {
        let before = before(change);
        let known: HashSet<&str> = before.values().flat_map(|text| lines_of(text)).collect();
        let mut texts = vec![
            Text::new(Place::Title, Cow::Borrowed(change.title), |_| false),
            Text::new(Place::Summary, Cow::Borrowed(change.summary), |_| false),
        ];
        for (path, bytes) in change.edits {
            let Some(bytes) = bytes else { continue };
            if !before.contains_key(path.as_str()) {
                texts.push(Text::new(Place::Name, Cow::Borrowed(path), |_| false));
            }
            texts.push(Text::new(Place::File(path), readable(bytes), |line| known.contains(line)));
        }
        let stood = Stood::new(&before);
        Self { texts, before, stood, unspeakable: RefCell::default() }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&'a str, &Text<'a>)> {
        self.texts.iter().filter_map(|text| Some((text.path()?, text)))
    }

    /// Whether one of the touched files held already what is now in `text`.
    pub(super) fn was_there(&self, text: &Text<'_>, value: &str) -> bool {
        self.stood.holds(text.path(), Scope::Everywhere, value)
    }

    /// Whether it was as open to readers before as it is now: in the same file, or in a page if it is now in one.
    pub(super) fn was_shown(&self, text: &Text<'_>, value: &str) -> bool {
        let scope = if text.path().is_none_or(is_page) { Scope::Pages } else { Scope::Nowhere };
        self.stood.holds(text.path(), scope, value)
    }

    /// The lines of a text that were not as open to readers before, for each text in turn.
    pub(super) fn newly_shown(&self) -> impl Iterator<Item = (&Text<'a>, AddedText)> {
        let pages = self.before.iter().filter(|(path, _)| is_page(path));
        let pages: HashSet<&str> = pages.flat_map(|(_, text)| lines_of(text)).collect();
        self.texts.iter().map(move |text| {
            let own = text.path().and_then(|path| self.before.get(path));
            let own: HashSet<&str> = own.into_iter().flat_map(|text| lines_of(text)).collect();
            let in_pages = |line: &str| text.path().is_some_and(is_page) && pages.contains(line);
            (
                text,
                AddedText::of(&text.text, new_lines(&text.text, |line| own.contains(line) || in_pages(line))),
            )
        })
    }

    /// From here on the path of `text`, which must be a name, is not shown.
    pub(super) fn hush(&self, text: &Text<'a>) {
        let same = |(path, _): &(&'a str, &Text<'a>)| *path == text.text;
        self.unspeakable.borrow_mut().extend(self.files().find(same).map(|(path, _)| path));
    }

    pub(super) fn unspeakable(&self, path: &str) -> bool {
        self.unspeakable.borrow().contains(path)
    }
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim)
}

/// A file that cannot be read counts as new: all of it is judged.
fn before<'a>(change: &Change<'a>) -> BTreeMap<&'a str, String> {
    let read = |path: &'a String| {
        let bytes = change.base.read(path, usize::MAX).ok()?;
        Some((path.as_str(), readable(&bytes).into_owned()))
    };
    change.edits.keys().filter_map(read).collect()
}

/// Bytes that are no text are judged as if they were; without NUL, so that UTF-16 can be read, too.
fn readable(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Cow::Borrowed(text),
        _ => Cow::Owned(String::from_utf8_lossy(bytes).replace('\0', "")),
    }
}

#[cfg(test)]
mod tests {
    use pages::MemoryTree;

    use super::*;
    use crate::Instructions;

    #[test]
    fn only_what_was_not_there_is_new() {
        let base = MemoryTree::new([("a.md", "one\ntwo\n"), ("b.md", "three\n")]);
        let edits = BTreeMap::from([
            ("a.md".to_owned(), Some(b"two\nnew\n  three\n".to_vec())),
            ("b.md".to_owned(), None),
        ]);
        let change = Change {
            base: &base,
            vocabulary: &crate::Vocabulary::default(),
            edits: &edits,
            asked: &Instructions::default(),
            title: "",
            summary: "",
        };
        let added = Added::of(&change);
        let (_, text) = added.files().next().unwrap();
        assert_eq!(text.lines, [(2, 4..8)]);
    }

    #[test]
    fn what_was_not_shown_is_newly_shown() {
        let base = MemoryTree::new([("a.md", "one\n"), ("b.tf", "two\n"), ("c.md", "three\n")]);
        let text = Some(b"one\ntwo\n three\nnew\n".to_vec());
        let edits = ["a.md", "b.tf", "c.md"].map(|path| (path.to_owned(), text.clone()));
        let edits = BTreeMap::from(edits);
        let asked = &Instructions::default();
        let vocabulary = &crate::Vocabulary::default();
        let added =
            Added::of(&Change { base: &base, vocabulary, edits: &edits, asked, title: "", summary: "" });
        let new: Vec<_> = added.newly_shown().skip(2).map(|(_, new)| new).collect();
        let texts: Vec<_> = new.iter().map(|new| new.text.as_str()).collect();
        assert_eq!(texts, ["two\nnew\n", "one\n three\nnew\n", "two\nnew\n"]);
        assert_eq!((new[0].line(0), new[0].line(4)), (2, 4));
    }

    #[test]
    fn utf_16_is_read() {
        let bytes: Vec<u8> = "key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(readable(&bytes), "key");
    }
}
