//! What the offline editor can be asked to do.

/// One thing to do, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) command: Command,
    /// Files, folders and patterns; empty for all pages.
    pub(super) scope: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Replace(Replace),
    FixLinks,
    FixSpelling,
    Bump(Bump),
}

/// Puts one text in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replace {
    pub(super) old: String,
    pub(super) new: String,
    /// Whether code is changed too.
    pub(super) code: bool,
}

/// Puts one version in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bump {
    pub(super) old: String,
    pub(super) new: String,
}
