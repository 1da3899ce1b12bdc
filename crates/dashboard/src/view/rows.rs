//! The small parts that the pages are made of: a row of a list, a state with its word and colour.

use super::prose::{Span, spans};
use super::{Block, ProjectNav, Spark, When};

/// A project on the first page, with its newest job.
pub(crate) struct ProjectRow {
    pub(crate) project: ProjectNav,
    pub(crate) latest: Option<JobRow>,
    /// `None` where another server keeps page views.
    pub(crate) spark: Option<Spark>,
}

/// A quotation beside a prompt box.
pub(crate) struct QuotationField {
    pub(crate) label: String,
    pub(crate) text: String,
    /// The signed value that the form sends.
    pub(crate) value: String,
}

/// An API key in the list. The secret itself is not known any more.
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) name: String,
    /// What is left of the secret to recognise it by: `dw_8Kd2…`.
    pub(crate) masked: String,
    pub(crate) scope: String,
    /// "all projects", or the names of those it is narrowed to.
    pub(crate) projects: String,
    /// The addresses it may be used from; empty when from any.
    pub(crate) allow: String,
    pub(crate) expiry: Expiry,
    pub(crate) last_used: Option<When>,
    pub(crate) created: When,
    /// Who made it, where that is known.
    pub(crate) creator: Option<String>,
}

/// Another project that a new key can be for.
pub(crate) struct OtherProject {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) chosen: bool,
}

impl KeyRow {
    pub(super) fn revoked(&self) -> bool {
        self.expiry.kind == ExpiryKind::Revoked
    }
}

/// Until when a key works, in words ("expires in 5 days") and in kind.
pub(crate) struct Expiry {
    pub(crate) text: String,
    pub(crate) kind: ExpiryKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpiryKind {
    Good,
    Soon,
    Expired,
    Never,
    Revoked,
}

impl ExpiryKind {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Soon => "wait",
            Self::Expired => "bad",
            Self::Never | Self::Revoked => "plain",
        }
    }
}

/// A key at the one moment at which its secret is known.
pub(crate) struct NewKey {
    pub(crate) secret: String,
    /// A command that uses the key, ready to paste.
    pub(crate) curl: String,
}

/// The fields of the form that makes a key.
pub(crate) struct KeyForm {
    pub(crate) name: String,
    /// `read` or `write`.
    pub(crate) scope: String,
    /// `7d`, `30d`, `60d`, `90d` or `never`.
    pub(crate) expires: String,
    pub(crate) only_this_project: bool,
    /// Ids of projects that it is for beside this one.
    pub(crate) also: Vec<String>,
    /// A date, which goes before `expires`.
    pub(crate) until: String,
    /// Addresses and CIDR ranges, one a line.
    pub(crate) allow: String,
}

impl Default for KeyForm {
    fn default() -> Self {
        Self {
            name: String::new(),
            scope: "write".to_owned(),
            expires: "90d".to_owned(),
            only_this_project: true,
            also: Vec::new(),
            until: String::new(),
            allow: String::new(),
        }
    }
}

/// What has become of a job, in the words of the pages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    /// Completed with a pull request that is open.
    Review,
    Merged,
    Closed,
    /// Completed without a difference, and so without a pull request.
    NoChange,
    Failed,
    Archived,
}

impl JobState {
    pub(crate) const ALL: [Self; 7] = [
        Self::Running,
        Self::Review,
        Self::Merged,
        Self::Closed,
        Self::NoChange,
        Self::Failed,
        Self::Archived,
    ];

    /// As it stands in an address.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::NoChange => "unchanged",
            other => other.label(),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Review => "review needed",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::NoChange => "no change",
            Self::Failed => "failed",
            Self::Archived => "archived",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Running => "run",
            Self::Review => "wait",
            Self::Merged => "done",
            Self::Closed | Self::NoChange | Self::Archived => "plain",
            Self::Failed => "bad",
        }
    }

    pub(crate) fn active(self) -> bool {
        self == Self::Running
    }
}

/// A job in a list.
pub(crate) struct JobRow {
    pub(crate) href: String,
    pub(crate) state: JobState,
    /// The first line of the prompt.
    pub(crate) title: String,
    pub(crate) branch: String,
    pub(crate) pull: Option<PullRef>,
    /// Lines of its change.
    pub(crate) added: u64,
    pub(crate) removed: u64,
    /// Written with commas; `None` where no model was asked.
    pub(crate) tokens: Option<String>,
    pub(crate) when: When,
    pub(crate) duration: Option<String>,
}

/// One thing that the agent did.
pub(crate) struct Step {
    pub(crate) number: u64,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) when: When,
}

impl Step {
    pub(super) fn spans(&self) -> Vec<Span> {
        spans(&self.text)
    }
}

/// How a job came to its end.
pub(crate) struct Ended {
    /// One sentence: what came of it.
    pub(crate) reason: String,
    pub(crate) summary: Vec<Block>,
    /// What was not certain and is left to a person.
    pub(crate) notes: Vec<String>,
    /// What was checked, and found.
    pub(crate) checks: Vec<String>,
}

impl Ended {
    pub(super) fn note_spans(&self) -> Vec<Vec<Span>> {
        self.notes.iter().map(|note| spans(note)).collect()
    }

    pub(super) fn check_spans(&self) -> Vec<Vec<Span>> {
        self.checks.iter().map(|check| spans(check)).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PullState {
    Open,
    Merged,
    Closed,
}

impl PullState {
    pub(crate) const ALL: [Self; 3] = [Self::Open, Self::Merged, Self::Closed];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.label() == name)
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Merged => "merged",
            Self::Closed => "closed",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Open => "good",
            Self::Merged => "done",
            Self::Closed => "plain",
        }
    }

    pub(super) fn open(self) -> bool {
        self == Self::Open
    }
}

/// A pull request, seen from its job.
pub(crate) struct PullRef {
    pub(crate) href: String,
    pub(crate) number: u64,
    pub(crate) state: PullState,
}

/// A pull request in the list.
pub(crate) struct PullRow {
    pub(crate) href: String,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) state: PullState,
    pub(crate) head: String,
    pub(crate) base: String,
    pub(crate) when: When,
}

pub(crate) struct Commit {
    /// Shortened, as people quote it.
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) author: String,
    pub(crate) when: When,
}
