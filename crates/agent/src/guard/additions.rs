//! Determines what a change adds: the lines that the touched files did not have before.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::base_text::{BaseText, Scope, is_page};
use super::change::Change;

/// The location of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location<'a> {
    File(&'a str),
    /// The path of an added file.
    FileName,
    Title,
    Summary,
}

/// A text that would be published.
pub(super) struct Text<'a> {
    pub(super) location: Location<'a>,
    pub(super) text: Cow<'a, str>,
    /// The added lines: their numbers, counted from 1, and their ranges.
    pub(super) lines: Vec<(usize, Range<usize>)>,
}

impl<'a> Text<'a> {
    fn new(location: Location<'a>, text: Cow<'a, str>, is_known: impl Fn(&str) -> bool) -> Self {
        let lines = new_lines(&text, is_known);
        Self { location, text, lines }
    }

    pub(super) fn path(&self) -> Option<&'a str> {
        match self.location {
            Location::File(path) => Some(path),
            _ => None,
        }
    }

    /// The line of a byte, counted from 1.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// The line that a refusal reports. The title and a file name have only one line, so `None` for them.
    pub(super) fn reported_line(&self, line: usize) -> Option<usize> {
        matches!(self.location, Location::File(_) | Location::Summary).then_some(line)
    }
}

/// The lines of `text` that are not known, with their numbers and ranges.
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

/// Additions lines, joined.
pub(super) struct AddedLines {
    pub(super) text: String,
    /// The offset of each line in `text`, and its number in the file.
    starts: Vec<(usize, usize)>,
}

impl AddedLines {
    fn new(text: &str, lines: Vec<(usize, Range<usize>)>) -> Self {
        let mut added = Self { text: String::new(), starts: Vec::new() };
        for (number, range) in lines {
            added.starts.push((added.text.len(), number));
            added.text.push_str(&text[range]);
        }
        added
    }

    /// The number in the file of the line at an offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        let next = self.starts.partition_point(|(start, _)| *start <= offset);
        next.checked_sub(1).map_or(1, |index| self.starts[index].1)
    }
}

/// Everything that a change adds, and the touched files before the change.
pub(super) struct Additions<'a> {
    pub(super) texts: Vec<Text<'a>>,
    /// The touched files before the change.
    pub(super) before: BTreeMap<&'a str, String>,
    /// The same, for searches.
    base_text: BaseText<'a>,
    /// Paths that contain a secret.
    hidden_paths: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Additions<'a> {
    pub(super) fn new(change: &Change<'a>) -> Self {
        let before = read_base_files(change);
        let known: HashSet<&str> = before.values().flat_map(|text| lines_of(text)).collect();
        let mut texts = vec![
            Text::new(Location::Title, Cow::Borrowed(change.title), |_| false),
            Text::new(Location::Summary, Cow::Borrowed(change.summary), |_| false),
        ];
        for (path, bytes) in change.edits {
            let Some(bytes) = bytes else { continue };
            if !before.contains_key(path.as_str()) {
                texts.push(Text::new(Location::FileName, Cow::Borrowed(path), |_| false));
            }
            texts.push(Text::new(Location::File(path), decode_lossy(bytes), |line| known.contains(line)));
        }
        let base_text = BaseText::new(&before);
        Self { texts, before, base_text, hidden_paths: RefCell::default() }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&'a str, &Text<'a>)> {
        self.texts.iter().filter_map(|text| Some((text.path()?, text)))
    }

    /// Whether a touched file already contained a value of `text`.
    pub(super) fn was_in_base(&self, text: &Text<'_>, value: &str) -> bool {
        self.base_text.contains(text.path(), Scope::Everywhere, value)
    }

    /// Whether readers could already see a value: it was in the same file, or in a page if it is now in one.
    pub(super) fn was_visible(&self, text: &Text<'_>, value: &str) -> bool {
        let scope = if text.path().is_none_or(is_page) { Scope::Pages } else { Scope::SameFile };
        self.base_text.contains(text.path(), scope, value)
    }

    /// Each text with its lines that readers could not see before.
    pub(super) fn newly_visible(&self) -> impl Iterator<Item = (&Text<'a>, AddedLines)> {
        let pages = self.before.iter().filter(|(path, _)| is_page(path));
        let pages: HashSet<&str> = pages.flat_map(|(_, text)| lines_of(text)).collect();
        self.texts.iter().map(move |text| {
            let own = text.path().and_then(|path| self.before.get(path));
            let own: HashSet<&str> = own.into_iter().flat_map(|text| lines_of(text)).collect();
            let in_pages = |line: &str| text.path().is_some_and(is_page) && pages.contains(line);
            (
                text,
                AddedLines::new(
                    &text.text,
                    new_lines(&text.text, |line| own.contains(line) || in_pages(line)),
                ),
            )
        })
    }

    /// Excludes a path from all messages. `text` must be a file name.
    pub(super) fn hide_path(&self, text: &Text<'a>) {
        let same = |(path, _): &(&'a str, &Text<'a>)| *path == text.text;
        self.hidden_paths.borrow_mut().extend(self.files().find(same).map(|(path, _)| path));
    }

    pub(super) fn is_path_hidden(&self, path: &str) -> bool {
        self.hidden_paths.borrow().contains(path)
    }
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim)
}

/// Reads the touched files. A file that can't be read counts as new, so all of it is judged.
fn read_base_files<'a>(change: &Change<'a>) -> BTreeMap<&'a str, String> {
    let read = |path: &'a String| {
        let bytes = change.base.read(path, usize::MAX).ok()?;
        Some((path.as_str(), decode_lossy(&bytes).into_owned()))
    };
    change.edits.keys().filter_map(read).collect()
}

/// Decodes bytes as text, even if they are not UTF-8. Without NUL, so that UTF-16 is readable, too.
fn decode_lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Cow::Borrowed(text),
        _ => Cow::Owned(String::from_utf8_lossy(bytes).replace('\0', "")),
    }
}

#[cfg(test)]
mod tests {
    use pages::MemoryTree;

    use super::*;
    use crate::guard::Vocabulary;
    use crate::prompt::Instructions;

    #[test]
    fn lines_that_no_touched_file_had_are_new() {
        let base = MemoryTree::new([("a.md", "one\ntwo\n"), ("b.md", "three\n")]);
        let edits = BTreeMap::from([
            ("a.md".to_owned(), Some(b"two\nnew\n  three\n".to_vec())),
            ("b.md".to_owned(), None),
        ]);
        let change = Change {
            base: &base,
            vocabulary: &Vocabulary::default(),
            edits: &edits,
            instructions: &Instructions::default(),
            title: "",
            summary: "",
        };
        let additions = Additions::new(&change);
        let (_, text) = additions.files().next().unwrap();
        assert_eq!(text.lines, [(2, 4..8)]);
    }

    #[test]
    fn lines_of_files_that_are_not_pages_are_newly_visible_in_pages() {
        let base = MemoryTree::new([("a.md", "one\n"), ("b.tf", "two\n"), ("c.md", "three\n")]);
        let text = Some(b"one\ntwo\n three\nnew\n".to_vec());
        let edits = ["a.md", "b.tf", "c.md"].map(|path| (path.to_owned(), text.clone()));
        let edits = BTreeMap::from(edits);
        let instructions = &Instructions::default();
        let vocabulary = &Vocabulary::default();
        let additions = Additions::new(&Change {
            base: &base,
            vocabulary,
            edits: &edits,
            instructions,
            title: "",
            summary: "",
        });
        let new: Vec<_> = additions.newly_visible().skip(2).map(|(_, new)| new).collect();
        let texts: Vec<_> = new.iter().map(|new| new.text.as_str()).collect();
        assert_eq!(texts, ["two\nnew\n", "one\n three\nnew\n", "two\nnew\n"]);
        assert_eq!((new[0].line_at(0), new[0].line_at(4)), (2, 4));
    }

    #[test]
    fn utf_16_is_decoded() {
        let bytes: Vec<u8> = "key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode_lossy(&bytes), "key");
    }
}
