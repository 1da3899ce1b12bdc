//! Describes problems of pages, and finds those that a change added.

use std::collections::HashMap;
use std::fmt;

use crate::splice::LineIndex;

/// A longer destination, name or message is cut.
const MAX_CHARS: usize = 200;

/// Further problems of a kind on the same page are not reported.
pub(super) const MAX_PER_PAGE: usize = 100;

/// A problem of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub kind: ProblemKind,
    /// What it is about: a destination, a key, a tag. Two problems of a page with the same kind and the same `what` are the
    /// same problem, on any line.
    pub what: String,
    /// A sentence that describes the problem.
    pub message: String,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// A link to a page or file that doesn't exist.
    Link,
    /// A link to an anchor that doesn't exist on its page.
    Anchor,
    /// An image that doesn't exist.
    Image,
    /// Front matter that can't be parsed.
    FrontMatter,
    /// The same key twice in the front matter.
    DuplicateKey,
    /// A navigation file that can't be parsed.
    Navigation,
    /// An entry of the navigation that names no page.
    NavigationEntry,
    /// A page that is not in the navigation, while most pages are.
    NotInNavigation,
    /// A code block that is never closed.
    Fence,
    /// A comment that is never closed.
    Comment,
    /// A table whose header row and delimiter row have different numbers of cells. It is shown as text.
    Table,
    /// A tag of MDX that is not closed, not opened, or malformed.
    Tag,
    /// A brace of MDX that is never closed.
    Brace,
    /// An `import` or `export` of MDX that is malformed.
    Statement,
    /// The same explicit anchor twice on a page.
    DuplicateId,
}

impl ProblemKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Anchor => "anchor",
            Self::Image => "image",
            Self::FrontMatter => "front-matter",
            Self::DuplicateKey => "duplicate-key",
            Self::Navigation => "navigation",
            Self::NavigationEntry => "navigation-entry",
            Self::NotInNavigation => "not-in-navigation",
            Self::Fence => "fence",
            Self::Comment => "comment",
            Self::Table => "table",
            Self::Tag => "tag",
            Self::Brace => "brace",
            Self::Statement => "statement",
            Self::DuplicateId => "duplicate-id",
        }
    }

    /// Whether it is reported only for changes. Many pages are left out of the navigation on purpose.
    pub fn is_only_for_changes(self) -> bool {
        self == Self::NotInNavigation
    }
}

impl Problem {
    pub(super) fn new(path: &str, line: usize, kind: ProblemKind, what: &str, message: String) -> Self {
        let short = |text: &str| match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        Self { path: path.to_owned(), line, kind, what: short(what), message: short(&message) }
    }
}

/// The text of a page with line numbers.
pub(super) struct PageSource<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    lines: LineIndex,
}

impl<'a> PageSource<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, lines: LineIndex::new(text) }
    }

    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.line(at)
    }

    pub(super) fn problem(&self, at: usize, kind: ProblemKind, what: &str, message: String) -> Problem {
        Problem::new(self.path, self.line(at), kind, what, message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Sorts problems by page, line and kind.
pub(super) fn sort(problems: &mut [Problem]) {
    problems.sort_by(|a, b| (&a.path, a.line, a.kind).cmp(&(&b.path, b.line, b.kind)));
}

/// The problems in `after` that are not in `before`. Lines don't matter. A problem that moves to another page with its
/// text is not new: the page was moved, split or joined.
pub fn added_problems(before: &[Problem], after: &[Problem]) -> Vec<Problem> {
    let mut here: HashMap<_, usize> = HashMap::new();
    let mut anywhere: HashMap<_, usize> = HashMap::new();
    for old in before {
        *here.entry((&old.path, old.kind, &old.what)).or_default() += 1;
        *anywhere.entry((old.kind, &old.what)).or_default() += 1;
    }
    let mut added: Vec<&Problem> = Vec::new();
    for new in after {
        match take(&mut here, &(&new.path, new.kind, &new.what)) {
            true => drop(take(&mut anywhere, &(new.kind, &new.what))),
            false => added.push(new),
        }
    }
    added.retain(|new| !take(&mut anywhere, &(new.kind, &new.what)));
    added.into_iter().cloned().collect()
}

/// Decrements a count. Returns `false` when it is zero.
fn take<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) -> bool {
    match counts.get_mut(key) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}
