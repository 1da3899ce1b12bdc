//! What states and notes of findings are called.

use findings::{Kind, Note, State};

/// What the state alone doesn't say, as a sentence.
pub fn note_sentence(note: &Note) -> String {
    match note {
        Note::NotSeenLive => "Merged, not seen live yet".to_owned(),
        Note::ClosedUnmerged { reason } => reason.clone(),
        Note::DismissedByPerson { reason } => reason.clone(),
        Note::Faded => "Readers stopped asking for it without a merge".to_owned(),
    }
}

pub fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::NotFound => "Not found",
        Kind::Moved => "Moved without a redirect",
        Kind::DeadLink => "Dead link",
        Kind::Stale => "Stale page",
    }
}

pub fn state_label(state: State) -> &'static str {
    match state {
        State::Open => "Open",
        State::Proposed => "Job running",
        State::InReview => "In review",
        State::Shipped => "Shipped",
        State::Resolved => "Resolved",
        State::Persists => "Persists",
        State::Dismissed => "Dismissed",
    }
}
