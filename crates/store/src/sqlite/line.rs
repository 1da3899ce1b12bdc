//! The line that jobs wait in, and what whoever takes one out of it gets.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::jobs::{append, job, set_archived};
use super::leases;
use crate::kept::from_json;
use crate::{Change, Ending, JobId, LEASE, Lease, MAX_ATTEMPTS, NewEvent, Result, Resume, WorkerId};

/// Whether somebody alive has the job.
pub(super) async fn live(db: &mut SqliteConnection, id: &JobId, now: i64) -> Result<bool> {
    let live = sqlx::query(
        "SELECT 1 FROM jobs JOIN workers ON workers.id = jobs.worker WHERE jobs.id = ? AND alive_until > ?",
    );
    Ok(live.bind(&id.0).bind(now).fetch_optional(db).await?.is_some())
}

/// The oldest active job that nobody alive has, and whose branch is nobody's who is alive:
/// jobs on one head run one at a time.
pub(super) async fn next_in_line(db: &mut SqliteConnection, now: i64) -> Result<Option<SqliteRow>> {
    let next = sqlx::query(
        "SELECT * FROM jobs WHERE status = 'active'
           AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = jobs.worker AND alive_until > ?1)
           AND (not_before IS NULL OR not_before <= ?1)
           AND NOT EXISTS (
             SELECT 1 FROM jobs other JOIN workers ON workers.id = other.worker AND alive_until > ?1
             WHERE other.project = jobs.project AND other.branch = jobs.branch AND other.status = 'active')
         ORDER BY created_at, id LIMIT 1",
    );
    Ok(next.bind(now).fetch_optional(db).await?)
}

pub(super) async fn beat(db: &mut SqliteConnection, worker: &WorkerId, now: i64) -> Result<()> {
    sqlx::query("INSERT OR REPLACE INTO workers VALUES (?, ?)")
        .bind(&worker.0)
        .bind(now + LEASE.as_millis() as i64)
        .execute(db)
        .await?;
    Ok(())
}

pub(super) async fn lease(db: &mut SqliteConnection, worker: WorkerId, now: i64) -> Result<Option<Lease>> {
    while let Some(row) = next_in_line(db, now).await? {
        let mut job = job(&row)?;
        if row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some() {
            set_archived(db, &job.id, now).await?;
            continue;
        }
        if job.attempt >= MAX_ATTEMPTS {
            leases::end(db, &job.id, now, Ending::gave_up()).await?;
            continue;
        }
        job.attempt += 1;
        let fence = row.try_get::<i64, _>("lease")? + 1;
        sqlx::query("UPDATE jobs SET attempt = ?, lease = ?, worker = ?, not_before = NULL WHERE id = ?")
            .bind(job.attempt)
            .bind(fence)
            .bind(&worker.0)
            .bind(&job.id.0)
            .execute(&mut *db)
            .await?;
        // Whoever leases is alive. Without this a worker whose heartbeat is late would lease the
        // same job again and again, and use up its attempts.
        beat(db, &worker, now).await?;
        let started = NewEvent::new("started", format!("Attempt {} began", job.attempt));
        append(db, &job.id.0, now, started.with("attempt", job.attempt)).await?;
        let resume = resume(db, &row, job.run).await?;
        return Ok(Some(Lease { job, worker, fence, resume }));
    }
    Ok(None)
}

pub(super) async fn resume(db: &mut SqliteConnection, row: &SqliteRow, run: u32) -> Result<Resume> {
    let name: Option<String> = row.try_get("base_ref")?;
    let commit: Option<String> = row.try_get("base_commit")?;
    let id: String = row.try_get("id")?;
    let change = sqlx::query("SELECT * FROM job_changes WHERE job = ? AND run = ?").bind(id).bind(run);
    let change = change.fetch_optional(db).await?;
    let change = change.as_ref().map(change_from).transpose()?;
    Ok(Resume {
        origin: row.try_get("origin")?,
        base: name.zip(commit),
        change,
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
