//! Creates jobs. Requests for the same project that arrive while one transaction runs share the next one: the row that
//! counts a project's jobs is locked until its transaction ends.

use base::{ClockGuard, Coalescer};
use futures_util::FutureExt;

use super::idempotency::{self, Admission, Request};
use super::rates::Counts;
use super::{Backend, Connection, Database, findings};
use crate::coalesced::{SharedResult, share_all};
use crate::encoding::from_ms;
use crate::terms::ANSWER_RETENTION;
use crate::{Job, NewJob, ProjectId, Receipt, Result, Terms, postgres, sqlite};

pub(crate) type Creates<B> = Coalescer<ProjectId, (B, NewJob, Terms), SharedResult<Receipt>>;

pub(crate) fn creates<B: Backend>() -> Creates<B> {
    Coalescer::new(move |_, requests: Vec<(B, NewJob, Terms)>| {
        let count = requests.len();
        async move {
            let Some((store, ..)) = requests.first() else { return Vec::new() };
            let (store, guard) = (store.clone(), store.common().guard.clone());
            let requests: Vec<_> = requests.into_iter().map(|(_, new, terms)| (new, terms)).collect();
            let work = store
                .transaction((guard, requests), |db, (guard, requests)| insert(db, guard, requests).boxed());
            share_all(work.await, count)
        }
        .boxed()
    })
}

const FINDINGS_TAKEN: &str =
    "a job fixes these findings already, or they are shipped or resolved. Open a finding to see its job";

/// Whether the job is about no findings, or about at least one that waits for a job. Marks these.
async fn may_fix(db: &mut Connection<'_>, new: &NewJob, job: &Job, now: i64) -> Result<bool> {
    Ok(new.findings.is_empty()
        || findings::assign_to_job(db, &new.project, &new.findings, &job.id, now).await?)
}

/// Admits each request on its own: one refusal does not affect the others.
async fn insert(
    db: &mut Connection<'_>,
    guard: &ClockGuard,
    requests: &[(NewJob, Terms)],
) -> Result<Vec<Receipt>> {
    idempotency::lock(db, "create", requests.iter().map(|(new, terms)| (&new.project, terms))).await?;
    let now = db.now().await?;
    let expired = db.cutoff(guard, now, ANSWER_RETENTION);
    let (mut counts, mut receipts, mut jobs) = (Counts::default(), Vec::new(), Vec::new());
    for (new, terms) in requests {
        let mut job = new.job(from_ms(now)?, terms.actor.as_ref());
        job.prompt = db.stored_text(&job.prompt);
        let request = Request { project: &job.project, operation: "create", terms, now, expired };
        receipts.push(match idempotency::admit(db, &request, &mut counts).await? {
            Admission::Admitted(_) if !may_fix(db, new, &job, now).await? => {
                Receipt::Refused(FINDINGS_TAKEN.to_owned())
            }
            Admission::Admitted(usage) => {
                idempotency::store_answer(db, &request, &job).await?;
                jobs.push(job.clone());
                Receipt::Done { job: Box::new(job), usage }
            }
            Admission::Answered(receipt) => receipt,
        });
    }
    if jobs.is_empty() {
        db.discard();
        return Ok(receipts);
    }
    match &mut db.database {
        Database::Sqlite(db, _) => sqlite::insert_jobs(db, &jobs).await?,
        Database::Postgres(db) => postgres::insert_jobs(db, &jobs, now).await?,
    }
    counts.store(db).await?;
    Ok(receipts)
}
