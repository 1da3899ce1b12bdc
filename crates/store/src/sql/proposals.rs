//! Claims changes for jobs. The primary key decides between concurrent claims.

use async_trait::async_trait;
use futures_util::FutureExt;

use super::jobs::append;
use super::leases::Claim;
use super::{Backend, Connection, FromRow, Row, notes, sql};
use crate::encoding::damaged;
use crate::note::{ValidNote, validate};
use crate::{
    ClaimKind, JobId, Lease, NewEvent, Note, ProjectId, Proposal, ProposalHolder, Proposals, Result, Status,
};

#[async_trait]
impl<B: Backend> Proposals for B {
    async fn claim_proposal(
        &self,
        lease: &Lease,
        notes: Vec<Note>,
        proposal: &Proposal,
        pushing: NewEvent,
    ) -> Result<Option<ProposalHolder>> {
        let input = Input {
            claim: Claim::of(lease),
            project: lease.job.project.clone(),
            notes: validate(notes)?,
            proposal: proposal.clone(),
            pushing,
        };
        let holder = self.transaction(input, |db, input| claim(db, input).boxed()).await;
        self.notify_events();
        holder
    }
}

struct Input {
    claim: Claim,
    project: ProjectId,
    notes: Vec<ValidNote>,
    proposal: Proposal,
    pushing: NewEvent,
}

async fn claim(db: &mut Connection<'_>, input: &Input) -> Result<Option<ProposalHolder>> {
    let Input { claim, project, proposal, .. } = input;
    let now = claim.check(db).await?;
    notes::store(db, &claim.job, claim.run, now, &input.notes).await?;
    claim.clear_deaths(db, now).await?;
    let own = &claim.job;
    let drop_earlier = sql("DELETE FROM proposals WHERE job = $1");
    db.execute(drop_earlier.bind(&own.0)).await?;
    if let ClaimKind::TakeOver(former) = &proposal.claim {
        let take =
            sql("DELETE FROM proposals WHERE project = $1 AND base_ref = $2 AND tree = $3 AND job = $4");
        let take = take.bind(&project.0).bind(&proposal.base_ref).bind(&proposal.tree);
        db.execute(take.bind(&former.0)).await?;
    }
    let insert =
        sql("INSERT INTO proposals (project, base_ref, tree, job, head_commit) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (project, base_ref, tree) DO NOTHING");
    let insert = insert.bind(&project.0).bind(&proposal.base_ref).bind(&proposal.tree).bind(&own.0);
    let is_claimed = db.execute(insert.bind(&proposal.head_commit)).await? > 0;
    if is_claimed || proposal.claim == ClaimKind::Shared {
        append(db, own, now, &input.pushing).await?;
        return Ok(None);
    }
    let find = sql("SELECT jobs.id, status, branch, proposals.head_commit,
           CASE WHEN pr_head IS NULL THEN pr_link END AS pr_link,
           status = 'active' AND EXISTS (SELECT 1 FROM job_changes made WHERE made.job = jobs.id
             AND made.run = jobs.run AND made.head_commit = proposals.head_commit) AS is_publishing
         FROM proposals JOIN jobs ON jobs.id = proposals.job
         WHERE proposals.project = $1 AND proposals.base_ref = $2 AND tree = $3");
    let find = find.bind(&project.0).bind(&proposal.base_ref).bind(&proposal.tree);
    db.optional(find).await?.ok_or_else(|| damaged("a proposal")).map(Some)
}

impl FromRow for ProposalHolder {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            job: JobId(row.get("id")?),
            status: Status::parse(row.get("status")?).ok_or_else(|| damaged("a job's status"))?,
            branch: row.get("branch")?,
            pr_link: row.get("pr_link")?,
            head_commit: row.get("head_commit")?,
            is_publishing: row.get("is_publishing")?,
        })
    }
}
