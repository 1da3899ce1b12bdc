//! A request on its terms: seen before, over the limit, or to be carried out.

use std::collections::BTreeSet;

use base::Cutoff;
use sqlx::{PgConnection, Row};

use super::one_at_a_time;
use super::rates::Counts;
use crate::{Job, Once, ProjectId, Receipt, Result, Terms, Usage};

/// Old answers that one request sweeps away.
const SWEEP: i64 = 100;

/// What a request is, within its project.
pub(super) struct Request<'a> {
    pub(super) project: &'a ProjectId,
    /// Keys are scoped to it: `create`, or `message` with the job's id.
    pub(super) operation: &'a str,
    pub(super) terms: &'a Terms,
    pub(super) now: i64,
    /// What is answered no more.
    pub(super) forget: Cutoff,
}

/// Whoever sends the same at the same time waits here for the answer of the first. Before anything is counted, and
/// in one order, so that no two wait for each other.
pub(super) async fn lock<'a>(
    db: &mut PgConnection,
    operation: &str,
    requests: impl IntoIterator<Item = (&'a ProjectId, &'a Terms)>,
) -> Result<()> {
    let keys =
        requests.into_iter().filter_map(|(project, terms)| Some((project, &terms.once.as_ref()?.0.key)));
    for (project, key) in keys.collect::<BTreeSet<_>>() {
        one_at_a_time(db, &["once", &project.0, operation, key]).await?;
    }
    Ok(())
}

/// `Err` when the request must not be carried out; otherwise how much of its limit is used.
pub(super) async fn admit(
    db: &mut PgConnection,
    request: &Request<'_>,
    counts: &mut Counts,
) -> Result<Result<Option<Usage>, Receipt>> {
    if let Some((once, _)) = &request.terms.once
        && let Some(receipt) = seen(db, request, once).await?
    {
        return Ok(Err(receipt));
    }
    let Some(limit) = &request.terms.limit else { return Ok(Ok(None)) };
    Ok(match counts.one_more(db, limit, request.now).await? {
        Ok(usage) => Ok(Some(usage)),
        Err(usage) => Err(Receipt::LimitReached(usage)),
    })
}

async fn seen(db: &mut PgConnection, request: &Request<'_>, once: &Once) -> Result<Option<Receipt>> {
    sweep(db, &request.forget).await?;
    let row = sqlx::query(
        "SELECT request, answer FROM answers
         WHERE project = $1 AND operation = $2 AND key = $3
           AND (created_at > $4 OR created_at BETWEEN $5 AND $6)",
    )
    .bind(&request.project.0)
    .bind(request.operation)
    .bind(&once.key)
    .bind(request.forget.before)
    .bind(request.forget.kept_from)
    .bind(request.forget.kept_to)
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let same = row.try_get::<&[u8], _>("request")? == once.request;
    Ok(Some(if same { Receipt::Replayed(row.try_get("answer")?) } else { Receipt::KeyReused }))
}

async fn sweep(db: &mut PgConnection, old: &Cutoff) -> Result<()> {
    let sweep = "DELETE FROM answers WHERE (project, operation, key) IN (
        SELECT project, operation, key FROM answers
        WHERE created_at <= $1 AND NOT created_at BETWEEN $2 AND $3 LIMIT $4 FOR UPDATE SKIP LOCKED)";
    let sweep = sqlx::query(sweep).bind(old.before).bind(old.kept_from).bind(old.kept_to);
    sweep.bind(SWEEP).execute(db).await?;
    Ok(())
}

/// Keeps the answer in the transaction that did what it says.
pub(super) async fn keep(db: &mut PgConnection, request: &Request<'_>, job: &Job) -> Result<()> {
    let Some((once, render)) = &request.terms.once else { return Ok(()) };
    let keep = "INSERT INTO answers VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (project, operation, key) DO UPDATE
        SET request = excluded.request, answer = excluded.answer, created_at = excluded.created_at";
    sqlx::query(keep)
        .bind(&request.project.0)
        .bind(request.operation)
        .bind(&once.key)
        .bind(&once.request)
        .bind((render.0)(job))
        .bind(request.now)
        .execute(db)
        .await?;
    Ok(())
}
