//! Searches the text of the touched files before the change.
//!
//! Values are mostly searched for in the order in which the text has them. So each search begins where the last one
//! ended, and all searches together read the text about once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use pages::FileKind;

/// Limits of the total work: readings of the whole text, or at least this many bytes. After that, values count as new.
const MAX_READINGS: usize = 256;
const MIN_WORK_BYTES: usize = 16 * 1024 * 1024;

/// Whether a file has text for readers.
pub(super) fn is_page(path: &str) -> bool {
    let kind = FileKind::of(path);
    kind.is_page() || matches!(kind, FileKind::Html | FileKind::Text)
}

/// Which files are searched besides the file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    SameFile,
    Pages,
    Everywhere,
}

type Results = HashMap<String, bool>;

#[derive(Default)]
pub(super) struct BaseText<'a> {
    /// All files, joined, pages first. The separator is in no file.
    text: String,
    files: BTreeMap<&'a str, Range<usize>>,
    pages: usize,
    /// The end of the last match.
    last: Cell<usize>,
    /// The bytes read so far.
    work: Cell<usize>,
    /// Results by the range of the file and the scope.
    cache: RefCell<HashMap<(Range<usize>, Scope), Results>>,
}

impl<'a> BaseText<'a> {
    pub(super) fn new(files: &BTreeMap<&'a str, String>) -> Self {
        let mut base = Self::default();
        for pages in [true, false] {
            for (path, text) in files.iter().filter(|(path, _)| is_page(path) == pages) {
                let start = base.text.len();
                base.text.push_str(text);
                base.files.insert(path, start..base.text.len());
                base.text.push('\0');
            }
            base.pages = if pages { base.text.len() } else { base.pages };
        }
        base
    }

    /// Whether `value` was in the file at `path`, or in another file within `scope`.
    pub(super) fn contains(&self, path: Option<&str>, scope: Scope, value: &str) -> bool {
        let own = path.and_then(|path| self.files.get(path)).cloned().unwrap_or_default();
        let others = match scope {
            Scope::SameFile => 0..0,
            Scope::Pages => 0..self.pages,
            Scope::Everywhere => 0..self.text.len(),
        };
        // If the other files include the file itself, the result is the same for every file.
        let key = if own.end <= others.end { (0..0, scope) } else { (own.clone(), scope) };
        let cached = self.cache.borrow().get(&key).and_then(|results| results.get(value).copied());
        cached.unwrap_or_else(|| {
            let result = self.is_in(own, value) || self.is_in(others, value);
            self.cache.borrow_mut().entry(key).or_default().insert(value.to_owned(), result);
            result
        })
    }

    /// Searches after the last match first, then before it.
    fn is_in(&self, range: Range<usize>, value: &str) -> bool {
        let last = self.last.get();
        let from = if range.contains(&last) { last } else { range.start };
        let overlap = self.text.floor_char_boundary(from.saturating_add(value.len())).min(range.end);
        self.search(from..range.end, value) || from > range.start && self.search(range.start..overlap, value)
    }

    fn search(&self, range: Range<usize>, value: &str) -> bool {
        if range.is_empty() || self.work.get() > MIN_WORK_BYTES.max(MAX_READINGS * self.text.len()) {
            return false;
        }
        let found = self.text[range.clone()].find(value).map(|at| range.start + at + value.len());
        self.work.set(self.work.get() + found.unwrap_or(range.end) - range.start);
        self.last.set(found.unwrap_or_else(|| self.last.get()));
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base_text(texts: &[(&'static str, &str)]) -> BaseText<'static> {
        BaseText::new(&texts.iter().map(|(path, text)| (*path, (*text).to_owned())).collect())
    }

    #[test]
    fn a_scope_limits_the_files() {
        let base = base_text(&[("a.md", "one two é"), ("b.tf", "three"), ("c.RST", "four")]);
        for (path, scope, value, expected) in [
            (Some("a.md"), Scope::SameFile, "two é", true),
            (Some("a.md"), Scope::SameFile, "one", true),
            (Some("a.md"), Scope::SameFile, "four", false),
            (Some("a.md"), Scope::Pages, "four", true),
            (Some("a.md"), Scope::Pages, "three", false),
            (Some("b.tf"), Scope::Pages, "three", true),
            (Some("a.md"), Scope::Pages, "three", false),
            (Some("a.md"), Scope::Everywhere, "three", true),
            (None, Scope::Everywhere, "one", true),
            (None, Scope::Everywhere, "éthree", false),
            (Some("new.md"), Scope::Pages, "two", true),
            (Some("new.md"), Scope::SameFile, "two", false),
        ] {
            assert_eq!(base.contains(path, scope, value), expected, "{path:?} {scope:?} {value}");
        }
    }

    #[test]
    fn searches_in_order_read_the_text_once() {
        let values: Vec<String> = (0..5_000).map(|number| format!("<{number}>")).collect();
        let text = values.join(" and ");
        for path in ["a.md", "moved.md"] {
            let base = base_text(&[("a.md", &text)]);
            assert!(values.iter().chain(&values).all(|value| base.contains(Some(path), Scope::Pages, value)));
            assert!(base.work.get() <= text.len(), "{} of {}", base.work.get(), text.len());
        }
    }

    #[test]
    fn work_is_bounded() {
        let text = "words ".repeat(15_000);
        let base = base_text(&[("a.md", &text)]);
        for number in 0..1_000 {
            assert!(!base.contains(Some("a.md"), Scope::Everywhere, &format!("none {number}")));
        }
        assert!(base.work.get() <= (MAX_READINGS + 2) * text.len());
    }
}
