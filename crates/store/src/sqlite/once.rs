//! A request on its terms: seen before, over the limit, or to be carried out.

use base::Cutoff;
use sqlx::{Row, SqliteConnection};

use super::rates::Counts;
use crate::{Job, Once, ProjectId, Receipt, Result, Terms, Usage};

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

/// `Err` when the request must not be carried out; otherwise how much of its limit is used.
pub(super) async fn admit(
    db: &mut SqliteConnection,
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

async fn seen(db: &mut SqliteConnection, request: &Request<'_>, once: &Once) -> Result<Option<Receipt>> {
    sqlx::query("DELETE FROM answers WHERE created_at <= ? AND NOT created_at BETWEEN ? AND ?")
        .bind(request.forget.before)
        .bind(request.forget.kept_from)
        .bind(request.forget.kept_to)
        .execute(&mut *db)
        .await?;
    let row =
        sqlx::query("SELECT request, answer FROM answers WHERE project = ? AND operation = ? AND key = ?")
            .bind(&request.project.0)
            .bind(request.operation)
            .bind(&once.key)
            .fetch_optional(db)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let same = row.try_get::<Vec<u8>, _>("request")? == once.request;
    Ok(Some(if same { Receipt::Replayed(row.try_get("answer")?) } else { Receipt::KeyReused }))
}

/// Keeps the answer in the transaction that did what it says.
pub(super) async fn keep(db: &mut SqliteConnection, request: &Request<'_>, job: &Job) -> Result<()> {
    let Some((once, render)) = &request.terms.once else { return Ok(()) };
    sqlx::query("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)")
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
