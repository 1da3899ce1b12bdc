//! Defines what the guard reports: refusals, with their rule and a sentence.

use std::fmt;

use super::additions::{Additions, Location};

/// The rule behind a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The agent can't change the file.
    Path,
    /// The change adds a credential.
    Secret,
    /// A page would load something from another site, or run it.
    Remote,
    /// An address contains data, or imitates another address.
    Link,
    /// The change adds text that readers don't see.
    Hidden,
}

impl Rule {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Secret => "secret",
            Self::Remote => "remote",
            Self::Link => "link",
            Self::Hidden => "hidden",
        }
    }
}

/// Something that the guard refuses, or a note for the reviewer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    pub rule: Rule,
    /// Empty if the refusal is about the title, the summary or the name of a file.
    pub path: String,
    /// Counted from 1.
    pub line: Option<usize>,
    /// A sentence that says where and why. It never contains the refused text.
    pub message: String,
    /// Whether the change must not be published. Otherwise, the reviewer gets the message as a note.
    pub fatal: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (rule `{}`)", self.message, self.rule.as_str())
    }
}

/// A violation of a rule, before it becomes a [`Refusal`] with a sentence.
pub(super) struct Violation<'a> {
    pub(super) rule: Rule,
    pub(super) location: Location<'a>,
    pub(super) line: Option<usize>,
    /// The predicate of the sentence: "adds …".
    pub(super) what: String,
    pub(super) fatal: bool,
}

impl<'a> Violation<'a> {
    /// A fatal violation of the rule `path`.
    pub(super) fn of_path(path: &'a str, what: impl Into<String>) -> Self {
        let (location, what) = (Location::File(path), what.into());
        Self { rule: Rule::Path, location, line: None, what, fatal: true }
    }

    /// Builds the sentence. It doesn't name a file whose name contains a secret.
    pub(super) fn into_refusal(self, additions: &Additions<'_>) -> Refusal {
        let path = match self.location {
            Location::File(path) if !additions.is_path_hidden(path) => path,
            _ => "",
        };
        let location = match self.location {
            Location::File(_) if path.is_empty() => "a file whose name can't be shown".to_owned(),
            Location::File(path) => format!("`{path}`"),
            Location::FileName => "the name of a changed file".to_owned(),
            Location::Title => "the title".to_owned(),
            Location::Summary => "the summary".to_owned(),
        };
        let line = self.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let start = if self.fatal { "The guard refused the change at" } else { "Review the change at" };
        let message = format!("{start} {location}{line}: it {}.", self.what);
        Refusal { rule: self.rule, path: path.to_owned(), line: self.line, message, fatal: self.fatal }
    }
}
