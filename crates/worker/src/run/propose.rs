//! Claims the change of a run before it's pushed, so that jobs with equal changes open one pull request.

use failpoints::with_failpoints;
use forge::{Oid, PullRequest, State};
use store::{Change, ClaimKind, Ending, NewEvent, Note, Proposal, ProposalHolder, Status};

use super::Run;
use crate::outcome::{Stop, already_proposed_ending};
use app::hosts::{pull_number, stored_state};

/// How often to try before the job waits: other jobs may take the claim over at the same time.
const MAX_CLAIMS: u32 = 3;

impl Run<'_> {
    /// Stores the notes and claims the change. Returns an ending if the open pull request of another job has the same
    /// change: then nothing is pushed. While another job is about to open it, this job waits.
    pub(super) async fn claim(
        &self,
        base_ref: &str,
        change: &Change,
        notes: Vec<Note>,
    ) -> Result<Option<Ending>, Stop> {
        let tree = self.cache.snapshot(&Oid::parse(&change.head_commit)?)?.tree();
        let claim = if self.probably_needs_new_branch() { ClaimKind::Exclusive } else { ClaimKind::Shared };
        let (base_ref, head_commit) = (base_ref.to_owned(), change.head_commit.clone());
        let mut proposal = Proposal { base_ref, tree: tree.to_string(), head_commit, claim };
        let mut notes = Some(notes);
        let mut holder = None;
        for _ in 0..MAX_CLAIMS {
            let Some(other) = self.try_claim(notes.take(), &proposal).await? else { return Ok(None) };
            if let Some(pull) = self.find_equal_pull(&other, &proposal.base_ref).await? {
                self.unpin().await;
                return Ok(Some(already_proposed_ending(pull, change.report.clone())));
            }
            let is_publishing = other.is_publishing;
            proposal.claim = ClaimKind::TakeOver(other.job.clone());
            holder = Some(other.job);
            if is_publishing {
                break;
            }
        }
        let holder = holder.map(|job| format!("Job {job}")).unwrap_or_default();
        Err(Stop::Wait(format!("{holder} is about to open a pull request with the same change")))
    }

    /// `notes` is `None` if they are stored already.
    async fn try_claim(
        &self,
        notes: Option<Vec<Note>>,
        proposal: &Proposal,
    ) -> Result<Option<ProposalHolder>, Stop> {
        let (head, branch) = (&proposal.head_commit, &self.lease.job.branch);
        let pushing = NewEvent::new("pushing", format!("Pushing {head:.10} to {branch}"));
        let claiming =
            self.app.proposals.claim_proposal(self.lease, notes.unwrap_or_default(), proposal, pushing);
        let holder = with_failpoints("change", claiming).await?;
        self.share_after_progress().await?;
        Ok(holder)
    }

    /// The open pull request with exactly the holder's commit, unless its branch was deleted: then it can't be
    /// merged. The embedded host lists it as open all the same.
    async fn find_equal_pull(
        &self,
        holder: &ProposalHolder,
        base_ref: &str,
    ) -> Result<Option<PullRequest>, Stop> {
        let Some(pull) = self.find_listed_pull(holder, base_ref).await? else { return Ok(None) };
        let tip = self.cache.tip(&self.host.remote(), &pull.head).await?;
        Ok(tip.map(|_| pull))
    }

    /// The open pull request with exactly the holder's commit, as the host lists it. People may have added commits to
    /// it, so the host is asked.
    async fn find_listed_pull(
        &self,
        holder: &ProposalHolder,
        base_ref: &str,
    ) -> Result<Option<PullRequest>, Stop> {
        let is_equal = |pull: &PullRequest| {
            pull.state == State::Open
                && pull.head_commit.as_str() == holder.head_commit
                && pull.base == base_ref
        };
        let Some(link) = &holder.pr_link else {
            // A job that failed may have opened a pull request that it doesn't know. That of an archived job
            // will be closed.
            let pulls = match holder.status {
                Status::Active | Status::Archived => Vec::new(),
                _ => self.host.find(&holder.branch).await?,
            };
            return Ok(pulls.into_iter().find(is_equal));
        };
        let pull = self.host.get(pull_number(link).unwrap_or_default()).await?;
        // The address of the server or of the repository may have changed, but not the branch.
        let Some(pull) = pull.filter(|pull| pull.head == holder.branch) else { return Ok(None) };
        if pull.state != State::Open {
            self.app.pulls.record_pull_state(&self.project.id, link, stored_state(pull.state)).await?;
        }
        Ok(Some(pull).filter(is_equal))
    }
}
