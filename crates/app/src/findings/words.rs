//! What states, notes, counts and verdicts of findings are called.

use findings::{FindingState, Kind, Measure, Note, State, Verdict};

const MAX_REASON_CHARS: usize = 500;

/// What the state alone doesn't say, as a sentence.
pub fn note_sentence(lifecycle: &FindingState) -> Option<String> {
    Some(match lifecycle.note.as_ref()? {
        Note::NotSeenLive => match lifecycle.shipped_on {
            Some(day) => format!("Merged. No view showed the change, so it counts as live from {day}"),
            None => "Merged. No view showed the change yet".to_owned(),
        },
        Note::ClosedUnmerged { reason } => reason.clone(),
        Note::DismissedByPerson { reason } => reason.clone(),
        Note::Unlinked => "No page of the docs links to it any more".to_owned(),
        Note::Faded => "Readers stopped asking for it without a merge".to_owned(),
    })
}

/// What the numbers of a finding count: failed requests, or views of pages that exist.
pub fn counted(kind: Kind) -> &'static str {
    if kind.counts_failures() { "requests" } else { "views" }
}

/// A verdict in a word or two, for a place beside its numbers.
pub fn verdict_word(measure: Measure, verdict: Verdict) -> &'static str {
    match (verdict, measure) {
        (Verdict::Better, Measure::NotFound) | (Verdict::Worse, Measure::Views | Measure::Visitors) => {
            "fewer"
        }
        (Verdict::Worse, Measure::NotFound) | (Verdict::Better, Measure::Views | Measure::Visitors) => "more",
        (Verdict::NoChange, _) => "no difference",
        (Verdict::TooFew, _) => "too few",
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

/// Why a finding is dismissed, in a person's words. The error is what a reason must be.
pub fn parse_reason(text: &str) -> Result<&str, String> {
    let text = text.trim();
    let is_long = text.chars().count() > MAX_REASON_CHARS;
    if is_long || !text.chars().any(char::is_alphanumeric) {
        return Err(format!("have 1 to {MAX_REASON_CHARS} characters, with a letter or a digit"));
    }
    let is_bad = |c: &char| (c.is_control() && *c != '\n' && *c != '\r') || store::is_invisible(*c);
    match text.chars().find(is_bad) {
        Some(bad) => Err(format!("have no invisible characters, got {}", bad.escape_unicode())),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn an_assumed_day_is_said_to_be_assumed() {
        let mut shipped = FindingState::open(date(2026, 11, 1));
        assert_eq!(note_sentence(&shipped), None);
        shipped.note = Some(Note::NotSeenLive);
        shipped.shipped_on = Some(date(2026, 11, 4));
        let note = "Merged. No view showed the change, so it counts as live from 2026-11-04";
        assert_eq!(note_sentence(&shipped).unwrap(), note);
    }

    #[test]
    fn fewer_views_are_worse_and_fewer_failures_are_better() {
        assert_eq!(verdict_word(Measure::NotFound, Verdict::Better), "fewer");
        assert_eq!(verdict_word(Measure::Views, Verdict::Better), "more");
        assert_eq!(verdict_word(Measure::Visitors, Verdict::Worse), "fewer");
        assert_eq!(verdict_word(Measure::Views, Verdict::TooFew), "too few");
    }
}
