//! The line that jobs wait in, and what whoever takes one out of it gets.
//!
//! Every look is answered by four small indexes: the jobs that wait, a project's in order; those
//! that are put off; those that somebody has; the suspects, which run alone. How many wait does not matter.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::jobs::{append, job, set_archived};
use super::{PostgresStore, leases, number, one_at_a_time, suspects};
use crate::kept::{from_json, to_json};
use crate::queue::WAKE;
use crate::suspects::{SUSPECT_DEATHS, Turn, dead_columns, started};
use crate::{Change, Ending, Job, JobId, LEASE, Lease, MAX_DEATHS, NewEvent, Result, Resume, WorkerId};

/// The projects that have a job in line: one step of the index each. The organization with the fewest running jobs is
/// first, then the one whose turn is longest ago, and of its projects the one whose turn is longest ago. Who has as many
/// jobs at once as it may (the largest number: any) is left out.
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
    running (organization, jobs) AS (
      SELECT projects.organization, count(*) FROM jobs held
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
      AND ($1 = 4294967295 OR $1 > (
        SELECT count(*) FROM jobs held
        WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = waiting.project))
    ORDER BY coalesce(running.jobs, 0), coalesce(served.turn, 0), coalesce(turns.turn, 0), waiting.project";

/// Of jobs: it waits for a worker, and its branch is nobody's: jobs on one head run one at a time.
macro_rules! in_line {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " project = $1 AND status = 'active' AND worker IS NULL AND not_before IS NULL
               AND branch NOT IN (SELECT held.branch FROM jobs held
                 WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = $1) ",
            $after
        )
    };
}

/// Jobs whose worker is dead.
macro_rules! dead {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs WHERE status = 'active' AND worker IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM workers
                  WHERE workers.id = jobs.worker AND alive_until > (SELECT docwright_now_ms())) ",
            $after
        )
    };
}

/// Jobs that have been put off long enough.
macro_rules! due {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " FROM jobs WHERE status = 'active' AND not_before IS NOT NULL
                AND not_before <= (SELECT docwright_now_ms()) ",
            $after
        )
    };
}

/// What a look at the line came to.
pub(super) enum Look {
    Leased(Box<Lease>),
    /// The job was somebody else's by then, or is at its end: there may be another one.
    Again,
    Nothing,
}

/// Whether somebody alive has the job.
pub(super) async fn live(db: &mut PgConnection, id: &JobId, now: i64) -> Result<bool> {
    let live = sqlx::query(
        "SELECT 1 FROM jobs JOIN workers ON workers.id = jobs.worker WHERE jobs.id = $1 AND alive_until > $2",
    );
    Ok(live.bind(&id.0).bind(now).fetch_optional(db).await?.is_some())
}

pub(super) async fn beat(db: &mut PgConnection, worker: &WorkerId) -> Result<()> {
    let beat = "INSERT INTO workers (id, alive_until, alive_since)
        SELECT $1, now + $2, now FROM docwright_now_ms() now
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until";
    sqlx::query(beat).bind(&worker.0).bind(LEASE.as_millis() as i64).execute(db).await?;
    Ok(())
}

impl PostgresStore {
    /// Takes the first in line. A transaction each time: no two of its locks are ever waited for
    /// at once.
    pub(super) async fn look(&self, worker: &WorkerId, most: u32) -> Result<Look> {
        let mut tx = self.begin().await?;
        let are_suspects = put_back(&mut tx, worker).await?;
        let first = match are_suspects {
            true => next(&mut tx, worker, most).await?,
            false => first_in_line(&mut tx, most).await?,
        };
        let look = match first {
            Some(first) => match still_in_line(&mut tx, &first, most).await? {
                Some((row, now)) => take(&mut tx, &row, worker, now).await?,
                None => Look::Again,
            },
            None => Look::Nothing,
        };
        tx.commit().await?;
        Ok(look)
    }

    /// Those that have been dead for a day: each start of a server leaves one behind.
    pub(super) async fn forget_workers(&self) -> Result<()> {
        let forget = sqlx::query("DELETE FROM workers WHERE alive_until < docwright_now_ms() - 86400000");
        self.execute(forget).await.map(|_| ())
    }
}

/// Puts back in line what the dead had, and what has waited long enough. What is locked is somebody's. `worker` asks,
/// so it is not dead, whatever the clock says. Answers whether there may be suspects.
async fn put_back(db: &mut PgConnection, worker: &WorkerId) -> Result<bool> {
    let look = concat!(
        "SELECT EXISTS (",
        dead!("SELECT 1", ""),
        ") AS dead, EXISTS (",
        due!("SELECT 1", ""),
        ") AS due, EXISTS (",
        suspects::suspects!("SELECT 1", ""),
        ") AS suspects"
    );
    let row = sqlx::query(look).fetch_one(&mut *db).await?;
    let (dead, due, suspects) = (row.try_get("dead")?, row.try_get("due")?, row.try_get("suspects")?);
    if dead {
        let dead = concat!(dead_columns!(), dead!("", "FOR UPDATE OF jobs SKIP LOCKED"));
        let dead = sqlx::query(dead).fetch_all(&mut *db).await?;
        suspects::take_from_dead(db, dead, worker).await?;
    }
    if due {
        let wake = due!(
            "UPDATE jobs SET not_before = NULL, suspect_since = docwright_now_ms() WHERE id IN (SELECT id",
            "ORDER BY not_before LIMIT $1 FOR UPDATE SKIP LOCKED)"
        );
        sqlx::query(wake).bind(i64::from(WAKE)).execute(db).await?;
    }
    Ok(dead || due || suspects)
}

/// The job that the worker leases next, where there are suspects; locked.
async fn next(db: &mut PgConnection, worker: &WorkerId, most: u32) -> Result<Option<Job>> {
    if suspects::is_running(db, worker).await? {
        return Ok(None);
    }
    let Some((job, suspect, now)) = suspects::first(db, worker, most).await? else {
        return first_in_line(db, most).await;
    };
    let turn = suspect.turn(now);
    if turn == Turn::Nothing {
        return Ok(None);
    }
    if turn == Turn::Suspect && suspects::lock(db, &job.id).await? {
        return Ok(Some(job));
    }
    match first_in_line(db, most).await? {
        None if turn == Turn::OthersFirst && suspects::lock(db, &job.id).await? => Ok(Some(job)),
        other => Ok(other),
    }
}

/// Locked, unless it is locked already: then whoever locked it is dealing with it.
async fn first_in_line(db: &mut PgConnection, most: u32) -> Result<Option<Job>> {
    let projects: Vec<String> =
        sqlx::query_scalar(PROJECTS).bind(i64::from(most)).fetch_all(&mut *db).await?;
    for project in projects {
        let first = sqlx::query(in_line!(
            "SELECT * FROM jobs WHERE",
            "AND deaths < 2 ORDER BY queued_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"
        ));
        if let Some(row) = first.bind(project).fetch_optional(&mut *db).await? {
            return job(&row).map(Some);
        }
    }
    Ok(None)
}

/// The first look saw the others as they were when it began; this one sees all that was written
/// before the locks were there. Whoever wants the same branch waits for its turn, and where a
/// project's jobs are counted, whoever wants another of them.
async fn still_in_line(db: &mut PgConnection, first: &Job, most: u32) -> Result<Option<(PgRow, i64)>> {
    if most < u32::MAX {
        one_at_a_time(db, &["project", &first.project.0]).await?;
    }
    one_at_a_time(db, &["branch", &first.project.0, &first.branch]).await?;
    let still = sqlx::query(in_line!(
        "SELECT *, docwright_now_ms() AS now FROM jobs WHERE id = $2 AND",
        "AND (SELECT count(*) FROM jobs held
              WHERE held.status = 'active' AND held.worker IS NOT NULL AND held.project = $1) < $3"
    ));
    let still = still.bind(&first.project.0).bind(&first.id.0).bind(i64::from(most));
    let row = still.fetch_optional(db).await?;
    row.map(|row| Ok((row.try_get("now")?, row))).transpose().map(|found| found.map(|(now, row)| (row, now)))
}

async fn take(db: &mut PgConnection, row: &PgRow, worker: &WorkerId, now: i64) -> Result<Look> {
    let mut job = job(row)?;
    if row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some() {
        set_archived(db, &job.id, now).await?;
        return Ok(Look::Again);
    }
    let deaths = number(row, "deaths")?;
    if deaths > MAX_DEATHS || deaths == MAX_DEATHS && !suspects::may_have_pull(db, &job).await? {
        leases::end(db, &job.id, now, Ending::gave_up()).await?;
        return Ok(Look::Again);
    }
    job.attempt += 1;
    let fence = row.try_get::<i64, _>("lease")? + 1;
    sqlx::query("UPDATE jobs SET attempt = $1, lease = $2, worker = $3, leased_at = $4 WHERE id = $5")
        .bind(i64::from(job.attempt))
        .bind(fence)
        .bind(&worker.0)
        .bind(now)
        .bind(&job.id.0)
        .execute(&mut *db)
        .await?;
    // Whoever leases is alive. Without this a worker whose heartbeat is late would lease the
    // same job again and again.
    beat(db, worker).await?;
    if deaths == SUSPECT_DEATHS {
        suspects::note_alone(db, worker, now).await?;
    }
    append(db, &job.id, now, &started(job.attempt, deaths)).await?;
    let resume = resume(db, row, job.run).await?;
    let turn = "INSERT INTO turns SELECT $1, 1 + coalesce(max(turn), 0) FROM turns
        ON CONFLICT (project) DO UPDATE SET turn = excluded.turn";
    sqlx::query(turn).bind(&job.project.0).execute(&mut *db).await?;
    Ok(Look::Leased(Box::new(Lease { job, worker: worker.clone(), fence, resume, deaths })))
}

/// Tells those that have waited for `long` milliseconds, each once.
pub(super) async fn tell_waiting(db: &mut PgConnection, long: i64, most: u32) -> Result<usize> {
    let event = NewEvent::waits();
    let tell = sqlx::query(
        "WITH told AS (UPDATE jobs SET told = true, events = events + 1 WHERE id IN (
           SELECT id FROM jobs
           WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2 AND NOT told
             AND queued_at <= (SELECT docwright_now_ms()) - $1
           LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING id, events)
         INSERT INTO job_events SELECT id, events, docwright_now_ms(), $3, $4 FROM told",
    );
    let tell = tell.bind(long).bind(i64::from(most)).bind(event.kind).bind(to_json(&event.data));
    Ok(tell.execute(db).await?.rows_affected() as usize)
}

pub(super) async fn resume(db: &mut PgConnection, row: &PgRow, run: u32) -> Result<Resume> {
    let name: Option<String> = row.try_get("base_ref")?;
    let commit: Option<String> = row.try_get("base_commit")?;
    let change = sqlx::query("SELECT * FROM job_changes WHERE job = $1 AND run = $2");
    let change = change.bind(row.try_get::<&str, _>("id")?).bind(i64::from(run)).fetch_optional(db).await?;
    Ok(Resume {
        origin: row.try_get("origin")?,
        base: name.zip(commit),
        pushed: change.as_ref().map(|row| row.try_get("pushed")).transpose()?.unwrap_or(false),
        change: change.as_ref().map(change_from).transpose()?,
        put_off: number(row, "put_off")?,
    })
}

fn change_from(row: &PgRow) -> Result<Change> {
    Ok(Change {
        head_commit: row.try_get("head_commit")?,
        title: row.try_get("title")?,
        body: row.try_get("body")?,
        report: from_json(row.try_get("report")?)?,
        diff: row.try_get("diff")?,
    })
}
