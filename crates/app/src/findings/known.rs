//! The findings of one kind that the store has, and the updates that a round makes of them.

use std::collections::{BTreeMap, HashMap};

use findings::{
    Candidate, Evidence, Facts, FindingState, JobStatus, Kind, PullRequest, PullRequestStatus, Settings, next,
};
use jiff::civil::Date;
use store::{Finding, FindingJob, FindingUpdate, Findings, ProjectId, PullState, Status};

use super::counts::day_of;

const BATCH: u32 = 500;

/// More than the longest way through the states.
const MAX_STEPS: usize = 8;

/// Why a closed pull request dismisses its finding.
const CLOSED: &str = "The pull request was closed without a merge";

/// The findings of a kind, by key.
pub(super) struct KnownFindings(pub(super) HashMap<String, Finding>);

impl KnownFindings {
    pub(super) async fn load(store: &dyn Findings, project: &ProjectId, kind: Kind) -> store::Result<Self> {
        let (mut known, mut after) = (HashMap::new(), String::new());
        loop {
            let batch = store.findings_after(project, kind, &after, BATCH).await?;
            let Some(last) = batch.last() else { return Ok(Self(known)) };
            after = last.key.clone();
            known.extend(batch.into_iter().map(|finding| (finding.key.clone(), finding)));
        }
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Whether one of the candidate's paths is the key of a finding that was still reported in the last round.
    pub(super) fn has_member(&self, candidate: &Candidate) -> bool {
        let mut known = candidate.evidence.members.iter().filter_map(|member| self.0.get(&member.path));
        known.any(|finding| finding.lifecycle.absent_since.is_none())
    }

    /// The links and the last known states of the pull requests that are to fix them.
    pub(super) fn pulls(&self) -> impl Iterator<Item = (String, PullState)> {
        let links: BTreeMap<&str, PullState> = self
            .0
            .values()
            .filter_map(|finding| finding.job.as_ref())
            .filter_map(|job| Some((job.pr_link.as_deref()?, job.pr_state?)))
            .collect();
        links.into_iter().map(|(link, state)| (link.to_owned(), state))
    }

    /// The paths of all findings, to count their requests even when they became few.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.values().flat_map(|finding| {
            let members = finding.evidence.members.iter().map(|member| member.path.as_str());
            members.chain([finding.subject.as_str()])
        })
    }
}

/// What a round knows besides the candidates.
pub(super) struct Round<'a> {
    pub(super) today: Date,
    pub(super) settings: &'a Settings,
    /// Whether a scan found all dead links that the docs have.
    pub(super) has_every_dead_link: bool,
    /// The days since a merge on which a path was answered with a page or a redirect.
    pub(super) answered: &'a (dyn Fn(&str) -> Vec<Date> + Sync),
}

impl Round<'_> {
    /// The changes that candidates cause. Findings that no candidate is about have lost their evidence.
    pub(super) fn updates(&self, known: KnownFindings, candidates: Vec<Candidate>) -> Vec<FindingUpdate> {
        let mut known = known.0;
        let mut updates: Vec<_> = candidates
            .into_iter()
            .filter_map(|candidate| match known.remove(&candidate.key) {
                Some(finding) => self.update(&finding, Some(candidate)),
                None => Some(self.new_finding(candidate)),
            })
            .collect();
        updates.extend(known.values().filter_map(|finding| self.update(finding, None)));
        updates
    }

    fn new_finding(&self, candidate: Candidate) -> FindingUpdate {
        self.update_of(candidate, FindingState::open(self.today), 0, false)
    }

    /// `None` when nothing changed.
    fn update(&self, finding: &Finding, candidate: Option<Candidate>) -> Option<FindingUpdate> {
        let is_present = candidate.as_ref().is_some_and(|candidate| candidate.is_present);
        let candidate = candidate.unwrap_or_else(|| without_evidence(finding));
        let facts = self.facts(finding, &candidate.evidence, is_present);
        let lifecycle = self.settle(&finding.lifecycle, &facts);
        let drops_job = is_over(&facts) && lifecycle.state == findings::State::Open;
        let update =
            self.update_of(candidate, lifecycle, finding.version, drops_job && finding.job.is_some());
        (!is_same(finding, &update)).then_some(update)
    }

    /// Follows the state machine until it stays where it is: after days without a server, several steps are due.
    fn settle(&self, from: &FindingState, facts: &Facts<'_>) -> FindingState {
        let mut state = from.clone();
        for _ in 0..MAX_STEPS {
            let after = next(&state, facts, self.settings);
            if after == state {
                break;
            }
            state = after;
        }
        state
    }

    fn facts<'e>(&self, finding: &Finding, evidence: &'e Evidence, is_present: bool) -> Facts<'e> {
        let job = finding.job.as_ref();
        let merged_on = job.and_then(|job| job.merged_at).map(day_of).or(finding.lifecycle.merged_on);
        let live_since = merged_on.and_then(|merged| {
            let days = (self.answered)(&finding.subject);
            days.into_iter().filter(|day| *day >= merged).min()
        });
        Facts {
            kind: finding.kind,
            today: self.today,
            job: job.map_or(JobStatus::Missing, |job| match job.status {
                Status::Active => JobStatus::Active,
                Status::Completed | Status::Failed | Status::Archived => JobStatus::Ended,
            }),
            pull_request: job.and_then(|job| pull_request(job, self.today)),
            live_since,
            evidence,
            is_present,
            // A dead link is reported as long as the docs have it, even if nobody reads its pages.
            is_unlinked: self.has_every_dead_link && !is_present && finding.kind == Kind::DeadLink,
        }
    }

    fn update_of(
        &self,
        candidate: Candidate,
        lifecycle: FindingState,
        version: u64,
        drops_job: bool,
    ) -> FindingUpdate {
        let (human, ai) = in_window(&candidate.evidence, self.today, self.settings);
        FindingUpdate {
            kind: candidate.kind,
            key: candidate.key,
            // A page that exists and isn't served: there is no other page to name.
            target: candidate.target.filter(|target| *target != candidate.subject),
            subject: candidate.subject,
            lifecycle,
            score: thousandths(candidate.score),
            human,
            ai,
            evidence: candidate.evidence,
            version,
            drops_job,
        }
    }
}

/// Whether the job ended, and no pull request of it is left to wait for.
fn is_over(facts: &Facts<'_>) -> bool {
    facts.job == JobStatus::Ended
        && !facts.pull_request.as_ref().is_some_and(|pull| pull.status == PullRequestStatus::Open)
}

fn pull_request(job: &FindingJob, today: Date) -> Option<PullRequest> {
    let status = match job.pr_state {
        Some(PullState::Merged) => PullRequestStatus::Merged { on: job.merged_at.map_or(today, day_of) },
        Some(PullState::Closed) => PullRequestStatus::Closed { reason: CLOSED.to_owned() },
        Some(PullState::Open) | None => PullRequestStatus::Open,
    };
    Some(PullRequest { id: job.pr_link.clone()?, status })
}

/// A finding that is no longer reported keeps who asked for it, but nobody asks now.
fn without_evidence(finding: &Finding) -> Candidate {
    let evidence = Evidence { days: Vec::new(), ..finding.evidence.clone() };
    Candidate {
        kind: finding.kind,
        key: finding.key.clone(),
        subject: finding.subject.clone(),
        target: finding.target.clone(),
        evidence,
        is_present: false,
        is_over_limit: false,
        score: 0.0,
    }
}

fn in_window(evidence: &Evidence, today: Date, settings: &Settings) -> (u64, u64) {
    let first = today.saturating_sub(jiff::Span::new().days(i64::from(settings.window_days) - 1));
    let days = evidence.days.iter().filter(|day| (first..=today).contains(&day.day));
    days.fold((0, 0), |(human, ai), day| (human + day.human, ai + day.ai))
}

fn thousandths(score: f64) -> u64 {
    (score.max(0.0) * 1_000.0).round() as u64
}

fn is_same(finding: &Finding, update: &FindingUpdate) -> bool {
    !update.drops_job
        && finding.lifecycle == update.lifecycle
        && finding.subject == update.subject
        && finding.target == update.target
        && (finding.score, finding.human, finding.ai) == (update.score, update.human, update.ai)
        && finding.evidence == update.evidence
}
