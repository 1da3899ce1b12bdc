//! How far the move of a project is, as the ledger keeps it.

use serde::{Deserialize, Serialize};

use crate::sqlite::export::IdCursor;
use crate::views::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The project, and the names of its pages.
    #[default]
    Pages,
    /// The progress of imported files.
    Imports,
    /// Rollups of days whose raw events are deleted.
    Rollups,
    /// Raw events.
    Events,
    Ids,
    Complete,
}

/// A part that may have been sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    /// The last day or block of the part.
    pub(super) until: i64,
    pub(super) token: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ProjectState {
    pub(super) stage: Stage,
    /// The last page, day or block of the stage that was moved.
    pub(super) after: i64,
    /// The last imported file whose progress was moved.
    #[serde(default)]
    pub(super) file: Option<String>,
    pub(super) ids: IdCursor,
    pub(super) pending: Option<Pending>,
    /// The raw events that were moved.
    pub(super) events: u64,
}

impl ProjectState {
    pub(super) fn encode(&self) -> String {
        // Numbers and text cannot fail to become JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn decode(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(Failure::new)
    }

    /// This state at the beginning of another stage.
    pub(super) fn at(&self, stage: Stage) -> Self {
        // Days can be before 1970, blocks are numbered from 1.
        let after = if stage == Stage::Rollups { i64::MIN } else { 0 };
        Self { stage, after, ..self.clone() }
    }
}

pub(super) fn step_of(project: i64) -> String {
    format!("views {project}")
}
