//! Defines the data of the page of a finding.

use askama::Template;

use super::prose::{Span, spans};
use super::{Chart, EffectSummary, FindingChip, PullRef, Section, Shell, with_commas};

/// `/p/{projectId}/findings/{id}`
#[derive(Template)]
#[template(path = "finding.html")]
pub(crate) struct Finding {
    pub(crate) shell: Shell,
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) state: FindingChip,
    /// What the state alone doesn't say.
    pub(crate) note: Option<String>,
    /// Requests, or views of a page that exists.
    pub(crate) counted: &'static str,
    pub(crate) human: u64,
    pub(crate) ai: u64,
    pub(crate) window_days: u32,
    pub(crate) steps: Vec<FindingStep>,
    pub(crate) effect: Option<EffectSummary>,
    /// The merge is too recent for an effect.
    pub(crate) awaits_effect: bool,
    /// The pages that readers may have looked for.
    pub(crate) candidates: Vec<Target>,
    pub(crate) chart: Option<Chart>,
    pub(crate) paths: Vec<CountedPath>,
    pub(crate) more_paths: u64,
    pub(crate) referrers: Vec<(String, String)>,
    /// Pages that have the fault.
    pub(crate) pages: Vec<String>,
    pub(crate) more_pages: u64,
    pub(crate) fix: Fix,
    pub(crate) can_dismiss: bool,
    /// The reason as typed, if it was refused.
    pub(crate) reason: String,
    pub(crate) once: String,
    pub(crate) error: Option<String>,
}

impl Finding {
    fn note_spans(&self) -> Vec<Span> {
        spans(self.note.as_deref().unwrap_or_default())
    }

    fn human_requests(&self) -> String {
        with_commas(self.human)
    }

    fn ai_requests(&self) -> String {
        with_commas(self.ai)
    }
}

/// A page that readers may have looked for, and why.
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) reason: String,
}

impl Target {
    fn reason_spans(&self) -> Vec<Span> {
        spans(&self.reason)
    }
}

/// Whether a job can fix the finding.
pub(crate) enum Fix {
    /// With this prompt, which the person can edit.
    Prompt(String),
    /// Only with a model, which the project doesn't have.
    NeedsModel,
    /// A job fixes it already, or nothing is left to fix.
    Taken,
}

/// Something that happened to the finding.
pub(crate) struct FindingStep {
    pub(crate) day: String,
    pub(crate) what: &'static str,
    pub(crate) job: Option<String>,
    pub(crate) pull: Option<PullRef>,
}

/// A path with its human and AI requests.
pub(crate) struct CountedPath {
    pub(crate) path: String,
    pub(crate) figures: [String; 2],
}
