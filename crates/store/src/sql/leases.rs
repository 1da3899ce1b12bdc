//! The job queue as workers see it. Every write of a worker checks the fencing token of its lease first.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;

use super::jobs::{append, set_archived};
use super::queue::{QueuedJob, heartbeat_query, load_resume, queued_columns};
use super::{Backend, Connection, FromRow, Row, conversation, findings, notes, sql, sql_for, suspects};
use crate::encoding::{damaged, milliseconds};
use crate::note::validate;
use crate::queue::WAKE_BATCH;
use crate::suspects::SUSPECT_DEATHS;
use crate::{
    Change, ConversationEntry, Ending, JobId, LastChange, Lease, LeaseLimits, Message, NewEvent, Note,
    Outcome, ProjectId, Queue, Result, Status, StoreError, WorkerId,
};

#[async_trait]
impl<B: Backend> Queue for B {
    async fn heartbeat(&self, worker: &WorkerId) -> Result<()> {
        self.execute(heartbeat_query(worker)).await.map(drop)
    }

    async fn lease_within(&self, worker: &WorkerId, limits: LeaseLimits) -> Result<Option<Lease>> {
        self.lease(worker, limits).await
    }

    async fn announce_waiting(&self, wait: Duration) -> Result<bool> {
        let announced = self.add_waiting_events(wait).await?;
        if announced > 0 {
            self.notify_events();
        }
        Ok(announced == WAKE_BATCH as usize)
    }

    async fn note(&self, lease: &Lease, notes: Vec<Note>) -> Result<u64> {
        let input = (Claim::of(lease), validate(notes)?);
        let month = self.transaction(input, |db, (claim, notes)| {
            async move {
                let now = claim.check(db).await?;
                let month = notes::store(db, &claim.job, claim.run, now, notes).await?;
                claim.clear_deaths(db, now).await?;
                Ok(month)
            }
            .boxed()
        });
        let month = month.await;
        self.notify_events();
        month
    }

    async fn unread(&self, lease: &Lease) -> Result<Vec<Message>> {
        let unread = sql("SELECT number, prompt, context FROM messages WHERE job = $1 AND NOT read
             ORDER BY number");
        self.all(unread.bind(&lease.job.id.0)).await
    }

    async fn is_suspect(&self, lease: &Lease) -> Result<bool> {
        let find = sql("SELECT id FROM jobs WHERE id = $1 AND deaths = $2");
        Ok(self.row(find.bind(&lease.job.id.0).bind(SUSPECT_DEATHS)).await?.is_some())
    }

    async fn last_change(&self, lease: &Lease) -> Result<Option<LastChange>> {
        let find = sql("SELECT head_commit, title, body, report, diff, run, pushed FROM job_changes
             WHERE job = $1");
        self.optional(find.bind(&lease.job.id.0)).await
    }

    async fn conversation(&self, lease: &Lease) -> Result<Vec<ConversationEntry>> {
        conversation::all(self, &lease.job.id).await
    }

    async fn forget_from(&self, lease: &Lease, number: u32) -> Result<()> {
        let done = self.transaction((Claim::of(lease), number), |db, (claim, number)| {
            async move {
                claim.check(db).await?;
                conversation::forget_from(db, &claim.job, *number).await
            }
            .boxed()
        });
        let done = done.await;
        self.notify_events();
        done
    }

    async fn tokens_this_month(&self, project: &ProjectId) -> Result<u64> {
        conversation::tokens_this_month(self, project).await
    }

    async fn finish(&self, lease: &Lease, ending: Ending, read: u32) -> Result<Option<Lease>> {
        let input = (Claim::of(lease), ending, read);
        let next = self
            .transaction(input, |db, (claim, ending, read)| finish(db, claim, ending, *read).boxed())
            .await;
        self.notify_events();
        next
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let released = self.transaction(Claim::of(lease), |db, claim| {
            async move {
                match claim.standing(db).await? {
                    Standing::Current(now) => {
                        claim.end_alone(db, now).await?;
                        give_back(db, &claim.job).await
                    }
                    Standing::ToArchive(now) => set_archived(db, &claim.job, now).await,
                    Standing::Lost => Err(StoreError::LeaseLost(claim.job.clone())),
                }
            }
            .boxed()
        });
        let released = released.await;
        self.notify_events();
        self.notify_work();
        released
    }

    async fn put_off(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()> {
        postpone(self, lease, wait, why, 1).await
    }

    async fn delay(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()> {
        postpone(self, lease, wait, why, 0).await
    }

    async fn release_all(&self, worker: &WorkerId) -> Result<()> {
        let all = sql("UPDATE jobs SET worker = NULL, attempt = attempt - 1
             WHERE status = 'active' AND worker IS NOT NULL AND worker = $1");
        self.execute(all.bind(&worker.0)).await?;
        self.notify_work();
        Ok(())
    }

    async fn void_leases(&self) -> Result<()> {
        self.void_all_leases().await
    }

    async fn jobs_to_stop(&self, worker: &WorkerId) -> Result<Vec<JobId>> {
        let ids = sql_for(
            "SELECT id FROM jobs INDEXED BY jobs_held
             WHERE worker = $1 AND status = 'active' AND archive_asked_at IS NOT NULL",
            "SELECT id FROM jobs WHERE worker = $1 AND status = 'active' AND archive_asked_at IS NOT NULL",
        );
        let rows = self.rows(ids.bind(&worker.0)).await?;
        rows.iter().map(|row| Ok(JobId(row.get("id")?))).collect()
    }

    async fn wait_for_work(&self) {
        self.work_notified().await;
    }
}

/// Gives the job back for `wait`. `times` is added to the number of times that it was put off.
async fn postpone(
    store: &impl Backend,
    lease: &Lease,
    wait: Duration,
    why: NewEvent,
    times: i64,
) -> Result<()> {
    let input = (Claim::of(lease), why, milliseconds(wait), times);
    let done = store.transaction(input, |db, (claim, why, wait, times)| {
        async move {
            let now = claim.check(db).await?;
            append(db, &claim.job, now, why).await?;
            claim.end_alone(db, now).await?;
            give_back(db, &claim.job).await?;
            let postpone = sql("UPDATE jobs SET not_before = $1, put_off = put_off + $2 WHERE id = $3");
            db.execute(postpone.bind(now.saturating_add(*wait)).bind(*times).bind(&claim.job.0))
                .await
                .map(drop)
        }
        .boxed()
    });
    let done = done.await;
    store.notify_events();
    done
}

/// The state of a pull request after the end of a run, which opened the one at this link or none. A state that is
/// known stays.
macro_rules! new_state {
    ($link:literal) => {
        concat!(
            "CASE WHEN ",
            $link,
            " IS NULL THEN pr_state
                  WHEN pr_link IS NULL OR pr_link = ",
            $link,
            " THEN coalesce(pr_state, 'open') ELSE 'open' END"
        )
    };
}

/// The part of a lease that is compared with the store. The fence is its fencing token.
pub(super) struct Claim {
    pub(super) job: JobId,
    pub(super) run: u32,
    worker: WorkerId,
    fence: i64,
    deaths: u32,
}

/// What became of a lease. The number is the time.
enum Standing {
    Current(i64),
    /// No other worker has the job, but it is to be archived.
    ToArchive(i64),
    Lost,
}

impl Claim {
    pub(super) fn of(lease: &Lease) -> Self {
        Self {
            job: lease.job.id.clone(),
            run: lease.job.run,
            worker: lease.worker.clone(),
            fence: lease.fence,
            deaths: lease.deaths,
        }
    }

    /// Locks the job before it compares, so that the job is not leased or archived until the transaction ends.
    async fn standing(&self, db: &mut Connection<'_>) -> Result<Standing> {
        db.lock(sql("SELECT id FROM jobs WHERE id = $1 FOR UPDATE").bind(&self.job.0)).await?;
        let find = sql("SELECT archive_asked_at, docwright_now_ms() AS now
             FROM jobs JOIN workers ON workers.id = jobs.worker
             WHERE jobs.id = $1 AND worker = $2 AND lease = $3 AND status = 'active'
               AND alive_until > docwright_now_ms()");
        let find = find.bind(&self.job.0).bind(&self.worker.0).bind(self.fence);
        let Some(row) = db.row(find).await? else { return Ok(Standing::Lost) };
        let now = row.get("now")?;
        Ok(match row.get::<Option<i64>>("archive_asked_at")? {
            None => Standing::Current(now),
            Some(_) => Standing::ToArchive(now),
        })
    }

    /// Fails unless the lease is current. Answers the time.
    pub(super) async fn check(&self, db: &mut Connection<'_>) -> Result<i64> {
        match self.standing(db).await? {
            Standing::Current(now) => Ok(now),
            _ => Err(StoreError::LeaseLost(self.job.clone())),
        }
    }

    /// Between two suspects, other jobs have the worker.
    async fn end_alone(&self, db: &mut Connection<'_>, now: i64) -> Result<()> {
        match self.deaths {
            SUSPECT_DEATHS => suspects::set_alone(db, &self.job, now).await,
            _ => Ok(()),
        }
    }

    /// Resets the count of deaths if the run got past the step in which workers died.
    pub(super) async fn clear_deaths(&self, db: &mut Connection<'_>, now: i64) -> Result<()> {
        match self.deaths {
            SUSPECT_DEATHS.. => suspects::clear(db, &self.job, now).await,
            _ => Ok(()),
        }
    }
}

async fn give_back(db: &mut Connection<'_>, id: &JobId) -> Result<()> {
    let give_back = sql("UPDATE jobs SET worker = NULL, attempt = attempt - 1 WHERE id = $1");
    db.execute(give_back.bind(&id.0)).await.map(drop)
}

async fn finish(db: &mut Connection<'_>, claim: &Claim, ending: &Ending, read: u32) -> Result<Option<Lease>> {
    let (now, id) = (claim.check(db).await?, &claim.job);
    claim.end_alone(db, now).await?;
    mark_read(db, id, read).await?;
    store_failed_diff(db, id, ending).await?;
    let unread = sql("SELECT number FROM messages WHERE job = $1 AND NOT read LIMIT 1");
    if !db.exists(unread.bind(&id.0)).await? {
        end(db, id, now, ending.clone()).await?;
        return Ok(None);
    }
    // The next run starts from what is on the branch by then.
    let next = sql(concat!(
        "UPDATE jobs SET run = run + 1, base_commit = NULL, put_off = 0, deaths = 0, died_step = 0,
           survived_step = NULL, activity = 'working',
           pr_link = coalesce($1, pr_link), pr_head = CASE WHEN $1 IS NULL THEN pr_head ELSE $3 END,
           pr_state = ",
        new_state!("$1"),
        " WHERE id = $2 RETURNING ",
        queued_columns!()
    ));
    let next = next.bind(ending.outcome.pr_link()).bind(&id.0).bind(ending.outcome.pr_head());
    let next: Option<QueuedJob> = db.optional(next).await?;
    let next = next.ok_or_else(|| damaged("a job"))?;
    let resume = load_resume(db, &next).await?;
    Ok(Some(Lease { job: next.job, worker: claim.worker.clone(), fence: claim.fence, resume, deaths: 0 }))
}

pub(super) async fn mark_read(db: &mut Connection<'_>, id: &JobId, read: u32) -> Result<()> {
    let mark = sql("UPDATE messages SET read = true WHERE job = $1 AND number <= $2 AND NOT read");
    db.execute(mark.bind(&id.0).bind(read)).await.map(drop)
}

/// Keeps the change of a failed run until a run does better. A job with a pull request shows that one instead.
async fn store_failed_diff(db: &mut Connection<'_>, id: &JobId, ending: &Ending) -> Result<()> {
    match (&ending.outcome, &ending.diff) {
        (Outcome::Completed { .. } | Outcome::AlreadyProposed { .. }, _) => drop_failed_diff(db, id).await,
        (Outcome::Failed { .. }, None) => Ok(()),
        (Outcome::Failed { .. }, Some(diff)) => {
            let insert = sql("INSERT INTO failed_diffs (job, diff)
                 SELECT id, $1 FROM jobs WHERE id = $2 AND pr_link IS NULL
                 ON CONFLICT (job) DO UPDATE SET diff = excluded.diff");
            db.execute(insert.bind(diff).bind(&id.0)).await.map(drop)
        }
    }
}

pub(super) async fn drop_failed_diff(db: &mut Connection<'_>, id: &JobId) -> Result<()> {
    db.execute(sql("DELETE FROM failed_diffs WHERE job = $1").bind(&id.0)).await.map(drop)
}

pub(super) async fn end(db: &mut Connection<'_>, id: &JobId, now: i64, ending: Ending) -> Result<()> {
    let status = match &ending.outcome {
        Outcome::Completed { .. } | Outcome::AlreadyProposed { .. } => Status::Completed,
        Outcome::Failed { .. } => Status::Failed,
    };
    // A job that failed after it stored a change may have a pull request that it does not know: a sweep searches for it.
    let end = sql(concat!(
        "UPDATE jobs SET status = $1, pr_link = coalesce($2, pr_link), ended_at = $3, worker = NULL,
           put_off = 0, pr_head = CASE WHEN $2 IS NULL THEN pr_head ELSE $5 END,
           sweeps_before = sweeps,
           sweep_at = CASE WHEN $1 = 'failed' AND $2 IS NULL AND (pr_link IS NULL OR pr_head IS NOT NULL)
             AND EXISTS (SELECT 1 FROM job_changes WHERE job = $4) THEN $3 END,
           pr_state = ",
        new_state!("$2"),
        " WHERE id = $4"
    ));
    let end = end.bind(status.as_str()).bind(ending.outcome.pr_link()).bind(now).bind(&id.0);
    db.execute(end.bind(ending.outcome.pr_head())).await?;
    findings::hasten_findings_of(db, id).await?;
    append(db, id, now, &ending.event()).await
}

impl FromRow for LastChange {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self { run: row.number("run")?, pushed: row.get("pushed")?, change: Change::from_row(row)? })
    }
}

impl FromRow for Message {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self { number: row.number("number")?, prompt: row.get("prompt")?, context: row.json("context")? })
    }
}
