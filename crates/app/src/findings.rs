//! Keeps the findings of projects: what hurts the readers of the docs, and what a merge did for them.
//!
//! The crate `findings` decides. This module gives it the counts of page views and the content of the docs, stores what
//! it decides, and starts the jobs that fix findings.

mod candidates;
mod counts;
mod effect;
mod fix;
mod known;
mod observations;
mod refresh;
mod scan;
mod summary;
mod words;

pub use candidates::{FindingCandidate, find_candidates};
pub use counts::day_of_second;
pub use effect::{JobEffect, MergeEffect, effect_of_finding, effect_of_job, effects_of_merges};
pub use fix::{FixError, quotations, suggested_prompt, validate_selection};
pub use refresh::refresh_due_findings;
pub use scan::{ScannedPage, SiteScan};
pub use summary::{Summary, WeekCount, WeekFindings, last_week, week_of, weekly_summary};
pub use words::{counted, kind_label, note_sentence, parse_reason, state_label, verdict_word};
