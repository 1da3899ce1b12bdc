//! Findings move from open to resolved as people expect it.

use findings::{
    Evidence, Facts, FindingState, JobStatus, Kind, Note, PullRequest, PullRequestStatus, Settings, State,
    next,
};

use crate::{day, requests};

/// A finding, and what is known about it.
struct Story {
    finding: FindingState,
    kind: Kind,
    job: JobStatus,
    pull_request: Option<PullRequest>,
    live_since: Option<i64>,
    evidence: Evidence,
    is_present: bool,
    is_unlinked: bool,
}

impl Story {
    /// 3 requests on each of the 30 days up to day 0.
    fn new(kind: Kind) -> Self {
        let mut evidence = Evidence::default();
        (-29..=0).for_each(|number| evidence.set_day(requests(number, 3)));
        Self {
            finding: FindingState::open(day(0)),
            kind,
            job: JobStatus::Missing,
            pull_request: None,
            live_since: None,
            evidence,
            is_present: true,
            is_unlinked: false,
        }
    }

    fn pull_request(&mut self, id: &str, status: PullRequestStatus) {
        self.job = JobStatus::Ended;
        self.pull_request = Some(PullRequest { id: id.to_owned(), status });
    }

    fn merged(kind: Kind, on: i64) -> Self {
        let mut story = Self::new(kind);
        story.pull_request("1", PullRequestStatus::Merged { on: day(on) });
        story
    }

    fn request(&mut self, days: std::ops::RangeInclusive<i64>, count: u64) {
        days.for_each(|number| self.evidence.set_day(requests(number, count)));
    }

    #[track_caller]
    fn check(&mut self, today: i64, expected: State) {
        let facts = Facts {
            kind: self.kind,
            today: day(today),
            job: self.job,
            pull_request: self.pull_request.clone(),
            live_since: self.live_since.map(day),
            evidence: &self.evidence,
            is_present: self.is_present,
            is_unlinked: self.is_unlinked,
        };
        self.finding = next(&self.finding, &facts, &Settings::default());
        assert_eq!(self.finding.state, expected, "{:?}", self.finding);
    }
}

#[test]
fn a_fixed_path_is_resolved() {
    let mut story = Story::new(Kind::NotFound);
    story.check(0, State::Open);
    story.job = JobStatus::Active;
    story.check(0, State::Proposed);
    story.pull_request("1", PullRequestStatus::Open);
    story.check(1, State::InReview);
    story.pull_request("1", PullRequestStatus::Merged { on: day(2) });
    story.check(2, State::InReview);
    story.live_since = Some(3);
    story.check(3, State::Shipped);
    assert_eq!((story.finding.merged_on, story.finding.shipped_on), (Some(day(2)), Some(day(3))));
    story.check(17, State::Shipped);
    story.check(18, State::Resolved);
    assert_eq!(story.finding.note, None);
}

#[test]
fn a_path_that_is_still_not_found_persists() {
    let mut story = Story::merged(Kind::NotFound, 1);
    story.request(1..=20, 3);
    // What was live before the merge proves nothing.
    story.live_since = Some(0);
    story.check(2, State::InReview);
    story.check(4, State::Shipped);
    assert_eq!(story.finding.note, Some(Note::NotSeenLive));
    story.check(19, State::Persists);
    assert_eq!(story.finding.note, Some(Note::NotSeenLive));
    story.check(20, State::Persists);
    story.job = JobStatus::Active;
    story.pull_request = None;
    story.check(20, State::Proposed);
    story.pull_request("2", PullRequestStatus::Merged { on: day(21) });
    story.live_since = Some(21);
    story.check(21, State::Shipped);
    story.check(36, State::Resolved);
}

#[test]
fn a_path_that_goes_live_late_is_judged_from_then_on() {
    let mut story = Story::merged(Kind::NotFound, 1);
    story.request(1..=9, 3);
    story.check(4, State::Shipped);
    story.live_since = Some(9);
    story.check(10, State::Shipped);
    assert_eq!((story.finding.shipped_on, &story.finding.note), (Some(day(9)), &None));
    story.check(23, State::Shipped);
    story.check(24, State::Resolved);
}

#[test]
fn most_requests_gone_is_resolved_and_more_opens_it_again() {
    let mut story = Story::merged(Kind::NotFound, 1);
    story.live_since = Some(1);
    story.request(-29..=0, 30);
    story.request(1..=60, 3);
    story.check(1, State::Shipped);
    story.check(16, State::Resolved);
    assert_eq!(story.finding.baseline, 90, "3 per day in 30 days");
    story.check(60, State::Resolved);
    story.request(40..=60, 9);
    story.check(60, State::Open);
}

#[test]
fn a_job_without_a_pull_request_leaves_the_finding_open() {
    let mut story = Story::new(Kind::NotFound);
    story.job = JobStatus::Active;
    story.check(0, State::Proposed);
    story.job = JobStatus::Ended;
    story.check(1, State::Open);
}

#[test]
fn a_closed_pull_request_dismisses_until_the_evidence_doubles() {
    let mut story = Story::new(Kind::NotFound);
    story.pull_request("1", PullRequestStatus::Closed { reason: "not ours".to_owned() });
    story.check(0, State::Dismissed);
    assert_eq!(story.finding.note, Some(Note::ClosedUnmerged { reason: "not ours".to_owned() }));
    assert_eq!(story.finding.baseline, 90);
    story.request(1..=30, 5);
    story.check(30, State::Dismissed);
    story.request(1..=30, 6);
    story.check(30, State::Open);
    story.check(31, State::Open);
}

#[test]
fn a_young_finding_does_not_come_back_at_the_same_rate() {
    let mut story = Story::new(Kind::NotFound);
    story.evidence = Evidence::default();
    story.request(-9..=0, 3);
    story.finding = story.finding.dismiss("a test", &story.evidence, day(0), &Settings::default());
    assert_eq!(story.finding.baseline, 90, "30 in 10 of 30 days");
    story.request(1..=20, 3);
    story.check(20, State::Dismissed);
    story.request(1..=30, 6);
    story.check(30, State::Open);
}

#[test]
fn a_pull_request_that_is_reopened_ends_its_dismissal() {
    let mut story = Story::new(Kind::NotFound);
    story.pull_request("1", PullRequestStatus::Closed { reason: String::new() });
    story.check(0, State::Dismissed);
    story.pull_request("1", PullRequestStatus::Open);
    story.check(1, State::InReview);
}

#[test]
fn a_person_dismisses_and_opens_again() {
    let mut story = Story::new(Kind::NotFound);
    story.finding = story.finding.dismiss("a test", &story.evidence, day(0), &Settings::default());
    story.check(1, State::Dismissed);
    assert_eq!(story.finding.note, Some(Note::DismissedByPerson { reason: "a test".to_owned() }));
    story.finding = story.finding.reopen(day(2));
    story.check(2, State::Open);
    assert_eq!(story.finding.note, None);
}

#[test]
fn evidence_that_goes_away_by_itself_resolves_without_an_effect() {
    let mut story = Story::new(Kind::NotFound);
    story.is_present = false;
    story.check(30, State::Open);
    story.check(43, State::Open);
    story.is_present = true;
    story.check(43, State::Open);
    story.is_present = false;
    story.check(44, State::Open);
    story.check(58, State::Resolved);
    assert_eq!((&story.finding.note, story.finding.shipped_on), (&Some(Note::Faded), None));
    story.is_present = true;
    story.request(59..=60, 3);
    story.check(60, State::Open);
}

#[test]
fn a_dead_link_that_no_page_has_is_resolved_at_once() {
    let mut story = Story::new(Kind::DeadLink);
    (story.is_present, story.is_unlinked) = (false, true);
    story.check(0, State::Resolved);
    assert_eq!(story.finding.note, Some(Note::Unlinked));
    (story.is_present, story.is_unlinked) = (true, false);
    story.check(1, State::Open);
    story.job = JobStatus::Ended;
    (story.is_present, story.is_unlinked) = (false, true);
    story.check(2, State::Resolved);
}

#[test]
fn a_pull_request_that_another_change_made_needless_dismisses_nothing() {
    let mut story = Story::new(Kind::DeadLink);
    story.pull_request("2", PullRequestStatus::Open);
    (story.is_present, story.is_unlinked) = (false, true);
    story.check(1, State::InReview);
    story.pull_request("2", PullRequestStatus::Closed { reason: String::new() });
    story.check(2, State::Resolved);
    (story.is_present, story.is_unlinked) = (true, false);
    story.check(3, State::Open);
}

#[test]
fn kinds_of_the_repository_are_judged_by_the_repository() {
    for kind in [Kind::DeadLink, Kind::Stale] {
        let mut story = Story::merged(kind, 1);
        story.live_since = Some(1);
        story.request(1..=20, 3);
        story.check(1, State::Shipped);
        story.check(16, State::Persists);
        let mut story = Story::merged(kind, 1);
        (story.live_since, story.is_present) = (Some(1), false);
        story.request(1..=20, 3);
        story.check(1, State::Shipped);
        story.check(16, State::Resolved);
        story.is_present = true;
        story.check(17, State::Open);
    }
}

#[test]
fn a_moved_page_needs_its_redirect_and_no_more_requests() {
    for (is_present, later, expected) in
        [(false, 0, State::Resolved), (true, 0, State::Persists), (false, 3, State::Persists)]
    {
        let mut story = Story::merged(Kind::Moved, 1);
        (story.live_since, story.is_present) = (Some(1), is_present);
        story.request(1..=20, later);
        story.check(1, State::Shipped);
        story.check(16, expected);
    }
}
