//! Judges a shipped finding: resolved, or persists.

use jiff::civil::Date;

use super::{FindingState, State};
use crate::days::{days_after, days_before};
use crate::{Evidence, Facts, Settings};

/// A finding whose requests fell to a tenth is resolved, even if the rest alone would make a finding.
const MAX_REMAINDER: u64 = 10;

/// Judges the finding when `judge_days` have passed since it shipped. Today doesn't count: it isn't over.
pub(super) fn judge(finding: &mut FindingState, facts: &Facts<'_>, settings: &Settings) {
    let (Some(merged_on), Some(shipped_on)) = (finding.merged_on, finding.shipped_on) else { return };
    if facts.today <= days_after(shipped_on, settings.judge_days) {
        return;
    }
    let counts = RequestCounts::count(facts.evidence, merged_on, shipped_on, settings.judge_days);
    let stopped = !facts.kind.counts_failures() || counts.have_stopped(settings);
    let is_removed = !facts.kind.is_in_repository() || !facts.is_present;
    let note = finding.note.take();
    if stopped && is_removed {
        finding.enter(State::Resolved, facts.today);
        finding.baseline = counts.after_per_window(settings);
    } else {
        finding.enter(State::Persists, facts.today);
    }
    finding.note = note;
}

/// Requests in the same number of days before a merge and after it shipped.
struct RequestCounts {
    before: u64,
    after: u64,
}

impl RequestCounts {
    fn count(evidence: &Evidence, merged_on: Date, shipped_on: Date, days: u32) -> Self {
        Self {
            before: evidence.requests_between(days_before(merged_on, days), days_before(merged_on, 1)),
            after: evidence.requests_between(days_after(shipped_on, 1), days_after(shipped_on, days)),
        }
    }

    fn have_stopped(&self, settings: &Settings) -> bool {
        let is_small = self.after_per_window(settings) < settings.min_requests;
        is_small || self.after.saturating_mul(MAX_REMAINDER) <= self.before
    }

    fn after_per_window(&self, settings: &Settings) -> u64 {
        let requests = self.after.saturating_mul(settings.window_days.into());
        requests.div_ceil(u64::from(settings.judge_days).max(1))
    }
}
