//! The line that jobs wait in, and what whoever takes one out of it gets.
//!
//! Every look is answered by four small indexes: the jobs that wait, a project's in order; those
//! that are put off; those that somebody has; the suspects, which run alone. How many wait does not matter.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::jobs::{append, job, set_archived};
use super::{leases, suspects};
use crate::kept::{from_json, to_json};
use crate::queue::WAKE;
use crate::suspects::{SUSPECT_DEATHS, Turn, dead_columns, started};
use crate::{Change, Ending, Job, JobId, LEASE, Lease, MAX_DEATHS, NewEvent, Result, Resume, WorkerId};

/// The projects that have a job in line: one step of the index each. The organization with the fewest running jobs is
/// first, then the one whose turn is longest ago, and of its projects the one whose turn is longest ago. Who has as many
/// jobs at once as it may (the largest number: any) is left out.
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
    running (organization, jobs) AS (
      SELECT projects.organization, count(*) FROM jobs held INDEXED BY jobs_held
      JOIN projects ON projects.id = held.project
      WHERE held.status = 'active' AND held.worker IS NOT NULL GROUP BY projects.organization),
    served (organization, turn) AS (
      SELECT projects.organization, max(turns.turn) FROM turns
      JOIN projects ON projects.id = turns.project GROUP BY projects.organization)
    SELECT waiting.project FROM waiting LEFT JOIN turns ON turns.project = waiting.project
    LEFT JOIN projects ON projects.id = waiting.project
    LEFT JOIN running ON running.organization = projects.organization
    LEFT JOIN served ON served.organization = projects.organization
    WHERE waiting.project IS NOT NULL
      AND (?1 = 4294967295 OR ?1 > (
        SELECT count(*) FROM jobs held INDEXED BY jobs_held
        WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = waiting.project))
    ORDER BY coalesce(running.jobs, 0), coalesce(served.turn, 0), coalesce(turns.turn, 0), waiting.project"
    };
}

/// A project's first in line whose branch is nobody's: jobs on one head run one at a time.
macro_rules! first {
    () => {
        "
    SELECT * FROM jobs INDEXED BY jobs_in_line
    WHERE project = ?1 AND status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2
      AND branch NOT IN (SELECT held.branch FROM jobs held INDEXED BY jobs_held
                         WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = ?1)
    ORDER BY queued_at, id LIMIT 1"
    };
}

/// Jobs whose worker is dead. `?1` is now.
macro_rules! dead {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs INDEXED BY jobs_held WHERE status = 'active' AND worker IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = jobs.worker AND alive_until > ?1) ",
            $after
        )
    };
}

/// Jobs that have been put off long enough. `?1` is now.
macro_rules! due {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs INDEXED BY jobs_put_off
              WHERE status = 'active' AND not_before IS NOT NULL AND not_before <= ?1 ",
            $after
        )
    };
}

/// Whether somebody alive has the job.
pub(super) async fn live(db: &mut SqliteConnection, id: &JobId, now: i64) -> Result<bool> {
    let live = sqlx::query(
        "SELECT 1 FROM jobs JOIN workers ON workers.id = jobs.worker WHERE jobs.id = ? AND alive_until > ?",
    );
    Ok(live.bind(&id.0).bind(now).fetch_optional(db).await?.is_some())
}

/// Whether a lease could be had; changes nothing.
pub(super) async fn is_work(
    db: &mut SqliteConnection,
    worker: &WorkerId,
    now: i64,
    most: u32,
) -> Result<bool> {
    let dead = sqlx::query(dead!("SELECT 1", "LIMIT 1")).bind(now).fetch_optional(&mut *db).await?;
    let due = sqlx::query(due!("SELECT 1", "LIMIT 1")).bind(now).fetch_optional(&mut *db).await?;
    Ok(dead.is_some() || due.is_some() || next(db, worker, now, most).await?.is_some())
}

/// The job that the worker leases next.
async fn next(
    db: &mut SqliteConnection,
    worker: &WorkerId,
    now: i64,
    most: u32,
) -> Result<Option<SqliteRow>> {
    if !suspects::are_any(db).await? {
        return next_in_line(db, most).await;
    }
    if suspects::is_running(db, worker).await? {
        return Ok(None);
    }
    let Some((row, suspect)) = suspects::first(db, worker, most).await? else {
        return next_in_line(db, most).await;
    };
    match suspect.turn(now) {
        Turn::Suspect => Ok(Some(row)),
        Turn::OthersFirst => Ok(next_in_line(db, most).await?.or(Some(row))),
        Turn::Others => next_in_line(db, most).await,
        Turn::Nothing => Ok(None),
    }
}

async fn next_in_line(db: &mut SqliteConnection, most: u32) -> Result<Option<SqliteRow>> {
    let projects: Vec<String> = sqlx::query_scalar(projects!()).bind(most).fetch_all(&mut *db).await?;
    for project in projects {
        if let Some(row) = sqlx::query(first!()).bind(project).fetch_optional(&mut *db).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Puts back in line what the dead had, and what has waited long enough. `worker` asks, so it is not dead, whatever
/// the clock says.
async fn put_back(db: &mut SqliteConnection, worker: &WorkerId, now: i64) -> Result<()> {
    let dead = concat!(dead_columns!(), dead!("", ""));
    let dead = sqlx::query(dead).bind(now).fetch_all(&mut *db).await?;
    suspects::take_from_dead(db, dead, Some(worker), now).await?;
    let wake = due!(
        "UPDATE jobs SET not_before = NULL, suspect_since = ?1 WHERE id IN (SELECT id",
        "ORDER BY not_before LIMIT ?2)"
    );
    sqlx::query(wake).bind(now).bind(WAKE).execute(db).await?;
    Ok(())
}

pub(super) async fn beat(db: &mut SqliteConnection, worker: &WorkerId, now: i64) -> Result<()> {
    let beat = "INSERT INTO workers (id, alive_until, alive_since) VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until";
    sqlx::query(beat).bind(&worker.0).bind(now + LEASE.as_millis() as i64).bind(now).execute(db).await?;
    Ok(())
}

pub(super) async fn lease(
    db: &mut SqliteConnection,
    worker: WorkerId,
    most: u32,
    now: i64,
) -> Result<Option<Lease>> {
    put_back(db, &worker, now).await?;
    while let Some(row) = next(db, &worker, now, most).await? {
        let job = job(&row)?;
        if !end_if_over(db, &row, &job, now).await? {
            return take(db, &row, job, worker, now).await.map(Some);
        }
    }
    Ok(None)
}

/// Ends a job that nobody is to work on any more. Answers whether it was one.
async fn end_if_over(db: &mut SqliteConnection, row: &SqliteRow, job: &Job, now: i64) -> Result<bool> {
    if row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some() {
        set_archived(db, &job.id, now).await?;
        return Ok(true);
    }
    let deaths: u32 = row.try_get("deaths")?;
    if deaths < MAX_DEATHS || deaths == MAX_DEATHS && suspects::may_have_pull(db, job).await? {
        return Ok(false);
    }
    leases::end(db, &job.id, now, Ending::gave_up()).await?;
    Ok(true)
}

async fn take(
    db: &mut SqliteConnection,
    row: &SqliteRow,
    mut job: Job,
    worker: WorkerId,
    now: i64,
) -> Result<Lease> {
    job.attempt += 1;
    let (fence, deaths) = (row.try_get::<i64, _>("lease")? + 1, row.try_get("deaths")?);
    sqlx::query("UPDATE jobs SET attempt = ?, lease = ?, worker = ?, leased_at = ? WHERE id = ?")
        .bind(job.attempt)
        .bind(fence)
        .bind(&worker.0)
        .bind(now)
        .bind(&job.id.0)
        .execute(&mut *db)
        .await?;
    let turn = "INSERT OR REPLACE INTO turns SELECT ?, 1 + coalesce(max(turn), 0) FROM turns";
    sqlx::query(turn).bind(&job.project.0).execute(&mut *db).await?;
    // Whoever leases is alive. Without this a worker whose heartbeat is late would lease the
    // same job again and again.
    beat(db, &worker, now).await?;
    if deaths == SUSPECT_DEATHS {
        suspects::note_alone(db, &worker, now).await?;
    }
    append(db, &job.id.0, now, started(job.attempt, deaths)).await?;
    let resume = resume(db, row, job.run).await?;
    Ok(Lease { job, worker, fence, resume, deaths })
}

/// Those that have waited since `since` or longer and were not told so.
pub(super) async fn untold(db: &mut SqliteConnection, since: i64, most: u32) -> Result<Vec<String>> {
    let untold = sqlx::query_scalar(
        "SELECT id FROM jobs INDEXED BY jobs_in_line
         WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2
           AND told = 0 AND queued_at <= ?
         LIMIT ?",
    );
    Ok(untold.bind(since).bind(most).fetch_all(db).await?)
}

/// In two statements for all of them, so that whoever creates a job meanwhile hardly waits. Numbered as [`append`] does.
pub(super) async fn tell(db: &mut SqliteConnection, ids: Vec<String>, now: i64) -> Result<()> {
    let told: Vec<String> = sqlx::query_scalar(
        "UPDATE jobs SET told = 1, events = events + 1 WHERE id IN (SELECT value FROM json_each(?))
           AND status = 'active' AND worker IS NULL AND told = 0 RETURNING id",
    )
    .bind(to_json(&ids))
    .fetch_all(&mut *db)
    .await?;
    let event = NewEvent::waits();
    sqlx::query(
        "INSERT INTO job_events SELECT id, events, ?, ?, ? FROM jobs WHERE id IN (SELECT value FROM json_each(?))",
    )
    .bind(now)
    .bind(event.kind)
    .bind(to_json(&event.data))
    .bind(to_json(&told))
    .execute(db)
    .await?;
    Ok(())
}

pub(super) async fn resume(db: &mut SqliteConnection, row: &SqliteRow, run: u32) -> Result<Resume> {
    let name: Option<String> = row.try_get("base_ref")?;
    let commit: Option<String> = row.try_get("base_commit")?;
    let id: String = row.try_get("id")?;
    let change = sqlx::query("SELECT * FROM job_changes WHERE job = ? AND run = ?").bind(id).bind(run);
    let change = change.fetch_optional(db).await?;
    let pushed = change.as_ref().map(|row| row.try_get("pushed")).transpose()?;
    let change = change.as_ref().map(change_from).transpose()?;
    Ok(Resume {
        origin: row.try_get("origin")?,
        base: name.zip(commit),
        change,
        pushed: pushed.unwrap_or(false),
        put_off: row.try_get("put_off")?,
    })
}

fn change_from(row: &SqliteRow) -> Result<Change> {
    Ok(Change {
        head_commit: row.try_get("head_commit")?,
        title: row.try_get("title")?,
        body: row.try_get("body")?,
        report: from_json(row.try_get("report")?)?,
        diff: row.try_get("diff")?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::SystemClock;
    use base::sqlite::Schema;

    use super::*;
    use crate::{MasterKey, SqliteStore};

    /// How each statement finds its rows: a step of an index at a time, and never along all that wait.
    #[tokio::test]
    async fn no_look_walks_along_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
        let path = dir.path().join("docwright.db");
        let store = SqliteStore::open(&path, Schema::Migrate, master, Arc::new(SystemClock)).await.unwrap();
        let plan = async |sql: &'static str| -> String {
            let rows = sqlx::query(sql).fetch_all(store.db.reads()).await.unwrap();
            rows.iter().map(|row| row.get::<String, _>("detail") + "\n").collect()
        };
        let projects = plan(concat!("EXPLAIN QUERY PLAN ", projects!())).await;
        assert!(projects.contains("SEARCH next USING INDEX jobs_in_line (project>?)"), "{projects}");
        assert!(projects.contains("held USING COVERING INDEX jobs_held"), "{projects}");
        let first = plan(concat!("EXPLAIN QUERY PLAN ", first!())).await;
        assert!(first.contains("SEARCH jobs USING INDEX jobs_in_line (project=?)"), "{first}");
        assert!(!first.contains("TEMP B-TREE FOR ORDER BY"), "{first}");
        let due = plan(due!("EXPLAIN QUERY PLAN SELECT id", "ORDER BY not_before LIMIT 1")).await;
        for suspects in suspects::PLANS {
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
