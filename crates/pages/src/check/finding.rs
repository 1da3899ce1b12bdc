//! One thing that is wrong, and which of them a change brought in.

use std::collections::HashMap;
use std::fmt;

use crate::splice::LineIndex;

/// As much of a destination or a name as anybody needs to find it.
const MAX_CHARS: usize = 200;

/// More than this of a kind says nothing new about a page.
pub(super) const MAX_ON_A_PAGE: usize = 100;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub kind: FindingKind,
    /// What it is about: a destination, a key, a tag. Two findings of a kind about the same thing are the
    /// same, on whatever line.
    pub what: String,
    /// A sentence for whoever is to mend it.
    pub message: String,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A link to a page or file that is not there.
    Link,
    /// A link to a page that is there, and an anchor that is not.
    Anchor,
    /// An image that is not there.
    Image,
    /// Front matter that cannot be read.
    FrontMatter,
    /// The same key twice in the front matter.
    DuplicateKey,
    /// A navigation file that cannot be read.
    Navigation,
    /// An entry of the navigation that names no page.
    NavigationEntry,
    /// A page that no navigation names, where most are named.
    NotInNavigation,
    /// A block of code that does not end.
    Fence,
    /// A comment that does not end.
    Comment,
    /// A table whose head and rule have different numbers of columns, so that it is shown as text.
    Table,
    /// A tag of MDX that is not closed, not opened, or cannot be read.
    Tag,
    /// A brace of MDX that does not close.
    Brace,
    /// An `import` or `export` of MDX that is none.
    Statement,
    /// The same anchor set by hand twice on a page.
    DuplicateId,
}

impl FindingKind {
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

    /// Whether it says something only about a change: many pages are left out of the navigation on purpose.
    pub fn is_of_a_change(self) -> bool {
        self == Self::NotInNavigation
    }
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, kind: FindingKind, what: &str, message: String) -> Self {
        let short = |text: &str| match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        Self { path: path.to_owned(), line, kind, what: short(what), message: short(&message) }
    }
}

/// A file that is looked at.
pub(super) struct Sheet<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    lines: LineIndex,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, lines: LineIndex::new(text) }
    }

    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.line(at)
    }

    pub(super) fn finding(&self, at: usize, kind: FindingKind, what: &str, message: String) -> Finding {
        Finding::new(self.path, self.line(at), kind, what, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Those of `after` that a change brought in. Lines do not matter. What was wrong on a page already stays
/// old when it goes to another page with its text, because the page was moved, split or joined.
pub fn worse(before: &[Finding], after: &[Finding]) -> Vec<Finding> {
    let mut here: HashMap<_, usize> = HashMap::new();
    let mut anywhere: HashMap<_, usize> = HashMap::new();
    for old in before {
        *here.entry((&old.path, old.kind, &old.what)).or_default() += 1;
        *anywhere.entry((old.kind, &old.what)).or_default() += 1;
    }
    let mut left: Vec<&Finding> = Vec::new();
    for new in after {
        match take(&mut here, &(&new.path, new.kind, &new.what)) {
            true => drop(take(&mut anywhere, &(new.kind, &new.what))),
            false => left.push(new),
        }
    }
    left.retain(|new| !take(&mut anywhere, &(new.kind, &new.what)));
    left.into_iter().cloned().collect()
}

/// Takes one off a count, if there is one.
fn take<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) -> bool {
    match counts.get_mut(key) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}
