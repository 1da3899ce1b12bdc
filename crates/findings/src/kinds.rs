//! The detectors: one file for each kind of finding.
//!
//! # Scores
//!
//! A score estimates the readers hurt per day, so findings of all kinds sort in one list:
//!
//! | kind | readers hurt per day |
//! |---|---|
//! | `not-found`, `moved` | requests per day of the window: each of these readers got nothing |
//! | `dead-link` | [`CLICKS_PER_VIEW`] × views per day of the pages that link |
//! | `stale` | [`STALE_PER_VIEW`] × views per day × age over the tier's limit, at most [`MAX_AGE_FACTOR`] |
//!
//! The two shares are conventions, not measurements. People and AI readers count the same.

pub mod dead_link;
pub(crate) mod meaning;
pub mod moved;
pub mod not_found;
pub mod stale;

use crate::{Candidate, Settings};

/// The share of a page's readers who follow one of its links.
pub const CLICKS_PER_VIEW: f64 = 0.05;
/// The share of a page's readers whom its age hurts when it's just over the limit.
pub const STALE_PER_VIEW: f64 = 0.01;
pub const MAX_AGE_FACTOR: f64 = 10.0;

/// Requests of a window per day.
fn per_day(requests: u64, settings: &Settings) -> f64 {
    requests as f64 / f64::from(settings.window_days.max(1))
}

/// Sorts candidates by score. Drops new ones beyond the limit, and marks known ones there.
fn rank(mut candidates: Vec<Candidate>, known: impl Fn(&str) -> bool, settings: &Settings) -> Vec<Candidate> {
    candidates.sort_unstable_by(Candidate::by_score);
    let mut present = 0;
    candidates.retain_mut(|candidate| {
        present += u32::from(candidate.is_present);
        candidate.is_over_limit = candidate.is_present && present > settings.max_findings;
        !candidate.is_over_limit || known(&candidate.key)
    });
    candidates
}
