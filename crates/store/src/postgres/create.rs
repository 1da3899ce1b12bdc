//! Inserts new jobs, all rows with one statement.

use sqlx::PgConnection;

use crate::encoding::to_json;
use crate::{Job, NewEvent, Result};

/// Also inserts each job's first event, always number 1. The column `adopts` says that the request named the branch.
pub(crate) async fn insert_jobs(db: &mut PgConnection, jobs: &[Job], now: i64) -> Result<()> {
    fn column<'a, T>(jobs: &'a [Job], of: impl Fn(&'a Job) -> T) -> Vec<T> {
        jobs.iter().map(of).collect()
    }
    let created = NewEvent::created();
    sqlx::query(
        "WITH inserted AS (
           INSERT INTO jobs (id, project, status, prompt, branch, model, base_ref, adopts, draft,
                             context, created_by, created_at, queued_at, events)
           SELECT id, project, status, prompt, branch, model, base_ref, adopts, draft, context, created_by, $12, $12, 1
           FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                       $8::bool[], $9::bool[], $10::text[], $11::text[])
             AS new (id, project, status, prompt, branch, model, base_ref, adopts, draft, context, created_by)
           RETURNING id)
         INSERT INTO job_events (job, number, at, kind, data) SELECT id, 1, $12, $13, $14 FROM inserted",
    )
    .bind(column(jobs, |job| job.id.0.as_str()))
    .bind(column(jobs, |job| job.project.0.as_str()))
    .bind(column(jobs, |job| job.status.as_str()))
    .bind(column(jobs, |job| job.prompt.as_str()))
    .bind(column(jobs, |job| job.branch.as_str()))
    .bind(column(jobs, |job| job.model.as_str()))
    .bind(column(jobs, |job| job.base_ref.as_deref()))
    .bind(column(jobs, |job| job.adopts))
    .bind(column(jobs, |job| job.draft))
    .bind(column(jobs, |job| to_json(&job.context)))
    .bind(column(jobs, |job| job.created_by.as_ref().map(to_json)))
    .bind(now)
    .bind(created.kind)
    .bind(to_json(&created.data))
    .execute(&mut *db)
    .await?;
    record_audit(db, jobs, now).await
}

/// Records in the audit log (the table `deeds`) who started the jobs. All of them belong to one project.
async fn record_audit(db: &mut PgConnection, jobs: &[Job], now: i64) -> Result<()> {
    let started =
        jobs.iter().filter_map(|job| Some((job.id.0.as_str(), job.created_by.as_ref()?.to_string())));
    let (ids, actors): (Vec<_>, Vec<_>) = started.unzip();
    let Some(project) = jobs.first().map(|job| &job.project.0).filter(|_| !ids.is_empty()) else {
        return Ok(());
    };
    let insert = "INSERT INTO deeds (organization, at, who, what, about)
        SELECT organization, $1, started.who, 'started the job', name || ' ' || started.job
        FROM unnest($2::text[], $3::text[]) AS started (job, who) JOIN projects ON projects.id = $4";
    sqlx::query(insert).bind(now).bind(ids).bind(actors).bind(project).execute(db).await?;
    Ok(())
}
