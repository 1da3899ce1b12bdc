//! The states of a finding, and the state machine that moves it from open to resolved.
//!
//! [`next`] makes at most one transition. It is pure, so calling it again after a crash with the same facts is harmless,
//! and with unchanged facts it reaches a state that it keeps.

mod judge;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::days::{days_after, days_between, window_start};
use crate::{Evidence, Facts, JobStatus, PullRequest, PullRequestStatus, Settings};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Open,
    /// A job works on it.
    Proposed,
    /// Its pull request is open, or merged and not shipped yet.
    InReview,
    /// The merge is live, or is assumed to be. The finding waits to be judged.
    Shipped,
    Resolved,
    /// The merge shipped, and the evidence continues.
    Persists,
    Dismissed,
}

impl State {
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::Proposed,
        Self::InReview,
        Self::Shipped,
        Self::Resolved,
        Self::Persists,
        Self::Dismissed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Proposed => "proposed",
            Self::InReview => "in-review",
            Self::Shipped => "shipped",
            Self::Resolved => "resolved",
            Self::Persists => "persists",
            Self::Dismissed => "dismissed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// What a state alone doesn't say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Note {
    /// It counts as shipped because the delay passed; no view shows the subject live.
    NotSeenLive,
    /// The pull request was closed without a merge.
    ClosedUnmerged { reason: String },
    /// A person dismissed the finding.
    DismissedByPerson { reason: String },
    /// The evidence went away without a merge of Docwright.
    Faded,
    /// No page has the dead link any more, by a change that doesn't belong to the finding.
    Unlinked,
}

/// The state of a finding, with what the state machine must remember.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingState {
    pub state: State,
    /// The day on which the finding entered the state.
    pub since: Date,
    #[serde(default)]
    pub note: Option<Note>,
    /// The day of the merge that shipped last.
    #[serde(default)]
    pub merged_on: Option<Date>,
    #[serde(default)]
    pub shipped_on: Option<Date>,
    /// The pull request that shipped or was closed last. It causes no further transition.
    #[serde(default)]
    pub settled_pull_request: Option<String>,
    /// Requests per window when the finding was dismissed or resolved. Those of a younger finding are scaled up.
    #[serde(default)]
    pub baseline: u64,
    /// Since when the detector no longer reports the finding.
    #[serde(default)]
    pub absent_since: Option<Date>,
}

/// A rate rests on at least as many days: the first day of a finding may be one burst.
const MIN_RATE_DAYS: u32 = 7;

/// The state after today's facts.
pub fn next(finding: &FindingState, facts: &Facts<'_>, settings: &Settings) -> FindingState {
    let mut next = finding.clone();
    next.absent_since = match facts.is_present {
        true => None,
        false => next.absent_since.or(Some(facts.today)),
    };
    match finding.state {
        State::Open | State::Proposed | State::InReview | State::Persists => {
            next.follow_work(facts, settings)
        }
        State::Shipped => next.follow_shipped(facts, settings),
        State::Resolved => next.follow_resolved(facts, settings),
        State::Dismissed => next.follow_dismissed(facts, settings),
    }
    next
}

impl FindingState {
    pub fn open(today: Date) -> Self {
        Self {
            state: State::Open,
            since: today,
            note: None,
            merged_on: None,
            shipped_on: None,
            settled_pull_request: None,
            baseline: 0,
            absent_since: None,
        }
    }

    /// The state after a person dismisses the finding.
    pub fn dismiss(&self, reason: &str, evidence: &Evidence, today: Date, settings: &Settings) -> Self {
        let mut next = self.clone();
        next.enter(State::Dismissed, today);
        next.note = Some(Note::DismissedByPerson { reason: reason.to_owned() });
        next.baseline = expected_requests(evidence, today, settings);
        next
    }

    /// The state after a job was created for the finding.
    pub fn propose(&self, today: Date) -> Self {
        let mut next = self.clone();
        next.enter(State::Proposed, today);
        next
    }

    /// The state after a person opens a closed finding again.
    pub fn reopen(&self, today: Date) -> Self {
        let mut next = self.clone();
        next.enter(State::Open, today);
        next
    }

    fn enter(&mut self, state: State, today: Date) {
        if self.state != state {
            self.state = state;
            self.since = today;
            self.note = None;
        }
    }

    fn follow_work(&mut self, facts: &Facts<'_>, settings: &Settings) {
        match self.unsettled(facts).map(|pull| (&pull.id, &pull.status)) {
            Some((_, PullRequestStatus::Open)) => self.enter(State::InReview, facts.today),
            Some((id, PullRequestStatus::Merged { on })) => self.follow_merge(id, *on, facts, settings),
            Some((id, PullRequestStatus::Closed { .. })) if facts.is_unlinked => {
                self.resolve(Note::Unlinked, facts, settings);
                self.settled_pull_request = Some(id.to_owned());
            }
            Some((id, PullRequestStatus::Closed { reason })) => self.close(id, reason, facts, settings),
            None if facts.job == JobStatus::Active => self.enter(State::Proposed, facts.today),
            None => self.follow_absence(facts, settings),
        }
    }

    /// The pull request, unless it shipped or was closed before.
    fn unsettled<'a>(&self, facts: &'a Facts<'_>) -> Option<&'a PullRequest> {
        facts.pull_request.as_ref().filter(|pull| self.settled_pull_request.as_ref() != Some(&pull.id))
    }

    fn follow_merge(&mut self, id: &str, merged_on: Date, facts: &Facts<'_>, settings: &Settings) {
        let live = facts.live_since.filter(|day| *day >= merged_on);
        let assumed = days_after(merged_on, settings.shipped_delay_days);
        let (shipped_on, note) = match live {
            Some(day) => (day, None),
            None if facts.today >= assumed => (assumed, Some(Note::NotSeenLive)),
            None => return self.enter(State::InReview, facts.today),
        };
        self.enter(State::Shipped, facts.today);
        self.note = note;
        self.merged_on = Some(merged_on);
        self.shipped_on = Some(shipped_on);
        self.settled_pull_request = Some(id.to_owned());
    }

    fn close(&mut self, id: &str, reason: &str, facts: &Facts<'_>, settings: &Settings) {
        self.enter(State::Dismissed, facts.today);
        self.note = Some(Note::ClosedUnmerged { reason: reason.to_owned() });
        self.settled_pull_request = Some(id.to_owned());
        self.baseline = expected_requests(facts.evidence, facts.today, settings);
    }

    fn resolve(&mut self, note: Note, facts: &Facts<'_>, settings: &Settings) {
        self.enter(State::Resolved, facts.today);
        self.note = Some(note);
        self.baseline = requests_in_window(facts.evidence, facts.today, settings);
    }

    /// Nothing works on the finding: it's open, unless nothing links to it, or its evidence has been away for long enough.
    fn follow_absence(&mut self, facts: &Facts<'_>, settings: &Settings) {
        let absent_days = self.absent_since.map_or(0, |since| days_between(since, facts.today));
        let waits = matches!(self.state, State::Open | State::Persists);
        match waits {
            true if facts.is_unlinked => self.resolve(Note::Unlinked, facts, settings),
            true if absent_days >= settings.judge_days => self.resolve(Note::Faded, facts, settings),
            true => {}
            false => self.enter(State::Open, facts.today),
        }
    }

    fn follow_shipped(&mut self, facts: &Facts<'_>, settings: &Settings) {
        let newer = self.unsettled(facts).map(|pull| &pull.status);
        if matches!(newer, Some(PullRequestStatus::Open | PullRequestStatus::Merged { .. })) {
            return self.follow_work(facts, settings);
        }
        let live = facts.live_since.filter(|day| self.merged_on.is_some_and(|merged| *day >= merged));
        if self.note == Some(Note::NotSeenLive) && live.is_some() {
            self.shipped_on = live;
            self.note = None;
        }
        judge::judge(self, facts, settings);
    }

    fn follow_resolved(&mut self, facts: &Facts<'_>, settings: &Settings) {
        let first = window_start(facts.today, settings.window_days).max(days_after(self.since, 1));
        let requests = facts.evidence.requests_between(first, facts.today);
        let is_back = facts.kind.is_in_repository() || self.has_grown(requests, settings);
        if facts.is_present && is_back {
            self.enter(State::Open, facts.today);
        }
    }

    fn follow_dismissed(&mut self, facts: &Facts<'_>, settings: &Settings) {
        if self.is_pull_request_revived(facts) {
            self.settled_pull_request = None;
            return self.follow_work(facts, settings);
        }
        let requests = requests_in_window(facts.evidence, facts.today, settings);
        if facts.is_present && self.has_grown(requests, settings) {
            self.enter(State::Open, facts.today);
            let ended = facts.pull_request.as_ref().filter(|pull| pull.status != PullRequestStatus::Open);
            self.settled_pull_request =
                ended.map(|pull| pull.id.clone()).or(self.settled_pull_request.take());
        }
    }

    /// Whether the pull request whose end dismissed the finding was opened again or merged after all.
    fn is_pull_request_revived(&self, facts: &Facts<'_>) -> bool {
        let was_closed = matches!(self.note, Some(Note::ClosedUnmerged { .. }));
        was_closed
            && facts.pull_request.as_ref().is_some_and(|pull| {
                let is_closed = matches!(pull.status, PullRequestStatus::Closed { .. });
                !is_closed && self.settled_pull_request.as_ref() == Some(&pull.id)
            })
    }

    fn has_grown(&self, requests: u64, settings: &Settings) -> bool {
        let grown = self.baseline as f64 * settings.reopen_factor;
        requests > self.baseline && requests >= settings.min_requests && requests as f64 >= grown
    }
}

fn requests_in_window(evidence: &Evidence, today: Date, settings: &Settings) -> u64 {
    evidence.requests_between(window_start(today, settings.window_days), today)
}

/// The requests of a whole window at the rate so far. Without this, a finding dismissed in its first days would come back
/// at the same rate, only because the window filled.
fn expected_requests(evidence: &Evidence, today: Date, settings: &Settings) -> u64 {
    let window = settings.window_days.max(1);
    let seen = evidence.first_seen.map_or(window, |first| days_between(first, today).saturating_add(1));
    let days = seen.max(MIN_RATE_DAYS).min(window);
    let requests = requests_in_window(evidence, today, settings);
    requests.saturating_mul(window.into()).div_ceil(days.into())
}
