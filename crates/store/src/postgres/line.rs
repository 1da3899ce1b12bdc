//! The line that jobs wait in, and what whoever takes one out of it gets.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::jobs::{append, job, set_archived};
use super::{PostgresStore, leases, now, number, one_at_a_time};
use crate::kept::from_json;
use crate::{Change, Ending, Job, JobId, LEASE, Lease, MAX_ATTEMPTS, NewEvent, Result, Resume, WorkerId};

/// Of jobs: active, nobody's who is alive, not put off, and its branch is nobody's who is alive
/// either, since jobs on one head run one at a time. `$1` is now.
macro_rules! in_line {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " status = 'active'
               AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = jobs.worker AND alive_until > $1)
               AND (not_before IS NULL OR not_before <= $1)
               AND NOT EXISTS (
                 SELECT 1 FROM jobs other JOIN workers ON workers.id = other.worker AND alive_until > $1
                 WHERE other.project = jobs.project AND other.branch = jobs.branch AND other.status = 'active') ",
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
    let beat = "INSERT INTO workers VALUES ($1, docwright_now_ms() + $2)
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until";
    sqlx::query(beat).bind(&worker.0).bind(LEASE.as_millis() as i64).execute(db).await?;
    Ok(())
}

impl PostgresStore {
    /// Takes the first in line. A transaction each time: no two of its locks are ever waited for
    /// at once.
    pub(super) async fn look(&self, worker: &WorkerId) -> Result<Look> {
        let mut tx = self.begin().await?;
        let Some(first) = first_in_line(&mut tx).await? else { return Ok(Look::Nothing) };
        let look = match still_in_line(&mut tx, &first).await? {
            Some((row, now)) => take(&mut tx, &row, worker, now).await?,
            None => Look::Again,
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

/// Locked, unless it is locked already: then whoever locked it is dealing with it.
async fn first_in_line(db: &mut PgConnection) -> Result<Option<Job>> {
    let now = now(db).await?;
    let first = sqlx::query(in_line!(
        "SELECT * FROM jobs WHERE",
        "ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"
    ));
    first.bind(now).fetch_optional(db).await?.as_ref().map(job).transpose()
}

/// The first look saw the others as they were when it began; this one sees all that was written
/// before the locks were there. Whoever wants the same branch waits for its turn.
async fn still_in_line(db: &mut PgConnection, first: &Job) -> Result<Option<(PgRow, i64)>> {
    one_at_a_time(db, &["branch", &first.project.0, &first.branch]).await?;
    let now = now(db).await?;
    let still = sqlx::query(in_line!("SELECT * FROM jobs WHERE id = $2 AND", ""));
    let row = still.bind(now).bind(&first.id.0).fetch_optional(db).await?;
    Ok(row.map(|row| (row, now)))
}

async fn take(db: &mut PgConnection, row: &PgRow, worker: &WorkerId, now: i64) -> Result<Look> {
    let mut job = job(row)?;
    if row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some() {
        set_archived(db, &job.id, now).await?;
        return Ok(Look::Again);
    }
    if job.attempt >= MAX_ATTEMPTS {
        leases::end(db, &job.id, now, Ending::gave_up()).await?;
        return Ok(Look::Again);
    }
    job.attempt += 1;
    let fence = row.try_get::<i64, _>("lease")? + 1;
    sqlx::query("UPDATE jobs SET attempt = $1, lease = $2, worker = $3, not_before = NULL WHERE id = $4")
        .bind(i64::from(job.attempt))
        .bind(fence)
        .bind(&worker.0)
        .bind(&job.id.0)
        .execute(&mut *db)
        .await?;
    // Whoever leases is alive. Without this a worker whose heartbeat is late would lease the
    // same job again and again, and use up its attempts.
    beat(db, worker).await?;
    let started = NewEvent::new("started", format!("Attempt {} began", job.attempt));
    append(db, &job.id, now, &started.with("attempt", job.attempt)).await?;
    let resume = resume(db, row, job.run).await?;
    Ok(Look::Leased(Box::new(Lease { job, worker: worker.clone(), fence, resume })))
}

pub(super) async fn resume(db: &mut PgConnection, row: &PgRow, run: u32) -> Result<Resume> {
    let name: Option<String> = row.try_get("base_ref")?;
    let commit: Option<String> = row.try_get("base_commit")?;
    let change = sqlx::query("SELECT * FROM job_changes WHERE job = $1 AND run = $2");
    let change = change.bind(row.try_get::<&str, _>("id")?).bind(i64::from(run)).fetch_optional(db).await?;
    Ok(Resume {
        origin: row.try_get("origin")?,
        base: name.zip(commit),
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
