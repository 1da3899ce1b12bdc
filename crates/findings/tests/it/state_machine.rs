//! Every combination of a reachable state and of facts, tried exhaustively.

use std::collections::HashSet;

use findings::{
    Evidence, Facts, FindingState, JobStatus, Kind, Note, PullRequest, PullRequestStatus, Settings, State,
    next,
};

use crate::{day, requests};

/// Facts with their own evidence.
#[derive(Clone)]
struct Situation {
    kind: Kind,
    today: i64,
    job: JobStatus,
    pull_request: Option<PullRequest>,
    live_since: Option<i64>,
    evidence: Evidence,
    is_present: bool,
    is_unlinked: bool,
}

impl Situation {
    fn step(&self, finding: &FindingState) -> FindingState {
        let facts = Facts {
            kind: self.kind,
            today: day(self.today),
            job: self.job,
            pull_request: self.pull_request.clone(),
            live_since: self.live_since.map(day),
            evidence: &self.evidence,
            is_present: self.is_present,
            is_unlinked: self.is_unlinked,
        };
        next(finding, &facts, &Settings::default())
    }
}

fn pull_requests() -> Vec<Option<PullRequest>> {
    let statuses = [
        PullRequestStatus::Open,
        PullRequestStatus::Merged { on: day(1) },
        PullRequestStatus::Closed { reason: "no".to_owned() },
    ];
    let all = ["1", "2"].iter().flat_map(|id| {
        statuses.iter().map(|status| Some(PullRequest { id: (*id).to_owned(), status: status.clone() }))
    });
    all.chain([None]).collect()
}

/// No requests, requests that stop before the merge, and requests that grow.
fn evidences() -> [Evidence; 3] {
    let with_counts = |counts: &[(i64, u64)]| {
        let mut evidence = Evidence::default();
        counts.iter().for_each(|(number, count)| evidence.set_day(requests(*number, *count)));
        evidence
    };
    let growing = [(-9, 30), (4, 60), (9, 90), (18, 300), (34, 2_000)];
    [Evidence::default(), with_counts(&[(-9, 60), (-2, 30)]), with_counts(&growing)]
}

/// All facts of one day.
fn situations(kind: Kind, today: i64) -> Vec<Situation> {
    let mut all = Vec::new();
    for job in [JobStatus::Missing, JobStatus::Active, JobStatus::Ended] {
        for pull_request in pull_requests() {
            for live_since in [None, Some(2)] {
                for evidence in evidences() {
                    for (is_present, is_unlinked) in [(false, false), (false, true), (true, false)] {
                        let (pull_request, evidence) = (pull_request.clone(), evidence.clone());
                        all.push(Situation {
                            kind,
                            today,
                            job,
                            pull_request,
                            live_since,
                            evidence,
                            is_present,
                            is_unlinked,
                        });
                    }
                }
            }
        }
    }
    all
}

/// Calls `check` with each step from each state that can be reached in some days with any facts.
fn for_each_step(kind: Kind, mut check: impl FnMut(&FindingState, &Situation, &FindingState)) {
    let mut reached = HashSet::from([FindingState::open(day(0))]);
    for today in [2, 20, 21, 35] {
        let mut later = HashSet::new();
        let situations = situations(kind, today);
        for finding in &reached {
            let dismissed = finding.dismiss("mine", &evidences()[1], day(today), &Settings::default());
            for situation in &situations {
                for from in [finding, &dismissed] {
                    let to = situation.step(from);
                    check(from, situation, &to);
                    later.insert(to);
                }
            }
        }
        reached = later;
    }
    let states: HashSet<_> = reached.iter().map(|finding| finding.state).collect();
    assert_eq!(states.len(), State::ALL.len(), "every state is reachable: {states:?}");
}

/// The states that one step can lead to, besides staying.
fn allowed(from: State) -> &'static [State] {
    use State::*;
    match from {
        Open => &[Proposed, InReview, Shipped, Dismissed, Resolved],
        Proposed => &[Open, InReview, Shipped, Dismissed, Resolved],
        InReview => &[Open, Proposed, Shipped, Dismissed, Resolved],
        Shipped => &[InReview, Resolved, Persists],
        Persists => &[Proposed, InReview, Shipped, Dismissed, Resolved],
        Resolved => &[Open],
        Dismissed => &[Open, InReview, Shipped],
    }
}

#[test]
fn every_step_is_allowed_explained_and_settles() {
    for kind in Kind::ALL {
        let mut transitions = HashSet::new();
        for_each_step(kind, |from, situation, to| {
            check_transition(from, situation, to);
            check_note(to);
            check_settles(from, situation, to);
            check_reopening(from, situation, to);
            transitions.insert((from.state, to.state));
        });
        let possible = State::ALL.iter().map(|from| allowed(*from).len() + 1).sum::<usize>();
        assert_eq!(
            transitions.len(),
            possible,
            "each allowed transition occurs for {kind:?}: {transitions:?}"
        );
    }
}

#[track_caller]
fn check_transition(from: &FindingState, situation: &Situation, to: &FindingState) {
    if from.state == to.state {
        assert_eq!(from.since, to.since);
    } else {
        assert!(
            allowed(from.state).contains(&to.state),
            "{from:?} -> {to:?} by {:?}",
            situation.pull_request
        );
        assert_eq!(to.since, day(situation.today));
    }
    assert_eq!(to.absent_since.is_none(), situation.is_present);
}

#[track_caller]
fn check_note(to: &FindingState) {
    let has_reason = matches!(to.note, Some(Note::ClosedUnmerged { .. } | Note::DismissedByPerson { .. }));
    assert_eq!(has_reason, to.state == State::Dismissed, "{to:?}");
    if to.note == Some(Note::NotSeenLive) {
        assert!(matches!(to.state, State::Shipped | State::Persists | State::Resolved), "{to:?}");
    }
}

/// The same facts again lead to a state that stays, so a chore that repeats a run changes nothing.
#[track_caller]
fn check_settles(from: &FindingState, situation: &Situation, to: &FindingState) {
    if from == to {
        return;
    }
    let mut finding = to.clone();
    for _ in 0..3 {
        finding = situation.step(&finding);
    }
    assert_eq!(situation.step(&finding), finding, "{:?}", situation.pull_request);
}

#[track_caller]
fn check_reopening(from: &FindingState, situation: &Situation, to: &FindingState) {
    if (from.state, to.state) == (State::Dismissed, State::Open) {
        let today = situation.today;
        let requests = situation.evidence.requests_between(day(today - 29), day(today));
        assert!(requests >= 2 * from.baseline && requests >= 5, "{requests} after {}", from.baseline);
    }
}
