//! The conversation's part of two traits: workers add to it, clients read it.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::time_or_none;
use crate::conversation::month_of;
use crate::kept::{from_json, kept};
use crate::{JobId, ProjectId, Result, Said, Tokens};

/// Answers the tokens of the job's project this month, with these.
pub(super) async fn say(
    db: &mut SqliteConnection,
    job: &JobId,
    now: i64,
    entry: String,
    tokens: Tokens,
) -> Result<u64> {
    sqlx::query(
        "INSERT INTO conversation (job, number, run, after, at, entry, input, output, cached)
         SELECT id, 1 + coalesce((SELECT max(number) FROM conversation WHERE job = id), 0), run, events,
                ?, ?, ?, ?, ?
         FROM jobs WHERE id = ?",
    )
    .bind(now)
    .bind(entry)
    .bind(kept(tokens.input))
    .bind(kept(tokens.output))
    .bind(kept(tokens.cached))
    .bind(&job.0)
    .execute(&mut *db)
    .await?;
    let got_on = "UPDATE jobs SET put_off = 0, tokens = min(tokens, 9223372036854775807 - ?1) + ?1
        WHERE id = ?2 AND (put_off > 0 OR ?1 > 0)";
    sqlx::query(got_on).bind(kept(tokens.total())).bind(&job.0).execute(&mut *db).await?;
    spend(db, job, now, tokens).await
}

async fn spend(db: &mut SqliteConnection, job: &JobId, now: i64, tokens: Tokens) -> Result<u64> {
    // A provider can claim any number: the count stops at the largest instead of failing.
    let spent: i64 = sqlx::query_scalar(
        "INSERT INTO tokens_by_month SELECT project, ?, ? FROM jobs WHERE id = ?
         ON CONFLICT DO UPDATE
         SET tokens = min(tokens, 9223372036854775807 - excluded.tokens) + excluded.tokens
         RETURNING tokens",
    )
    .bind(month_of(now)?)
    .bind(kept(tokens.total()))
    .bind(&job.0)
    .fetch_one(db)
    .await?;
    Ok(spent.unsigned_abs())
}

pub(super) async fn all(db: &mut SqliteConnection, job: &JobId) -> Result<Vec<Said>> {
    let rows = sqlx::query("SELECT * FROM conversation WHERE job = ? ORDER BY number");
    rows.bind(&job.0).fetch_all(db).await?.iter().map(said).collect()
}

pub(super) async fn after(db: &mut SqliteConnection, job: &JobId, number: u32) -> Result<Option<Said>> {
    let next = "SELECT * FROM conversation WHERE job = ? AND number > ? ORDER BY number LIMIT 1";
    let row = sqlx::query(next).bind(&job.0).bind(number).fetch_optional(db).await?;
    row.as_ref().map(said).transpose()
}

pub(super) async fn forget_from(db: &mut SqliteConnection, job: JobId, number: u32) -> Result<()> {
    // The current run's entries are the last ones, so what is left has no gap.
    let forget = "DELETE FROM conversation
        WHERE job = ?1 AND number >= ?2 AND run = (SELECT run FROM jobs WHERE id = ?1)";
    sqlx::query(forget).bind(job.0).bind(number).execute(db).await?;
    Ok(())
}

pub(super) async fn month(db: &mut SqliteConnection, project: &ProjectId, now: i64) -> Result<u64> {
    let spent = sqlx::query_scalar("SELECT tokens FROM tokens_by_month WHERE project = ? AND month = ?");
    let spent: Option<i64> = spent.bind(&project.0).bind(month_of(now)?).fetch_optional(db).await?;
    Ok(spent.unwrap_or(0).unsigned_abs())
}

fn said(row: &SqliteRow) -> Result<Said> {
    let count = |name| Ok::<_, sqlx::Error>(row.try_get::<i64, _>(name)?.unsigned_abs());
    Ok(Said {
        run: row.try_get("run")?,
        number: row.try_get("number")?,
        entry: from_json(row.try_get("entry")?)?,
        tokens: Tokens { input: count("input")?, output: count("output")?, cached: count("cached")? },
        at: time_or_none(row, "at")?,
        after: count("after")?,
    })
}
