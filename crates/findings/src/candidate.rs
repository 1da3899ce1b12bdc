//! What a detector reports: a finding before it's stored.

use std::cmp::Ordering;

use crate::{Evidence, Kind};

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub kind: Kind,
    /// Identifies the finding within its project and kind, also when its most requested path changes.
    pub key: String,
    /// The path that the finding is named for.
    pub subject: String,
    /// The page that the subject certainly means, if there is one.
    pub target: Option<String>,
    pub evidence: Evidence,
    /// Whether the evidence is enough for an open finding. A detector also reports known findings whose evidence is no
    /// longer enough.
    pub is_present: bool,
    /// Whether more than `max_findings` others hurt more readers. Delete such a finding if it's open and has no job.
    pub is_over_limit: bool,
    /// How many readers the finding hurts, see [`kinds`](crate::kinds).
    pub score: f64,
}

impl Candidate {
    /// The order of a list of findings: the most hurt readers first.
    pub fn by_score(a: &Self, b: &Self) -> Ordering {
        b.score.total_cmp(&a.score).then_with(|| a.kind.cmp(&b.kind)).then_with(|| a.key.cmp(&b.key))
    }
}
