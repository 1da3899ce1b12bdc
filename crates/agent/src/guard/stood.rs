//! What stood in the touched files before, to be searched many times.
//!
//! What was there already is mostly asked for in the order in which it stood. So each search begins where the last
//! one ended, and all of them together read the text about once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use pages::FileKind;

/// How often all of the text may be read, and how much of it in any case. What is not found by then counts as new.
const MAX_READINGS: usize = 256;
const MIN_WORK: usize = 16 * 1024 * 1024;

/// Whether a file holds text for people to read.
pub(super) fn is_page(path: &str) -> bool {
    let kind = FileKind::of(path);
    kind.is_page() || matches!(kind, FileKind::Html | FileKind::Text)
}

/// Where something is looked for besides the file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Nowhere,
    Pages,
    Everywhere,
}

type Answers = HashMap<String, bool>;

#[derive(Default)]
pub(super) struct Stood<'a> {
    /// All files, one behind the other, pages first. What stands between them is in no text.
    text: String,
    files: BTreeMap<&'a str, Range<usize>>,
    pages: usize,
    /// Where the last search ended.
    last: Cell<usize>,
    /// How many bytes were read so far.
    work: Cell<usize>,
    /// By the file, if that matters: what is looked for everywhere is in its own file or in another.
    answered: RefCell<HashMap<(Range<usize>, Scope), Answers>>,
}

impl<'a> Stood<'a> {
    pub(super) fn new(files: &BTreeMap<&'a str, String>) -> Self {
        let mut stood = Self::default();
        for pages in [true, false] {
            for (path, text) in files.iter().filter(|(path, _)| is_page(path) == pages) {
                let start = stood.text.len();
                stood.text.push_str(text);
                stood.files.insert(path, start..stood.text.len());
                stood.text.push('\0');
            }
            stood.pages = if pages { stood.text.len() } else { stood.pages };
        }
        stood
    }

    /// Whether `value` stood in the file at `path`, or in another within `scope`.
    pub(super) fn holds(&self, path: Option<&str>, scope: Scope, value: &str) -> bool {
        let own = path.and_then(|path| self.files.get(path)).cloned().unwrap_or_default();
        let others = match scope {
            Scope::Nowhere => 0..0,
            Scope::Pages => 0..self.pages,
            Scope::Everywhere => 0..self.text.len(),
        };
        // Whatever the file, the answer is the same when it is among the others.
        let key = if own.end <= others.end { (0..0, scope) } else { (own.clone(), scope) };
        let answered = self.answered.borrow().get(&key).and_then(|answers| answers.get(value).copied());
        answered.unwrap_or_else(|| {
            let answer = self.is_in(own, value) || self.is_in(others, value);
            self.answered.borrow_mut().entry(key).or_default().insert(value.to_owned(), answer);
            answer
        })
    }

    /// Looks behind the last place first, then before it.
    fn is_in(&self, range: Range<usize>, value: &str) -> bool {
        let last = self.last.get();
        let from = if range.contains(&last) { last } else { range.start };
        let overlap = self.text.floor_char_boundary(from.saturating_add(value.len())).min(range.end);
        self.search(from..range.end, value) || from > range.start && self.search(range.start..overlap, value)
    }

    fn search(&self, range: Range<usize>, value: &str) -> bool {
        if range.is_empty() || self.work.get() > MIN_WORK.max(MAX_READINGS * self.text.len()) {
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

    fn stood(texts: &[(&'static str, &str)]) -> Stood<'static> {
        Stood::new(&texts.iter().map(|(path, text)| (*path, (*text).to_owned())).collect())
    }

    #[test]
    fn where_it_is_looked_for() {
        let stood = stood(&[("a.md", "one two é"), ("b.tf", "three"), ("c.RST", "four")]);
        for (path, scope, value, expected) in [
            (Some("a.md"), Scope::Nowhere, "two é", true),
            (Some("a.md"), Scope::Nowhere, "one", true),
            (Some("a.md"), Scope::Nowhere, "four", false),
            (Some("a.md"), Scope::Pages, "four", true),
            (Some("a.md"), Scope::Pages, "three", false),
            (Some("b.tf"), Scope::Pages, "three", true),
            (Some("a.md"), Scope::Pages, "three", false),
            (Some("a.md"), Scope::Everywhere, "three", true),
            (None, Scope::Everywhere, "one", true),
            (None, Scope::Everywhere, "éthree", false),
            (Some("new.md"), Scope::Pages, "two", true),
            (Some("new.md"), Scope::Nowhere, "two", false),
        ] {
            assert_eq!(stood.holds(path, scope, value), expected, "{path:?} {scope:?} {value}");
        }
    }

    #[test]
    fn what_is_asked_for_in_order_is_read_once() {
        let values: Vec<String> = (0..5_000).map(|number| format!("<{number}>")).collect();
        let text = values.join(" and ");
        for path in ["a.md", "moved.md"] {
            let stood = stood(&[("a.md", &text)]);
            assert!(values.iter().chain(&values).all(|value| stood.holds(Some(path), Scope::Pages, value)));
            assert!(stood.work.get() <= text.len(), "{} of {}", stood.work.get(), text.len());
        }
    }

    #[test]
    fn work_is_bounded() {
        let text = "words ".repeat(15_000);
        let stood = stood(&[("a.md", &text)]);
        for number in 0..1_000 {
            assert!(!stood.holds(Some("a.md"), Scope::Everywhere, &format!("none {number}")));
        }
        assert!(stood.work.get() <= (MAX_READINGS + 2) * text.len());
    }
}
