//! Finds the next job of the queue on PostgreSQL.
//!
//! Each query steps along one of four partial indexes, so its cost does not depend on how many jobs are queued:
//! queued jobs of a project in order, jobs that are put off, leased jobs, and suspects, which run alone. Other servers
//! lease at the same time: a query skips rows that are locked.

use crate::encoding::to_json;
use crate::queue::WAKE_BATCH;
use crate::sql::{
    Connection, FromRow, Query, QueuedJob, end_if_over, job_columns, lease_job, queued_columns, requeue_dead,
    sql,
};
use crate::suspects::{Suspect, Turn, dead_columns};
use crate::{Job, JobId, Lease, LeaseLimits, NewEvent, Result, WorkerId};

/// The projects with queued jobs, one step of the index each. The organization whose jobs do the least local work
/// is first, then the one whose turn is longest ago, and of its projects the one whose turn is longest ago. A project that has
/// `$1` jobs in flight is left out, and an organization that has `$3` on the worker `$2`; 4294967295 means no limit.
const PROJECTS: &str = "
    WITH RECURSIVE waiting (project) AS (
      (SELECT project FROM jobs
       WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2
       ORDER BY project LIMIT 1)
      UNION ALL
      SELECT (SELECT next.project FROM jobs next
              WHERE next.status = 'active' AND next.worker IS NULL AND next.not_before IS NULL AND next.deaths < 2
                AND next.project > waiting.project ORDER BY next.project LIMIT 1)
      FROM waiting WHERE project IS NOT NULL),
    running (organization, jobs, of_worker) AS (
      SELECT projects.organization, count(*) FILTER (WHERE held.activity = 'working'),
        count(*) FILTER (WHERE held.worker = $2)
      FROM jobs held JOIN projects ON projects.id = held.project
      WHERE held.status = 'active' AND held.worker IS NOT NULL
      GROUP BY projects.organization),
    served (organization, turn) AS (
      SELECT projects.organization, max(turns.turn) FROM turns
      JOIN projects ON projects.id = turns.project GROUP BY projects.organization)
    SELECT waiting.project FROM waiting LEFT JOIN turns ON turns.project = waiting.project
    LEFT JOIN projects ON projects.id = waiting.project
    LEFT JOIN running ON running.organization = projects.organization
    LEFT JOIN served ON served.organization = projects.organization
    WHERE waiting.project IS NOT NULL AND coalesce(running.of_worker, 0) < $3
      AND ($1 = 4294967295 OR $1 > (
        SELECT count(*) FROM jobs held
        WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = waiting.project))
    ORDER BY coalesce(running.jobs, 0), coalesce(served.turn, 0), coalesce(turns.turn, 0), waiting.project";

/// Queued jobs of the project `$1` whose branch no running job uses: jobs on one branch run one at a time.
macro_rules! queued {
    () => {
        " project = $1 AND status = 'active' AND worker IS NULL AND not_before IS NULL
            AND branch NOT IN (SELECT held.branch FROM jobs held
              WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = $1) "
    };
}

/// Jobs whose worker is dead.
macro_rules! dead {
    () => {
        " FROM jobs WHERE status = 'active' AND worker IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM workers
              WHERE workers.id = jobs.worker AND alive_until > (SELECT docwright_now_ms())) "
    };
}

/// Jobs that have been put off long enough.
macro_rules! due {
    () => {
        " FROM jobs WHERE status = 'active' AND not_before IS NOT NULL
            AND not_before <= (SELECT docwright_now_ms()) "
    };
}

/// Suspects, queued or leased.
macro_rules! suspects {
    () => {
        " FROM jobs WHERE status = 'active' AND not_before IS NULL AND deaths >= 2 "
    };
}

/// What an attempt to lease came to.
pub(super) enum Attempt {
    Leased(Box<Lease>),
    /// Another worker took the job, or it was ended: there may be another one.
    Again,
    Nothing,
}

/// Leases one job. Each attempt is a transaction, so that no two of its locks are waited for at once.
pub(super) async fn lease(
    db: &mut Connection<'_>,
    worker: &WorkerId,
    limits: LeaseLimits,
) -> Result<Attempt> {
    let may_have_suspects = requeue(db, worker).await?;
    let next = match may_have_suspects {
        true => next(db, worker, limits).await?,
        false => next_in_queue(db, worker, limits).await?,
    };
    let Some(next) = next else { return Ok(Attempt::Nothing) };
    let Some((queued, now)) = check_queued(db, &next, limits.project).await? else {
        return Ok(Attempt::Again);
    };
    if end_if_over(db, &queued, now).await? {
        return Ok(Attempt::Again);
    }
    Ok(Attempt::Leased(Box::new(lease_job(db, queued, worker, now).await?)))
}

/// Returns jobs of dead workers, and jobs that have waited long enough, to the queue. `worker` is not dead, whatever the
/// clock says. Answers whether there may be suspects.
async fn requeue(db: &mut Connection<'_>, worker: &WorkerId) -> Result<bool> {
    let look = sql(concat!(
        "SELECT EXISTS (SELECT 1",
        dead!(),
        ") AS dead, EXISTS (SELECT 1",
        due!(),
        ") AS due, EXISTS (SELECT 1",
        suspects!(),
        ") AS suspects"
    ));
    let Some(row) = db.row(look).await? else { return Ok(false) };
    let (are_dead, are_due, are_suspects) = (row.get("dead")?, row.get("due")?, row.get("suspects")?);
    if are_dead {
        let dead = concat!(dead_columns!(), dead!(), "FOR UPDATE OF jobs SKIP LOCKED");
        let dead = db.rows(sql(dead)).await?;
        requeue_dead(db, dead, Some(worker)).await?;
    }
    if are_due {
        let wake = concat!(
            "UPDATE jobs SET not_before = NULL, suspect_since = docwright_now_ms() WHERE id IN (SELECT id",
            due!(),
            "ORDER BY not_before LIMIT $1 FOR UPDATE SKIP LOCKED)"
        );
        db.execute(sql(wake).bind(WAKE_BATCH)).await?;
    }
    Ok(are_dead || are_due || are_suspects)
}

/// The job that the worker leases next, where there are suspects; locked.
async fn next(db: &mut Connection<'_>, worker: &WorkerId, limits: LeaseLimits) -> Result<Option<Job>> {
    let running =
        concat!("SELECT id", suspects!(), "AND deaths = 2 AND worker = $1 AND activity <> 'sharing' LIMIT 1");
    if db.exists(sql(running).bind(&worker.0)).await? {
        return Ok(None); // no other job may join a suspect that is alone
    }
    let Some((job, turn)) = first_suspect(db, worker, limits.project).await? else {
        return next_in_queue(db, worker, limits).await;
    };
    if turn == Turn::Suspect && lock(db, &job.id).await? {
        return Ok(Some(job));
    }
    match next_in_queue(db, worker, limits).await? {
        None if turn == Turn::OthersFirst && lock(db, &job.id).await? => Ok(Some(job)),
        other => Ok(other),
    }
}

/// The first queued suspect whose branch no running job uses, and what the worker does about it. A project that runs
/// `project_limit` jobs is left out; the largest number means no limit.
async fn first_suspect(
    db: &mut Connection<'_>,
    worker: &WorkerId,
    project_limit: u32,
) -> Result<Option<(Job, Turn)>> {
    let first = concat!(
        "SELECT ",
        job_columns!(),
        ", archive_asked_at, deaths, suspect_since, steady_ms, docwright_now_ms() AS now,
           (SELECT alive_since FROM workers WHERE id = $1) AS worker_since,
           (SELECT alone_at FROM workers WHERE id = $1) AS worker_alone_at,
           EXISTS (SELECT 1 FROM jobs own
             WHERE own.status = 'active' AND own.not_before IS NULL AND own.deaths >= 2 AND own.deaths = 2
               AND own.worker = $1) AS worker_has_suspect,
           NOT EXISTS (SELECT 1 FROM jobs own
             WHERE own.status = 'active' AND own.worker = $1 AND own.activity <> 'waiting') AS worker_is_idle,
           NOT EXISTS (SELECT 1 FROM workers other, docwright_now_ms() now
             WHERE other.id <> $1 AND other.alive_until > now AND other.alive_since <= now - jobs.steady_ms
               AND ((SELECT count(*) FROM jobs held
                    WHERE held.status = 'active' AND held.worker = other.id AND held.activity <> 'waiting'), other.id)
                 < ((SELECT count(*) FROM jobs own
                      WHERE own.status = 'active' AND own.worker = $1 AND own.activity <> 'waiting'), $1))
             AS worker_is_nearest",
        suspects!(),
        "AND worker IS NULL
           AND NOT EXISTS (SELECT 1 FROM jobs held WHERE held.status = 'active' AND held.worker IS NOT NULL
             AND held.project = jobs.project AND held.branch = jobs.branch)
           AND ($2 = 4294967295 OR $2 > (SELECT count(*) FROM jobs held
             WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = jobs.project))
         ORDER BY deaths >= 3 OR archive_asked_at IS NOT NULL DESC, suspect_since, id LIMIT 1"
    );
    let Some(row) = db.row(sql(first).bind(&worker.0).bind(project_limit)).await? else { return Ok(None) };
    Ok(Some((Job::from_row(&row)?, Suspect::from_row(&row)?.turn(row.get("now")?))))
}

/// Locks a job unless it is locked: then another worker is dealing with it.
async fn lock(db: &mut Connection<'_>, id: &JobId) -> Result<bool> {
    db.exists(sql("SELECT id FROM jobs WHERE id = $1 FOR UPDATE SKIP LOCKED").bind(&id.0)).await
}

/// The next job, locked. Jobs that are locked are skipped: another worker is dealing with them.
async fn next_in_queue(
    db: &mut Connection<'_>,
    worker: &WorkerId,
    limits: LeaseLimits,
) -> Result<Option<Job>> {
    for row in db.rows(sql(PROJECTS).bind(limits.project).bind(&worker.0).bind(limits.organization)).await? {
        let first = sql(concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE",
            queued!(),
            "AND deaths < 2 ORDER BY queued_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"
        ));
        let first = db.optional(first.bind(row.get::<&str>("project")?)).await?;
        if first.is_some() {
            return Ok(first);
        }
    }
    Ok(None)
}

/// Looks again after the locks are taken: the first query saw other jobs as they were when it began. Leases of the same
/// branch wait for each other, and so do leases of the same project where its running jobs are limited.
async fn check_queued(
    db: &mut Connection<'_>,
    next: &Job,
    project_limit: u32,
) -> Result<Option<(QueuedJob, i64)>> {
    if project_limit < u32::MAX {
        db.lock_name(&["project", &next.project.0]).await?;
    }
    db.lock_name(&["branch", &next.project.0, &next.branch]).await?;
    let find = sql(concat!(
        "SELECT ",
        queued_columns!(),
        ", docwright_now_ms() AS now FROM jobs WHERE id = $2 AND",
        queued!(),
        "AND (SELECT count(*) FROM jobs held
              WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = $1) < $3"
    ));
    let find = find.bind(&next.project.0).bind(&next.id.0).bind(project_limit);
    let row = db.row(find).await?;
    row.map(|row| Ok((QueuedJob::from_row(&row)?, row.get("now")?))).transpose()
}

/// Adds the event "waiting" to at most `limit` jobs that have been queued for `wait` milliseconds, once each.
pub(super) fn announce(wait: i64, limit: u32) -> Query {
    let event = NewEvent::waits();
    sql("WITH marked AS (UPDATE jobs SET told = true, events = events + 1 WHERE id IN (
           SELECT id FROM jobs
           WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2 AND NOT told
             AND queued_at <= (SELECT docwright_now_ms()) - $1
           LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING id, events)
         INSERT INTO job_events (job, number, at, kind, data)
         SELECT id, events, docwright_now_ms(), $3, $4 FROM marked")
    .bind(wait)
    .bind(limit)
    .bind(event.kind)
    .bind(to_json(&event.data))
}
