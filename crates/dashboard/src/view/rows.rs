//! Defines the parts that several pages share: rows of lists, and states with their labels and CSS classes.

use super::prose::{Span, spans};
use super::{Block, DisplayTime, ProjectNav, Sparkline};

/// A project in the list of projects, with its newest job.
pub(crate) struct ProjectRow {
    pub(crate) project: ProjectNav,
    pub(crate) latest: Option<JobRow>,
    /// `None` if another server stores the page views.
    pub(crate) sparkline: Option<Sparkline>,
}

/// A quotation beside a prompt box.
pub(crate) struct QuotationField {
    pub(crate) label: String,
    pub(crate) text: String,
    /// The signed value that the form sends.
    pub(crate) value: String,
}

/// An API key in the list, without its secret.
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The beginning of the secret: `dw_8Kd2…`.
    pub(crate) masked: String,
    pub(crate) scope: String,
    /// "all projects", or the names of the key's projects.
    pub(crate) projects: String,
    /// The addresses that may use the key. Empty if any address may.
    pub(crate) allow: String,
    pub(crate) expiry: Expiry,
    pub(crate) last_used: Option<DisplayTime>,
    pub(crate) created: DisplayTime,
    /// `None` for keys from before this was recorded.
    pub(crate) creator: Option<String>,
}

/// Another project that a new key can have access to.
pub(crate) struct OtherProject {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) chosen: bool,
}

impl KeyRow {
    pub(super) fn is_revoked(&self) -> bool {
        self.expiry.kind == ExpiryKind::Revoked
    }
}

/// When a key expires, as text ("expires in 5 days") and as a kind.
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

/// A key that was just created, with its secret.
pub(crate) struct NewKey {
    pub(crate) secret: String,
    /// A command that uses the key, ready to paste.
    pub(crate) curl: String,
}

/// The fields of the form that creates a key.
pub(crate) struct KeyForm {
    pub(crate) name: String,
    /// `read` or `write`.
    pub(crate) scope: String,
    /// `7d`, `30d`, `60d`, `90d` or `never`.
    pub(crate) expires: String,
    pub(crate) only_this_project: bool,
    /// The ids of other projects that the key has access to.
    pub(crate) also: Vec<String>,
    /// A date, which takes precedence over `expires`.
    pub(crate) until: String,
    /// Addresses and CIDR ranges, one per line.
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

/// The state of a job and its pull request, as the dashboard shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    /// Completed, and the pull request is open.
    Review,
    Merged,
    Closed,
    /// Completed without changes, and so without a pull request.
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

    /// The value of the query parameter `state`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::NoChange => "unchanged",
            other => other.label(),
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Review => "review needed",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::NoChange => "no changes",
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

    pub(crate) fn is_active(self) -> bool {
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
    /// Lines.
    pub(crate) added: u64,
    pub(crate) removed: u64,
    /// With commas. `None` if no model was called.
    pub(crate) tokens: Option<String>,
    pub(crate) when: DisplayTime,
    pub(crate) duration: Option<String>,
}

impl JobRow {
    /// The state of a completed job already says what became of its pull request.
    pub(super) fn shows_pull_state(&self) -> bool {
        matches!(self.state, JobState::Running | JobState::Failed | JobState::Archived)
    }
}

/// An event of a job.
pub(crate) struct Step {
    pub(crate) number: u64,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) when: DisplayTime,
}

impl Step {
    pub(super) fn spans(&self) -> Vec<Span> {
        spans(&self.text)
    }
}

/// How a job ended.
pub(crate) struct JobResult {
    /// The result in one sentence.
    pub(crate) reason: String,
    pub(crate) summary: Vec<Block>,
    /// What the agent wasn't sure about and left for a person to decide.
    pub(crate) notes: Vec<String>,
    /// The results of the docs checks.
    pub(crate) checks: Vec<String>,
}

impl JobResult {
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

    pub(crate) fn from_name(name: &str) -> Option<Self> {
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

    pub(super) fn is_open(self) -> bool {
        self == Self::Open
    }
}

/// The link from a job to its pull request.
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
    pub(crate) when: DisplayTime,
}

pub(crate) struct Commit {
    /// Abbreviated.
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) author: String,
    pub(crate) when: DisplayTime,
}
