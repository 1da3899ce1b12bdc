//! Admits a request once for each idempotency key, and within its rate limit.

use std::collections::BTreeSet;

use base::Cutoff;

use super::rates::Counts;
use super::{Connection, sql};
use crate::{IdempotencyKey, Job, ProjectId, Receipt, Result, Terms, Usage};

/// Expired answers that one request deletes.
const MAX_EXPIRED: i64 = 100;

pub(super) struct Request<'a> {
    pub(super) project: &'a ProjectId,
    /// The scope of idempotency keys: `create`, or `message` with the job's id.
    pub(super) operation: &'a str,
    pub(super) terms: &'a Terms,
    pub(super) now: i64,
    /// Answers that are no longer replayed.
    pub(super) expired: Cutoff,
}

/// Makes concurrent requests with the same key wait for the first one's answer. The keys are locked before anything is
/// counted, and in one order, so that there is no deadlock.
pub(super) async fn lock<'a>(
    db: &mut Connection<'_>,
    operation: &str,
    requests: impl IntoIterator<Item = (&'a ProjectId, &'a Terms)>,
) -> Result<()> {
    let keys =
        requests.into_iter().filter_map(|(project, terms)| Some((project, &terms.once.as_ref()?.0.key)));
    for (project, key) in keys.collect::<BTreeSet<_>>() {
        db.lock_name(&["once", &project.0, operation, key]).await?;
    }
    Ok(())
}

/// Whether a request is carried out.
pub(super) enum Admission {
    /// It is, and this is the usage of its rate limit, if it has one.
    Admitted(Option<Usage>),
    /// It is not, and the client gets this: the stored answer of a repeated request, or a refusal.
    Answered(Receipt),
}

pub(super) async fn admit(
    db: &mut Connection<'_>,
    request: &Request<'_>,
    counts: &mut Counts,
) -> Result<Admission> {
    if let Some((key, _)) = &request.terms.once
        && let Some(receipt) = find_answer(db, request, key).await?
    {
        return Ok(Admission::Answered(receipt));
    }
    let Some(limit) = &request.terms.limit else { return Ok(Admission::Admitted(None)) };
    Ok(match counts.increment(db, limit, request.now).await? {
        Ok(usage) => Admission::Admitted(Some(usage)),
        Err(usage) => Admission::Answered(Receipt::LimitReached(usage)),
    })
}

async fn find_answer(
    db: &mut Connection<'_>,
    request: &Request<'_>,
    key: &IdempotencyKey,
) -> Result<Option<Receipt>> {
    let Cutoff { before, kept_from, kept_to } = request.expired;
    let delete = sql("DELETE FROM answers WHERE (project, operation, key) IN (
           SELECT project, operation, key FROM answers
           WHERE created_at <= $1 AND NOT created_at BETWEEN $2 AND $3 LIMIT $4 FOR UPDATE SKIP LOCKED)");
    db.execute(delete.bind(before).bind(kept_from).bind(kept_to).bind(MAX_EXPIRED)).await?;
    let find = sql("SELECT request, answer FROM answers WHERE project = $1 AND operation = $2 AND key = $3
           AND (created_at > $4 OR created_at BETWEEN $5 AND $6)")
    .bind(&request.project.0)
    .bind(request.operation)
    .bind(&key.key)
    .bind(before)
    .bind(kept_from)
    .bind(kept_to);
    let Some(row) = db.row(find).await? else { return Ok(None) };
    let is_same = row.get::<&[u8]>("request")? == key.request;
    Ok(Some(if is_same { Receipt::Replayed(row.get("answer")?) } else { Receipt::KeyReused }))
}

/// Stores the answer in the transaction of the request.
pub(super) async fn store_answer(db: &mut Connection<'_>, request: &Request<'_>, job: &Job) -> Result<()> {
    let Some((key, render)) = &request.terms.once else { return Ok(()) };
    let insert = sql("INSERT INTO answers (project, operation, key, request, answer, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (project, operation, key) DO UPDATE
         SET request = excluded.request, answer = excluded.answer, created_at = excluded.created_at")
    .bind(&request.project.0)
    .bind(request.operation)
    .bind(&key.key)
    .bind(&key.request)
    .bind((render.0)(job))
    .bind(request.now);
    db.execute(insert).await.map(drop)
}
