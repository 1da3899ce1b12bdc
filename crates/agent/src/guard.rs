//! Judges what an editor made before it becomes a commit: the last wall between repository text that
//! lies to a model and the people who read, build and merge the result.
//!
//! Pure, and linear in what was changed. It looks at what was *added*: what stood in the touched files
//! before is somebody else's doing, and moving it adds nothing. Where it cannot tell, it objects.

mod added;
mod allowlist;
mod hidden;
mod names;
mod plain;
mod random;
mod secrets;
mod stood;
mod unescape;
mod url;

use std::collections::BTreeMap;
use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use pages::Tree;

pub use allowlist::Vocabulary;
pub use plain::{plain_body, plain_quotation, plain_title};

use crate::Instructions;

use added::{Added, Place};

/// As much of the tree as is read to learn what it loads and imports already.
const MAX_TREE_BYTES: usize = 64 * 1024 * 1024;

/// What an editor made of a commit.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    pub base: &'a dyn Tree,
    /// The changed files: their new bytes, or `None` for a deleted one.
    pub edits: &'a BTreeMap<String, Option<Vec<u8>>>,
    /// What the docs of the base use already.
    pub vocabulary: &'a Vocabulary,
    /// What people asked for in their own words: the instructions of the prompt and the follow-ups.
    pub asked: &'a Instructions,
    pub title: &'a str,
    /// With the notes: all else that the editor says in the pull request.
    pub summary: &'a str,
}

/// What the operator lets through, and what must never get out.
#[derive(Default)]
pub struct Policy<'a> {
    pub allow: Allow,
    /// The folder that the docs are in; the whole repository without one.
    pub docs_path: Option<&'a str>,
    /// Values that are known to be secret, such as the token of the host and the key of the model.
    pub secrets: &'a [&'a str],
}

/// Globs of paths that may be edited although they are refused by default.
#[derive(Debug, Clone, Default)]
pub struct Allow(GlobSet);

impl Allow {
    pub fn parse<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build()?);
        }
        set.build().map(Self)
    }

    fn permits(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Which rule an objection is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The file is not the agent's to change.
    Path,
    /// Something that opens a door was added.
    Secret,
    /// A page would load something from elsewhere, or run it.
    Remote,
    /// An address carries data, or is not what it looks like.
    Link,
    /// Text was added that a reader does not see.
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

/// Something that is wrong with a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Objection {
    pub rule: Rule,
    /// Empty when it is the title, the summary or a file's name that is objected to.
    pub path: String,
    /// Counted from 1.
    pub line: Option<usize>,
    /// A sentence that says where and why, and never holds what was found.
    pub message: String,
    /// Whether the change must not be published; if not, a reviewer is to be told.
    pub fatal: bool,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (rule `{}`)", self.message, self.rule.as_str())
    }
}

/// Everything that is wrong with a change; fatal objections stand first.
pub fn judge(change: &Change<'_>, policy: &Policy<'_>) -> Vec<Objection> {
    let added = Added::of(change);
    let mut found = Vec::new();
    allowlist::judge(change, policy, &added, &mut found);
    secrets::judge(&added, policy.secrets, &mut found);
    hidden::judge(&added, &mut found);
    let mut objections: Vec<_> = found.into_iter().map(|finding| finding.tell(&added)).collect();
    objections.sort_by(|a, b| b.fatal.cmp(&a.fatal).then_with(|| a.cmp(b)));
    objections.dedup();
    objections
}

/// Why jobs may not change a file, as far as its path tells. Some files may be changed when `asked` names them.
pub fn refusal_of_path(policy: &Policy<'_>, asked: &str, path: &str) -> Option<&'static str> {
    let refusal = || allowlist::refusal_of_path(policy.docs_path, asked, path);
    if policy.allow.permits(path) { None } else { refusal() }
}

/// An objection before it is put into words.
struct Finding<'a> {
    rule: Rule,
    place: Place<'a>,
    line: Option<usize>,
    /// What is wrong, as it goes on after the place: "adds …".
    what: String,
    fatal: bool,
}

impl Finding<'_> {
    /// A file whose name holds a secret is not named.
    fn tell(self, added: &Added<'_>) -> Objection {
        let path = match self.place {
            Place::File(path) if !added.unspeakable(path) => path,
            _ => "",
        };
        let place = match self.place {
            Place::File(_) if path.is_empty() => "a file whose name cannot be shown".to_owned(),
            Place::File(path) => format!("`{path}`"),
            Place::Name => "the name of a changed file".to_owned(),
            Place::Title => "the title".to_owned(),
            Place::Summary => "the summary".to_owned(),
        };
        let line = self.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let message = format!("The change was stopped at {place}{line}: it {}.", self.what);
        let message = if self.fatal { message } else { message.replacen("was stopped", "needs a look", 1) };
        Objection { rule: self.rule, path: path.to_owned(), line: self.line, message, fatal: self.fatal }
    }
}
