//! The conversation of a job with its model, and the tokens that it used.

use super::{Backend, Connection, Fetch, FromRow, Row, sql};
use crate::conversation::month_of;
use crate::encoding::{damaged, to_signed};
use crate::{ConversationEntry, JobId, ProjectId, Result, Tokens};

macro_rules! columns {
    () => {
        "run, number, entry, input, output, cached, at, after"
    };
}

/// Adds an entry to the current run. Answers the tokens of the job's project this month, with these. The caller has
/// locked the job.
pub(super) async fn add(
    db: &mut Connection<'_>,
    job: &JobId,
    now: i64,
    entry: &str,
    tokens: Tokens,
) -> Result<u64> {
    let insert = sql("INSERT INTO conversation (job, number, run, after, at, entry, input, output, cached)
         SELECT id, 1 + coalesce((SELECT max(number) FROM conversation WHERE job = id), 0), run, events,
                $1, $2, $3, $4, $5
         FROM jobs WHERE id = $6")
    .bind(now)
    .bind(entry)
    .bind(to_signed(tokens.input))
    .bind(to_signed(tokens.output))
    .bind(to_signed(tokens.cached))
    .bind(&job.0);
    db.execute(insert).await?;
    // A provider can claim any number: the sums stop at the largest number instead of failing.
    let count = sql("UPDATE jobs SET put_off = 0, tokens = $1 + CASE
           WHEN tokens > 9223372036854775807 - $1 THEN 9223372036854775807 - $1 ELSE tokens END
         WHERE id = $2 AND (put_off > 0 OR $1 > 0)");
    db.execute(count.bind(to_signed(tokens.total())).bind(&job.0)).await?;
    let spend = sql(
        "INSERT INTO tokens_by_month (project, month, tokens) SELECT project, $1, $2 FROM jobs WHERE id = $3
         ON CONFLICT (project, month) DO UPDATE SET tokens = excluded.tokens + CASE
           WHEN tokens_by_month.tokens > 9223372036854775807 - excluded.tokens
           THEN 9223372036854775807 - excluded.tokens ELSE tokens_by_month.tokens END
         RETURNING tokens",
    );
    let spend = spend.bind(month_of(now)?).bind(to_signed(tokens.total())).bind(&job.0);
    db.row(spend).await?.ok_or_else(|| damaged("a count of tokens"))?.number("tokens")
}

pub(super) async fn all(store: &impl Fetch, job: &JobId) -> Result<Vec<ConversationEntry>> {
    let select = concat!("SELECT ", columns!(), " FROM conversation WHERE job = $1 ORDER BY number");
    store.all(sql(select).bind(&job.0)).await
}

pub(super) async fn after(store: &impl Fetch, job: &JobId, number: u32) -> Result<Option<ConversationEntry>> {
    let next = concat!(
        "SELECT ",
        columns!(),
        " FROM conversation WHERE job = $1 AND number > $2 ORDER BY number LIMIT 1"
    );
    store.optional(sql(next).bind(&job.0).bind(number)).await
}

/// The current run's entries are the last ones, so the numbers that stay have no gap.
pub(super) async fn forget_from(db: &mut Connection<'_>, job: &JobId, number: u32) -> Result<()> {
    let forget = sql("DELETE FROM conversation
         WHERE job = $1 AND number >= $2 AND run = (SELECT run FROM jobs WHERE id = $1)");
    db.execute(forget.bind(&job.0).bind(number)).await.map(drop)
}

pub(super) async fn tokens_this_month(store: &impl Backend, project: &ProjectId) -> Result<u64> {
    let spent = sql("SELECT tokens FROM tokens_by_month WHERE project = $1 AND month = $2");
    let row = store.row(spent.bind(&project.0).bind(month_of(store.now().await?)?)).await?;
    row.map_or(Ok(0), |row| row.number("tokens"))
}

impl FromRow for ConversationEntry {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            run: row.number("run")?,
            number: row.number("number")?,
            entry: row.json("entry")?,
            tokens: Tokens {
                input: row.number("input")?,
                output: row.number("output")?,
                cached: row.number("cached")?,
            },
            at: row.time_or_none("at")?,
            after: row.number("after")?,
        })
    }
}
