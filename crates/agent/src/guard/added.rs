//! What a change adds: the lines that did not stand in the touched files before.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::Change;

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
    fn new(place: Place<'a>, text: Cow<'a, str>, known: &HashSet<&str>) -> Self {
        let mut at = 0;
        let mut lines = Vec::new();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            if !known.contains(line.trim()) {
                lines.push((index + 1, at..at + line.len()));
            }
            at += line.len();
        }
        Self { place, text, lines }
    }

    pub(super) fn path(&self) -> Option<&'a str> {
        match self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// The added lines alone.
    pub(super) fn added(&self) -> AddedText {
        let mut added = AddedText { text: String::new(), starts: Vec::new() };
        for (number, range) in &self.lines {
            added.starts.push((added.text.len(), *number));
            added.text.push_str(&self.text[range.clone()]);
        }
        added
    }

    /// The line of an offset in the text, when it was added.
    pub(super) fn added_line(&self, offset: usize) -> Option<usize> {
        let next = self.lines.partition_point(|(_, range)| range.start <= offset);
        let (number, range) = self.lines.get(next.checked_sub(1)?)?;
        range.contains(&offset).then_some(*number)
    }

    /// The line of an offset in what is shown of the text, where blanks may stand elsewhere on their line: it need not be
    /// between two letters.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// What is said of a line; the title and a name have but one.
    pub(super) fn shown_line(&self, line: usize) -> Option<usize> {
        matches!(self.place, Place::File(_) | Place::Summary).then_some(line)
    }
}

/// Added lines, one behind the other.
pub(super) struct AddedText {
    pub(super) text: String,
    starts: Vec<(usize, usize)>,
}

impl AddedText {
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
    /// Whether these were there, in one file or another.
    answered: RefCell<HashMap<String, bool>>,
    /// Paths that hold a secret.
    unspeakable: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Added<'a> {
    pub(super) fn of(change: &Change<'a>) -> Self {
        let before = before(change);
        let known: HashSet<&str> = before.values().flat_map(|text| text.lines()).map(str::trim).collect();
        let nothing = HashSet::new();
        let mut texts = vec![
            Text::new(Place::Title, Cow::Borrowed(change.title), &nothing),
            Text::new(Place::Summary, Cow::Borrowed(change.summary), &nothing),
        ];
        for (path, bytes) in change.edits {
            let Some(bytes) = bytes else { continue };
            if !before.contains_key(path.as_str()) {
                texts.push(Text::new(Place::Name, Cow::Borrowed(path), &nothing));
            }
            texts.push(Text::new(Place::File(path), readable(bytes), &known));
        }
        Self { texts, before, answered: RefCell::default(), unspeakable: RefCell::default() }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&'a str, &Text<'a>)> {
        self.texts.iter().filter_map(|text| Some((text.path()?, text)))
    }

    /// Whether one of the touched files held already what is now in `text`. Mostly it stood in the same file, or is
    /// asked for again and again: to look through all of them each time would take time by the square of their number.
    pub(super) fn was_there(&self, text: &Text<'_>, value: &str) -> bool {
        let holds = |text: &String| text.contains(value);
        if text.path().and_then(|path| self.before.get(path)).is_some_and(holds) {
            return true;
        }
        let answered = self.answered.borrow().get(value).copied();
        answered.unwrap_or_else(|| {
            let answer = self.before.values().any(holds);
            self.answered.borrow_mut().insert(value.to_owned(), answer);
            answer
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

    #[test]
    fn only_what_was_not_there_is_new() {
        let base = MemoryTree::new([("a.md", "one\ntwo\n"), ("b.md", "three\n")]);
        let edits = BTreeMap::from([
            ("a.md".to_owned(), Some(b"two\nnew\n  three\n".to_vec())),
            ("b.md".to_owned(), None),
        ]);
        let change = Change { base: &base, edits: &edits, asked: "", title: "", summary: "" };
        let added = Added::of(&change);
        let (_, text) = added.files().next().unwrap();
        let new = text.added();
        assert_eq!(new.text, "new\n");
        assert_eq!(new.line(0), 2);
        assert_eq!((text.added_line(0), text.added_line(4)), (None, Some(2)));
    }

    #[test]
    fn utf_16_is_read() {
        let bytes: Vec<u8> = "key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(readable(&bytes), "key");
    }
}
