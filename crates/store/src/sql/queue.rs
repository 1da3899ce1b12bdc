//! Leases a queued job. Which job comes next is found by each database in its own way.

use super::jobs::{append, set_archived};
use super::{Connection, FromRow, Query, Row, leases, sql, suspects};
use crate::suspects::{SUSPECT_DEATHS, started};
use crate::{
    Activity, Change, Ending, Job, JobId, LEASE, Lease, MAX_DEATHS, MAX_LOOKUP_DEATHS, Result, Resume,
    WorkerId,
};

macro_rules! queued_columns {
    () => {
        concat!(
            $crate::sql::job_columns!(),
            ", archive_asked_at, deaths, lease, origin, base_commit, put_off"
        )
    };
}
pub(crate) use queued_columns;

/// A job with the columns that a lease needs.
pub(crate) struct QueuedJob {
    pub(crate) job: Job,
    pub(crate) is_to_archive: bool,
    pub(crate) deaths: u32,
    fence: i64,
    origin: Option<String>,
    base_commit: Option<String>,
    put_off: u32,
}

impl FromRow for QueuedJob {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            job: Job::from_row(row)?,
            is_to_archive: row.get::<Option<i64>>("archive_asked_at")?.is_some(),
            deaths: row.number("deaths")?,
            fence: row.get("lease")?,
            origin: row.get("origin")?,
            base_commit: row.get("base_commit")?,
            put_off: row.number("put_off")?,
        })
    }
}

pub(super) async fn has_live_worker(db: &mut Connection<'_>, id: &JobId, now: i64) -> Result<bool> {
    let live = sql("SELECT jobs.id FROM jobs JOIN workers ON workers.id = jobs.worker
         WHERE jobs.id = $1 AND alive_until > $2");
    db.exists(live.bind(&id.0).bind(now)).await
}

pub(super) fn heartbeat_query(worker: &WorkerId) -> Query {
    sql("INSERT INTO workers (id, alive_until, alive_since)
         VALUES ($1, docwright_now_ms() + $2, docwright_now_ms())
         ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until")
    .bind(&worker.0)
    .bind(LEASE.as_millis() as i64)
}

/// Archives or fails a job that no worker may run again. Answers whether it did.
pub(crate) async fn end_if_over(db: &mut Connection<'_>, queued: &QueuedJob, now: i64) -> Result<bool> {
    let QueuedJob { job, deaths, .. } = queued;
    if queued.is_to_archive {
        set_archived(db, &job.id, now).await?;
        return Ok(true);
    }
    if *deaths < MAX_DEATHS {
        return Ok(false);
    }
    let pushed = suspects::has_pushed(db, job).await?;
    if !job.has_own_pull() && pushed.is_some() && *deaths < MAX_DEATHS + MAX_LOOKUP_DEATHS {
        return Ok(false);
    }
    leases::end(db, &job.id, now, Ending::gave_up(job, pushed)).await?;
    Ok(true)
}

/// Leases the job to the worker, and gives the next turn to other projects.
pub(crate) async fn lease_job(
    db: &mut Connection<'_>,
    mut queued: QueuedJob,
    worker: &WorkerId,
    now: i64,
) -> Result<Lease> {
    let resume = load_resume(db, &queued).await?;
    let (fence, deaths) = (queued.fence + 1, queued.deaths);
    let job = &mut queued.job;
    job.attempt += 1;
    let lease = sql(
        "UPDATE jobs SET attempt = $1, lease = $2, worker = $3, leased_at = $4, activity = $5 WHERE id = $6",
    );
    let activity = if deaths == SUSPECT_DEATHS { Activity::Waiting } else { Activity::Working };
    let lease = lease.bind(job.attempt).bind(fence).bind(&worker.0).bind(now).bind(activity.as_str());
    let lease = lease.bind(&job.id.0);
    db.execute(lease).await?;
    // A worker that leases is alive. Without this, one whose heartbeat is late would lease the same job forever.
    db.execute(heartbeat_query(worker)).await?;
    if deaths == SUSPECT_DEATHS {
        suspects::set_alone(db, &job.id, now).await?;
    }
    append(db, &job.id, now, &started(job.attempt, deaths)).await?;
    // Last: on PostgreSQL it locks a row that other leases of the project wait for.
    let turn =
        sql("INSERT INTO turns (project, turn) SELECT $1, 1 + coalesce(max(turn), 0) FROM turns WHERE true
         ON CONFLICT (project) DO UPDATE SET turn = excluded.turn");
    db.execute(turn.bind(&job.project.0)).await?;
    Ok(Lease { job: queued.job, worker: worker.clone(), fence, resume, deaths })
}

pub(super) async fn load_resume(db: &mut Connection<'_>, queued: &QueuedJob) -> Result<Resume> {
    let find = sql("SELECT head_commit, title, body, report, diff, pushed FROM job_changes
         WHERE job = $1 AND run = $2");
    let row = db.row(find.bind(&queued.job.id.0).bind(queued.job.run)).await?;
    Ok(Resume {
        origin: queued.origin.clone(),
        base: queued.job.base_ref.clone().zip(queued.base_commit.clone()),
        pushed: row.as_ref().map(|row| row.get("pushed")).transpose()?.unwrap_or(false),
        change: row.as_ref().map(Change::from_row).transpose()?,
        put_off: queued.put_off,
    })
}

impl FromRow for Change {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            head_commit: row.get("head_commit")?,
            title: row.get("title")?,
            body: row.get("body")?,
            report: row.json("report")?,
            diff: row.get("diff")?,
        })
    }
}
