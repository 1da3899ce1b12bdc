//! Finds the next job of the queue on SQLite.
//!
//! Each query steps along one of four partial indexes, so its cost does not depend on how many jobs are queued:
//! queued jobs of a project in order, jobs that are put off, leased jobs, and suspects, which run alone.

use std::time::Duration;

use super::SqliteStore;
use crate::encoding::{milliseconds, to_json};
use crate::queue::WAKE_BATCH;
use crate::sql::{
    Connection, Fetch, FromRow, QueuedJob, end_if_over, lease_job, queued_columns, requeue_dead, sql,
};
use crate::suspects::{Suspect, Turn, dead_columns};
use crate::{Lease, LeaseLimits, NewEvent, Result, WorkerId};

/// The projects with queued jobs, one step of the index each. The organization whose jobs do the least local work
/// is first, then the one whose turn is longest ago, and of its projects the one whose turn is longest ago. A
/// project that has `$1` jobs in flight is left out, and an organization that has `$3` on the worker `$2`; 4294967295
/// means no limit.
macro_rules! projects {
    () => {
        "
    WITH RECURSIVE waiting (project) AS (
      SELECT min(project) FROM jobs INDEXED BY jobs_in_line
      WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2
      UNION ALL
      SELECT (SELECT min(next.project) FROM jobs next INDEXED BY jobs_in_line
              WHERE next.status = 'active' AND next.worker IS NULL AND next.not_before IS NULL AND next.deaths < 2
                AND next.project > waiting.project)
      FROM waiting WHERE project IS NOT NULL),
    running (organization, jobs, of_worker) AS (
      SELECT projects.organization, count(*) FILTER (WHERE held.activity = 'working'),
        count(*) FILTER (WHERE held.worker = $2)
      FROM jobs held INDEXED BY jobs_held JOIN projects ON projects.id = held.project
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
        SELECT count(*) FROM jobs held INDEXED BY jobs_held
        WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = waiting.project))
    ORDER BY coalesce(running.jobs, 0), coalesce(served.turn, 0), coalesce(turns.turn, 0), waiting.project"
    };
}

/// The first queued job of the project `$1` whose branch no running job uses: jobs on one branch run one at a time.
macro_rules! first {
    () => {
        concat!(
            "SELECT ",
            queued_columns!(),
            " FROM jobs INDEXED BY jobs_in_line
              WHERE project = $1 AND status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2
                AND branch NOT IN (SELECT held.branch FROM jobs held INDEXED BY jobs_held
                  WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = $1)
              ORDER BY queued_at, id LIMIT 1"
        )
    };
}

/// Jobs whose worker is dead.
macro_rules! dead {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs INDEXED BY jobs_held WHERE status = 'active' AND worker IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM workers
                  WHERE workers.id = jobs.worker AND alive_until > docwright_now_ms()) ",
            $after
        )
    };
}

/// Jobs that have been put off long enough, by the time `$1`.
macro_rules! due {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs INDEXED BY jobs_put_off
              WHERE status = 'active' AND not_before IS NOT NULL AND not_before <= $1 ",
            $after
        )
    };
}

/// Suspects, queued or leased.
macro_rules! suspects {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs INDEXED BY jobs_suspect WHERE status = 'active' AND not_before IS NULL AND deaths >= 2 ",
            $after
        )
    };
}

/// The first queued suspect whose branch no running job uses, and what the worker `$1` needs to know. A project that
/// runs `$2` jobs is left out; 4294967295 means no limit. There is one worker, so it is the nearest to being idle.
macro_rules! first_suspect {
    () => {
        concat!(
            "SELECT ",
            queued_columns!(),
            ", suspect_since, steady_ms, true AS worker_is_nearest,
               (SELECT alive_since FROM workers WHERE id = $1) AS worker_since,
               (SELECT alone_at FROM workers WHERE id = $1) AS worker_alone_at,
               EXISTS (SELECT 1 FROM jobs own INDEXED BY jobs_suspect
                 WHERE own.status = 'active' AND own.not_before IS NULL AND own.deaths >= 2 AND own.deaths = 2
                   AND own.worker = $1) AS worker_has_suspect,
               NOT EXISTS (SELECT 1 FROM jobs own INDEXED BY jobs_held
                 WHERE own.status = 'active' AND own.worker IS NOT NULL AND own.worker = $1
                   AND own.activity <> 'waiting') AS worker_is_idle",
            suspects!(
                "",
                "AND worker IS NULL
                   AND NOT EXISTS (SELECT 1 FROM jobs held INDEXED BY jobs_held
                     WHERE held.status = 'active' AND held.worker IS NOT NULL
                       AND held.project = jobs.project AND held.branch = jobs.branch)
                   AND ($2 = 4294967295 OR $2 > (SELECT count(*) FROM jobs held INDEXED BY jobs_held
                     WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = jobs.project))
                 ORDER BY deaths >= 3 OR archive_asked_at IS NOT NULL DESC, suspect_since, id LIMIT 1"
            )
        )
    };
}

/// Whether a lease is possible. Changes nothing.
pub(super) async fn has_work(
    db: &mut Connection<'_>,
    worker: &WorkerId,
    limits: LeaseLimits,
) -> Result<bool> {
    let now = db.now().await?;
    Ok(db.exists(sql(dead!("SELECT id", "LIMIT 1"))).await?
        || db.exists(sql(due!("SELECT id", "LIMIT 1")).bind(now)).await?
        || next(db, worker, limits).await?.is_some())
}

pub(super) async fn lease(
    db: &mut Connection<'_>,
    worker: &WorkerId,
    limits: LeaseLimits,
) -> Result<Option<Lease>> {
    requeue(db, worker).await?;
    let now = db.now().await?;
    while let Some(queued) = next(db, worker, limits).await? {
        if !end_if_over(db, &queued, now).await? {
            return lease_job(db, queued, worker, now).await.map(Some);
        }
    }
    Ok(None)
}

/// The job that the worker leases next.
async fn next(db: &mut Connection<'_>, worker: &WorkerId, limits: LeaseLimits) -> Result<Option<QueuedJob>> {
    if !db.exists(sql(suspects!("SELECT id", "LIMIT 1"))).await? {
        return next_in_queue(db, worker, limits).await;
    }
    let running =
        sql(suspects!("SELECT id", "AND deaths = 2 AND worker = $1 AND activity <> 'sharing' LIMIT 1"));
    if db.exists(running.bind(&worker.0)).await? {
        return Ok(None); // no other job may join a suspect that is alone
    }
    let first = sql(first_suspect!()).bind(&worker.0).bind(limits.project);
    let Some(row) = db.row(first).await? else { return next_in_queue(db, worker, limits).await };
    let (queued, turn) = (QueuedJob::from_row(&row)?, Suspect::from_row(&row)?.turn(db.now().await?));
    match turn {
        Turn::Suspect => Ok(Some(queued)),
        Turn::OthersFirst => Ok(next_in_queue(db, worker, limits).await?.or(Some(queued))),
        Turn::Others => next_in_queue(db, worker, limits).await,
    }
}

async fn next_in_queue(
    db: &mut Connection<'_>,
    worker: &WorkerId,
    limits: LeaseLimits,
) -> Result<Option<QueuedJob>> {
    for row in
        db.rows(sql(projects!()).bind(limits.project).bind(&worker.0).bind(limits.organization)).await?
    {
        let first = db.optional(sql(first!()).bind(row.get::<&str>("project")?)).await?;
        if first.is_some() {
            return Ok(first);
        }
    }
    Ok(None)
}

/// Returns jobs of dead workers, and jobs that have waited long enough, to the queue. `worker` is not dead, whatever the
/// clock says.
async fn requeue(db: &mut Connection<'_>, worker: &WorkerId) -> Result<()> {
    let dead = db.rows(sql(concat!(dead_columns!(), dead!("", "")))).await?;
    requeue_dead(db, dead, Some(worker)).await?;
    let wake = due!(
        "UPDATE jobs SET not_before = NULL, suspect_since = $1 WHERE id IN (SELECT id",
        "ORDER BY not_before LIMIT $2)"
    );
    let now = db.now().await?;
    db.execute(sql(wake).bind(now).bind(WAKE_BATCH)).await.map(drop)
}

/// Returns all leased jobs to the queue.
pub(super) async fn requeue_all(db: &mut Connection<'_>) -> Result<()> {
    let all = concat!(dead_columns!(), " FROM jobs WHERE status = 'active' AND worker IS NOT NULL");
    let rows = db.rows(sql(all)).await?;
    requeue_dead(db, rows, None).await?;
    db.execute(sql("DELETE FROM workers")).await.map(drop)
}

/// Jobs that have been queued for `wait` or longer and have no event about it.
pub(super) async fn unannounced(store: &SqliteStore, wait: Duration) -> Result<Vec<String>> {
    let find = sql("SELECT id FROM jobs INDEXED BY jobs_in_line
         WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2
           AND told = 0 AND queued_at <= docwright_now_ms() - $1
         LIMIT $2");
    let rows = store.rows(find.bind(milliseconds(wait)).bind(WAKE_BATCH)).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Two statements for all of them, so that other writes hardly wait.
pub(super) async fn announce(db: &mut Connection<'_>, ids: &[String]) -> Result<()> {
    let mark = sql("UPDATE jobs SET told = 1, events = events + 1 WHERE id = ANY($1)
           AND status = 'active' AND worker IS NULL AND told = 0 RETURNING id");
    let rows = db.rows(mark.bind(ids.to_vec())).await?;
    let marked = rows.iter().map(|row| row.get("id")).collect::<Result<Vec<String>>>()?;
    let event = NewEvent::waits();
    let insert = sql("INSERT INTO job_events (job, number, at, kind, data)
         SELECT id, events, docwright_now_ms(), $2, $3 FROM jobs WHERE id = ANY($1)");
    db.execute(insert.bind(marked).bind(event.kind).bind(to_json(&event.data))).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::SystemClock;
    use base::sqlite::Schema;

    use sqlx::Row;

    use super::*;
    use crate::MasterKey;

    /// No statement scans all queued jobs.
    #[tokio::test]
    async fn queue_queries_step_along_indexes() {
        let dir = tempfile::tempdir().unwrap();
        let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
        let path = dir.path().join("docwright.db");
        let store = SqliteStore::open(&path, Schema::Migrate, master, Arc::new(SystemClock)).await.unwrap();
        let plan = async |sql: &'static str| -> String {
            let rows =
                sqlx::query(sql).fetch_all(&mut *store.db.reads().acquire().await.unwrap()).await.unwrap();
            rows.iter().map(|row| row.get::<String, _>("detail") + "\n").collect()
        };
        let projects = plan(concat!("EXPLAIN QUERY PLAN ", projects!())).await;
        assert!(projects.contains("SEARCH next USING INDEX jobs_in_line (project>?)"), "{projects}");
        assert_eq!(projects.matches("held USING COVERING INDEX jobs_held").count(), 2, "{projects}");
        assert!(!projects.contains("held USING INDEX"), "{projects}");
        let first = plan(concat!("EXPLAIN QUERY PLAN ", first!())).await;
        assert!(first.contains("SEARCH jobs USING INDEX jobs_in_line (project=?)"), "{first}");
        assert!(!first.contains("TEMP B-TREE FOR ORDER BY"), "{first}");
        let due = plan(due!("EXPLAIN QUERY PLAN SELECT id", "ORDER BY not_before LIMIT 1")).await;
        let suspects = [
            concat!("EXPLAIN QUERY PLAN ", first_suspect!()),
            suspects!("EXPLAIN QUERY PLAN SELECT id", "LIMIT 1"),
        ];
        for suspects in suspects {
            let plan = plan(suspects).await;
            assert!(plan.contains("INDEX jobs_suspect"), "{plan}");
            assert!(!plan.contains("SCAN held"), "{plan}");
        }
        assert!(
            due.contains("INDEX jobs_put_off (not_before>? AND not_before<?)") && !due.contains("TEMP"),
            "{due}"
        );
    }
}
