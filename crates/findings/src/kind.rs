//! The kinds of findings. A kind is a file in `kinds` and a row in this table.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Readers ask for a path and get 404.
    NotFound,
    /// A page was renamed in git, and its old path leads nowhere.
    Moved,
    /// Pages of the docs link to a page that doesn't exist.
    DeadLink,
    /// A page has many readers and no recent change.
    Stale,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::NotFound, Self::Moved, Self::DeadLink, Self::Stale];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Moved => "moved",
            Self::DeadLink => "dead-link",
            Self::Stale => "stale",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Whether the days of evidence count failed requests, which stop when the finding is fixed. The days of the other
    /// kinds count views of a page, which continue.
    pub fn counts_failures(self) -> bool {
        matches!(self, Self::NotFound | Self::Moved)
    }

    /// Whether the finding disappears from the repository when it's fixed.
    pub fn is_in_repository(self) -> bool {
        !matches!(self, Self::NotFound)
    }
}
