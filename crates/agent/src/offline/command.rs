//! What the offline editor can be asked to do.

/// One thing to do, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) command: Command,
    /// Files, folders and patterns; empty for all pages.
    pub(super) scope: Vec<String>,
    /// Files, folders and patterns that are to be left.
    pub(super) except: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Replace(Replace),
    FixLinks,
    FixSpelling,
    Bump(Bump),
}

impl Command {
    /// Says whether code is to be changed; false when this command cannot do what is asked.
    pub(super) fn set_code(&mut self, included: bool) -> bool {
        match self {
            Self::Replace(replace) => replace.code = included,
            Self::Bump(bump) => bump.code = included,
            Self::FixLinks | Self::FixSpelling => return !included,
        }
        true
    }
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
    /// What the version is one of, when the prompt says so.
    pub(super) product: Option<String>,
    /// Whether code is changed too.
    pub(super) code: bool,
}
