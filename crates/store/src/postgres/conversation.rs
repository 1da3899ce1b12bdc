//! The conversation's part of two traits: workers add to it, clients read it.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::{PostgresStore, number, time_or_none};
use crate::conversation::month_of;
use crate::kept::{from_json, kept};
use crate::{JobId, Result, Said, Tokens};

/// Answers the tokens of the job's project this month, with these. The caller has locked the job.
pub(super) async fn say(
    db: &mut PgConnection,
    job: &JobId,
    now: i64,
    entry: &str,
    tokens: Tokens,
) -> Result<u64> {
    sqlx::query(
        "INSERT INTO conversation (job, number, run, after, at, entry, input, output, cached)
         SELECT id, 1 + coalesce((SELECT max(number) FROM conversation WHERE job = id), 0), run, events,
                $1, $2, $3, $4, $5
         FROM jobs WHERE id = $6",
    )
    .bind(now)
    .bind(entry)
    .bind(kept(tokens.input))
    .bind(kept(tokens.output))
    .bind(kept(tokens.cached))
    .bind(&job.0)
    .execute(&mut *db)
    .await?;
    let got_on = "UPDATE jobs SET put_off = 0, tokens = least(tokens, 9223372036854775807 - $1) + $1
        WHERE id = $2 AND (put_off > 0 OR $1 > 0)";
    sqlx::query(got_on).bind(kept(tokens.total())).bind(&job.0).execute(&mut *db).await?;
    spend(db, job, now, tokens).await
}

async fn spend(db: &mut PgConnection, job: &JobId, now: i64, tokens: Tokens) -> Result<u64> {
    // A provider can claim any number: the count stops at the largest instead of failing.
    let spent: i64 = sqlx::query_scalar(
        "INSERT INTO tokens_by_month AS kept SELECT project, $1, $2 FROM jobs WHERE id = $3
         ON CONFLICT (project, month) DO UPDATE
         SET tokens = least(kept.tokens, 9223372036854775807 - excluded.tokens) + excluded.tokens
         RETURNING tokens",
    )
    .bind(month_of(now)?)
    .bind(kept(tokens.total()))
    .bind(&job.0)
    .fetch_one(db)
    .await?;
    Ok(spent.unsigned_abs())
}

pub(super) async fn forget_from(db: &mut PgConnection, job: &JobId, number: u32) -> Result<()> {
    // The current run's entries are the last ones, so what is left has no gap.
    let forget = "DELETE FROM conversation
        WHERE job = $1 AND number >= $2 AND run = (SELECT run FROM jobs WHERE id = $1)";
    sqlx::query(forget).bind(&job.0).bind(i64::from(number)).execute(db).await?;
    Ok(())
}

impl PostgresStore {
    pub(super) async fn said(&self, job: &JobId) -> Result<Vec<Said>> {
        let rows = sqlx::query("SELECT * FROM conversation WHERE job = $1 ORDER BY number").bind(&job.0);
        self.rows(rows).await?.iter().map(said).collect()
    }

    pub(super) async fn next_said(&self, job: &JobId, number: u32) -> Result<Option<Said>> {
        let next = "SELECT * FROM conversation WHERE job = $1 AND number > $2 ORDER BY number LIMIT 1";
        let next = sqlx::query(next).bind(&job.0).bind(i64::from(number));
        self.row(next).await?.as_ref().map(said).transpose()
    }
}

fn said(row: &PgRow) -> Result<Said> {
    Ok(Said {
        run: number(row, "run")?,
        number: number(row, "number")?,
        entry: from_json(row.try_get("entry")?)?,
        tokens: Tokens {
            input: number(row, "input")?,
            output: number(row, "output")?,
            cached: number(row, "cached")?,
        },
        at: time_or_none(row, "at")?,
        after: number(row, "after")?,
    })
}
