//! Defines the data of the list of findings, and the parts that other pages show of findings.

use askama::Template;

use super::prose::{MAX_OPEN_LINES, Span, spans};
use super::{LinkChoice, PullRef, Section, Shell, with_commas};

/// `/p/{projectId}/findings`
#[derive(Template)]
#[template(path = "findings.html")]
pub(crate) struct Findings {
    pub(crate) shell: Shell,
    pub(crate) groups: Vec<FindingGroup>,
    pub(crate) states: Vec<CountedLink>,
    pub(crate) kinds: Vec<CountedLink>,
    pub(crate) readers: Vec<LinkChoice>,
    pub(crate) sorts: Vec<LinkChoice>,
    /// The findings of any kind in any state.
    pub(crate) total: u64,
    /// The URLs of the adjacent pages of the list, if there are any.
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    /// What to do so that findings can appear.
    pub(crate) hint: Option<SourceHint>,
    /// The query of this list, for the forms that return to it.
    pub(crate) query: String,
    /// The idempotency token of this page's forms.
    pub(crate) once: String,
    pub(crate) was_dismissed: bool,
    pub(crate) error: Option<String>,
}

/// A link to a filtered list, with the number of its findings.
pub(crate) struct CountedLink {
    pub(crate) href: String,
    pub(crate) label: String,
    pub(crate) count: u64,
    pub(crate) chosen: bool,
}

impl CountedLink {
    pub(super) fn figure(&self) -> String {
        with_commas(self.count)
    }
}

/// Why the page may have no findings.
pub(crate) struct SourceHint {
    /// No view has arrived yet. Otherwise, views have arrived, and no request that wasn't found.
    pub(crate) has_no_views: bool,
    /// The command that imports a log.
    pub(crate) import: String,
}

/// The findings of one kind.
pub(crate) struct FindingGroup {
    pub(crate) kind: &'static str,
    pub(crate) title: &'static str,
    /// What the kind means for readers.
    pub(crate) meaning: &'static str,
    /// What the numbers of the rows count.
    pub(crate) counted: &'static str,
    /// No job can be created, because the project has no language model.
    pub(crate) needs_model: bool,
    pub(crate) rows: Vec<FindingRow>,
    /// The URL of the full list, if this list is truncated.
    pub(crate) full_list: Option<String>,
    pub(crate) count: u64,
}

impl FindingGroup {
    pub(super) fn figure(&self) -> String {
        with_commas(self.count)
    }

    /// The rows that a job can be created for.
    pub(super) fn fixable(&self) -> impl Iterator<Item = &FindingRow> {
        self.rows.iter().filter(|row| row.waits && !self.needs_model)
    }

    pub(super) fn fixable_ids(&self) -> String {
        self.fixable().map(|row| row.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn lacks_model(&self) -> bool {
        self.needs_model && self.rows.iter().any(|row| row.waits)
    }
}

pub(crate) struct FindingRow {
    pub(crate) id: String,
    pub(crate) link: FindingLink,
    /// The page that the subject certainly means.
    pub(crate) target: Option<String>,
    pub(crate) human: u64,
    pub(crate) ai: u64,
    pub(crate) job: Option<String>,
    pub(crate) pull: Option<PullRef>,
    /// A job can be created for it.
    pub(crate) waits: bool,
    pub(crate) can_dismiss: bool,
}

impl FindingRow {
    pub(super) fn figures(&self) -> [String; 2] {
        [self.human, self.ai].map(with_commas)
    }
}

/// A finding, as other pages name it.
pub(crate) struct FindingLink {
    pub(crate) href: String,
    pub(crate) subject: String,
    pub(crate) kind: &'static str,
    pub(crate) state: FindingChip,
    /// What the state alone doesn't say.
    pub(crate) note: Option<String>,
}

impl FindingLink {
    pub(super) fn note_spans(&self) -> Vec<Span> {
        spans(self.note.as_deref().unwrap_or_default())
    }
}

#[derive(Clone)]
pub(crate) struct FindingChip {
    pub(crate) label: String,
    pub(crate) class: &'static str,
}

impl FindingChip {
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn class(&self) -> &'static str {
        self.class
    }
}

/// What a merge did for readers.
pub(crate) struct EffectSummary {
    pub(crate) sentences: Vec<String>,
    /// The compared days, such as "Nov 1 – Nov 14".
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) rows: Vec<EffectRow>,
}

/// A measure with "before → after" of human, AI and all readers.
pub(crate) struct EffectRow {
    pub(crate) measure: &'static str,
    pub(crate) cells: Vec<EffectCell>,
}

pub(crate) struct EffectCell {
    pub(crate) numbers: String,
    /// Whether the numbers differ by more than chance, in a word or two.
    pub(crate) verdict: &'static str,
}

/// The findings that a job was created to fix, and the effect of its merge.
#[derive(Default)]
pub(crate) struct FixedFindings {
    pub(crate) findings: Vec<FindingLink>,
    pub(crate) effect: Option<EffectSummary>,
}

impl FixedFindings {
    pub(super) fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.effect.is_none()
    }

    pub(super) fn is_long(&self) -> bool {
        self.findings.len() > MAX_OPEN_LINES
    }
}
