//! Defines what the history of a repository says about pages that are gone.

/// Renames and removals of pages. Paths are those of files in the repository, such as `docs/guide/install.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// In any order.
    pub renames: Vec<Rename>,
    /// Pages that were deleted without a rename. Only the last version of a page counts.
    pub removed: Vec<RemovedPage>,
}

/// A page that a commit renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The time of the commit, in seconds since 1970. Only the order of the renames matters.
    pub date: i64,
    pub from: String,
    pub to: String,
}

/// A page that a commit removed, as it was before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovedPage {
    pub path: String,
    pub title: Option<String>,
    /// The text of the headings, in their order.
    pub headings: Vec<String>,
}
