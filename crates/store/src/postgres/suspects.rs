//! Counts deaths of workers against the jobs that they had, and finds the jobs that have to run alone.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::jobs::{append, job};
use super::{now, number};
use crate::suspects::{Dead, DeathCount, SUSPECT_DEATHS, Suspect, step, waits_alone};
use crate::{Job, JobId, MAX_DEATHS, Result, WorkerId};

/// Of jobs: a suspect, waiting or leased.
macro_rules! suspects {
    ($before:literal, $after:literal) => {
        concat!($before, " FROM jobs WHERE status = 'active' AND not_before IS NULL AND deaths >= 2 ", $after)
    };
}
pub(super) use suspects;

/// Whether the worker runs one, which no other job may join.
pub(super) async fn is_running(db: &mut PgConnection, worker: &WorkerId) -> Result<bool> {
    let running = sqlx::query(suspects!("SELECT 1", "AND deaths = 2 AND worker = $1 LIMIT 1"));
    Ok(running.bind(&worker.0).fetch_optional(db).await?.is_some())
}

/// The first that waits and whose branch nobody has, how the worker finds it, and now. A project that has as many
/// jobs at once as it may (the largest number: any) is left out.
pub(super) async fn first(
    db: &mut PgConnection,
    worker: &WorkerId,
    project_limit: u32,
) -> Result<Option<(Job, Suspect, i64)>> {
    let first = sqlx::query(suspects!(
        "SELECT *, docwright_now_ms() AS now,
           (SELECT alive_since FROM workers WHERE id = $1) AS worker_since,
           (SELECT alone_at FROM workers WHERE id = $1) AS worker_alone_at,
           NOT EXISTS (SELECT 1 FROM jobs own WHERE own.status = 'active' AND own.worker = $1) AS worker_is_idle,
           NOT EXISTS (SELECT 1 FROM workers other, docwright_now_ms() now
             WHERE other.id <> $1 AND other.alive_until > now AND other.alive_since <= now - jobs.steady_ms
               AND ((SELECT count(*) FROM jobs held WHERE held.status = 'active' AND held.worker = other.id), other.id)
                 < ((SELECT count(*) FROM jobs own WHERE own.status = 'active' AND own.worker = $1), $1))
             AS worker_is_nearest",
        "AND worker IS NULL
           AND NOT EXISTS (SELECT 1 FROM jobs held WHERE held.status = 'active' AND held.worker IS NOT NULL
             AND held.project = jobs.project AND held.branch = jobs.branch)
           AND ($2 = 4294967295 OR $2 > (SELECT count(*) FROM jobs held
             WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = jobs.project))
         ORDER BY deaths >= 3 OR archive_asked_at IS NOT NULL DESC, suspect_since, id LIMIT 1"
    ));
    let row = first.bind(&worker.0).bind(i64::from(project_limit)).fetch_optional(db).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some((job(&row)?, suspect(&row)?, row.try_get("now")?)))
}

fn suspect(row: &PgRow) -> Result<Suspect> {
    let is_to_archive = row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some();
    Ok(Suspect {
        is_over: is_to_archive || number::<u32>(row, "deaths")? >= MAX_DEATHS,
        waits_since: row.try_get("suspect_since")?,
        steady_ms: row.try_get("steady_ms")?,
        worker_since: row.try_get("worker_since")?,
        worker_alone_at: row.try_get("worker_alone_at")?,
        worker_is_idle: row.try_get("worker_is_idle")?,
        worker_is_nearest: row.try_get("worker_is_nearest")?,
    })
}

/// Whether it is ours alone until the end of the transaction. If it is locked, somebody else is dealing with it.
pub(super) async fn lock(db: &mut PgConnection, id: &JobId) -> Result<bool> {
    let lock = sqlx::query("SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE SKIP LOCKED").bind(&id.0);
    Ok(lock.fetch_optional(db).await?.is_some())
}

/// Takes jobs, of which [`dead_columns`](crate::suspects::dead_columns) are known and which are locked, from workers
/// that are dead. `living` is not, although its lease ran out.
pub(super) async fn take_from_dead(db: &mut PgConnection, rows: Vec<PgRow>, living: &WorkerId) -> Result<()> {
    let now = now(db).await?;
    for row in rows {
        let id = JobId(row.try_get("id")?);
        let (worker, dead): (&str, _) = (row.try_get("worker")?, dead(&row)?);
        let count = if living.0 == worker { dead.count } else { dead.counted() };
        let take =
            "UPDATE jobs SET worker = NULL, suspect_since = $1, deaths = $2, died_step = $3, steady_ms = $4
            WHERE id = $5";
        let take = sqlx::query(take).bind(now).bind(i64::from(count.deaths)).bind(count.died_step);
        take.bind(count.steady_ms).bind(&id.0).execute(&mut *db).await?;
        if count.deaths == SUSPECT_DEATHS {
            append(db, &id, now, &waits_alone()).await?;
        }
    }
    Ok(())
}

fn dead(row: &PgRow) -> Result<Dead> {
    let count = DeathCount {
        deaths: number(row, "deaths")?,
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

/// The worker has none but a suspect from now on.
pub(super) async fn note_alone(db: &mut PgConnection, worker: &WorkerId, now: i64) -> Result<()> {
    let note = sqlx::query("UPDATE workers SET alone_at = $1 WHERE id = $2");
    note.bind(now).bind(&worker.0).execute(db).await?;
    Ok(())
}

/// A suspect that has got further than it was when its worker died is none any more.
pub(super) async fn clear(db: &mut PgConnection, id: &JobId) -> Result<()> {
    let clear =
        concat!("UPDATE jobs SET deaths = 0 WHERE id = $1 AND deaths > 0 AND ", step!(), " > died_step");
    sqlx::query(clear).bind(&id.0).execute(db).await?;
    Ok(())
}

/// Whether the host may have a pull request that the job does not know of: nothing is pushed before its change is
/// noted.
pub(super) async fn may_have_pull(db: &mut PgConnection, job: &Job) -> Result<bool> {
    let change = sqlx::query("SELECT 1 FROM job_changes WHERE job = $1").bind(&job.id.0);
    Ok(job.pr_link.is_none() && change.fetch_optional(db).await?.is_some())
}
