//! Defines the instructions of the offline editor.

/// A command, and the pages that it applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) command: Command,
    /// Files, folders and patterns. Empty means all pages.
    pub(super) scope: Vec<String>,
    /// Files, folders and patterns that must not change.
    pub(super) except: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Replace(Replace),
    FixLinks,
    FixSpelling,
    Bump(Bump),
    /// Adds redirects for these addresses. Without any, for those in the quotations.
    AddRedirects(Vec<String>),
}

impl Command {
    /// Whether the command can be limited to some pages.
    pub(super) fn has_scope(&self) -> bool {
        !matches!(self, Self::AddRedirects(_))
    }

    /// Sets whether code is changed. Returns `false` if the command can't do that.
    pub(super) fn set_code(&mut self, included: bool) -> bool {
        match self {
            Self::Replace(replace) => replace.code = included,
            Self::Bump(bump) => bump.code = included,
            Self::FixLinks | Self::FixSpelling => return !included,
            Self::AddRedirects(_) => return false,
        }
        true
    }
}

/// Replaces one text with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replace {
    pub(super) old: String,
    pub(super) new: String,
    /// Whether code is changed too.
    pub(super) code: bool,
}

/// Replaces one version with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bump {
    pub(super) old: String,
    pub(super) new: String,
    /// The product of the version, if the prompt names it.
    pub(super) product: Option<String>,
    /// Whether code is changed too.
    pub(super) code: bool,
}
