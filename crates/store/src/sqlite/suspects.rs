//! Counts deaths of workers against the jobs that they had, and finds the jobs that have to run alone.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::jobs::append;
use crate::suspects::{Dead, DeathCount, SUSPECT_DEATHS, Suspect, dead_columns, step, waits_alone};
use crate::{Job, JobId, MAX_DEATHS, Result, WorkerId};

/// Of jobs: a suspect, waiting or leased.
macro_rules! suspects {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs INDEXED BY jobs_suspect WHERE status = 'active' AND not_before IS NULL AND deaths >= 2 ",
            $after
        )
    };
}

/// The first that waits and whose branch nobody has, and what to know about the worker `?1`. A project that has as
/// many jobs at once as it may (`?2`, the largest number: any) is left out.
macro_rules! first {
    ($before:literal) => {
        suspects!(
            $before,
            "AND worker IS NULL
               AND NOT EXISTS (SELECT 1 FROM jobs held INDEXED BY jobs_held
                 WHERE held.status = 'active' AND held.worker IS NOT NULL
                   AND held.project = jobs.project AND held.branch = jobs.branch)
               AND (?2 = 4294967295 OR ?2 > (SELECT count(*) FROM jobs held INDEXED BY jobs_held
                 WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = jobs.project))
             ORDER BY deaths >= 3 OR archive_asked_at IS NOT NULL DESC, suspect_since, id LIMIT 1"
        )
    };
}

/// Whether there is any; most of the time there is none.
pub(super) async fn are_any(db: &mut SqliteConnection) -> Result<bool> {
    let any = sqlx::query(suspects!("SELECT 1", "LIMIT 1"));
    Ok(any.fetch_optional(db).await?.is_some())
}

/// Whether the worker runs one, which no other job may join.
pub(super) async fn is_running(db: &mut SqliteConnection, worker: &WorkerId) -> Result<bool> {
    let running = sqlx::query(suspects!("SELECT 1", "AND deaths = 2 AND worker = ? LIMIT 1"));
    Ok(running.bind(&worker.0).fetch_optional(db).await?.is_some())
}

pub(super) async fn first(
    db: &mut SqliteConnection,
    worker: &WorkerId,
    project_limit: u32,
) -> Result<Option<(SqliteRow, Suspect)>> {
    let first = sqlx::query(first!(
        "SELECT *, (SELECT alive_since FROM workers WHERE id = ?1) AS worker_since,
           (SELECT alone_at FROM workers WHERE id = ?1) AS worker_alone_at,
           NOT EXISTS (SELECT 1 FROM jobs own INDEXED BY jobs_held
             WHERE own.status = 'active' AND own.worker IS NOT NULL AND own.worker = ?1) AS worker_is_idle"
    ));
    let row = first.bind(&worker.0).bind(project_limit).fetch_optional(db).await?;
    let Some(row) = row else { return Ok(None) };
    let is_to_archive = row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some();
    let suspect = Suspect {
        is_over: is_to_archive || row.try_get::<u32, _>("deaths")? >= MAX_DEATHS,
        waits_since: row.try_get("suspect_since")?,
        steady_ms: row.try_get("steady_ms")?,
        worker_since: row.try_get("worker_since")?,
        worker_alone_at: row.try_get("worker_alone_at")?,
        worker_is_idle: row.try_get("worker_is_idle")?,
        // There is one server, and it has one worker.
        worker_is_nearest: true,
    };
    Ok(Some((row, suspect)))
}

/// Takes jobs, of which [`dead_columns`] are known, from workers that are dead. `living` is not, although its lease ran
/// out.
pub(super) async fn take_from_dead(
    db: &mut SqliteConnection,
    rows: Vec<SqliteRow>,
    living: Option<&WorkerId>,
    now: i64,
) -> Result<()> {
    for row in rows {
        let id: &str = row.try_get("id")?;
        let (worker, dead): (&str, _) = (row.try_get("worker")?, dead(&row)?);
        let is_living = living.is_some_and(|living| living.0 == worker);
        let count = if is_living { dead.count } else { dead.counted() };
        let take =
            "UPDATE jobs SET worker = NULL, suspect_since = ?, deaths = ?, died_step = ?, steady_ms = ?
            WHERE id = ?";
        let take = sqlx::query(take).bind(now).bind(count.deaths).bind(count.died_step).bind(count.steady_ms);
        take.bind(id).execute(&mut *db).await?;
        if count.deaths == SUSPECT_DEATHS {
            append(db, id, now, waits_alone()).await?;
        }
    }
    Ok(())
}

fn dead(row: &SqliteRow) -> Result<Dead> {
    let count = DeathCount {
        deaths: row.try_get("deaths")?,
        died_step: row.try_get("died_step")?,
        steady_ms: row.try_get("steady_ms")?,
    };
    Ok(Dead {
        count,
        step: row.try_get("step")?,
        leased_at: row.try_get("leased_at")?,
        said_at: row.try_get("said_at")?,
        worker_alive_until: row.try_get("alive_until")?,
    })
}

/// Whoever held the data directory before is dead.
pub(super) async fn take_from_all(db: &mut SqliteConnection, now: i64) -> Result<()> {
    let all = concat!(dead_columns!(), " FROM jobs WHERE status = 'active' AND worker IS NOT NULL");
    let rows = sqlx::query(all).fetch_all(&mut *db).await?;
    take_from_dead(db, rows, None, now).await?;
    sqlx::query("DELETE FROM workers").execute(db).await?;
    Ok(())
}

/// The worker has none but a suspect from now on.
pub(super) async fn note_alone(db: &mut SqliteConnection, worker: &WorkerId, now: i64) -> Result<()> {
    let note = sqlx::query("UPDATE workers SET alone_at = ? WHERE id = ?");
    note.bind(now).bind(&worker.0).execute(db).await?;
    Ok(())
}

/// A suspect that has got further than it was when its worker died is none any more.
pub(super) async fn clear(db: &mut SqliteConnection, id: &JobId) -> Result<()> {
    let clear =
        concat!("UPDATE jobs SET deaths = 0 WHERE id = ? AND deaths > 0 AND ", step!(), " > died_step");
    sqlx::query(clear).bind(&id.0).execute(db).await?;
    Ok(())
}

/// Whether the host may have a pull request that the job does not know of: nothing is pushed before its change is
/// noted.
pub(super) async fn may_have_pull(db: &mut SqliteConnection, job: &Job) -> Result<bool> {
    let change = sqlx::query("SELECT 1 FROM job_changes WHERE job = ?").bind(&job.id.0);
    Ok(job.pr_link.is_none() && change.fetch_optional(db).await?.is_some())
}

#[cfg(test)]
pub(super) const PLANS: [&str; 2] =
    [first!("EXPLAIN QUERY PLAN SELECT *"), suspects!("EXPLAIN QUERY PLAN SELECT 1", "LIMIT 1")];
