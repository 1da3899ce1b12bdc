//! Inserts new jobs, several rows with one statement: each statement is a message to SQLite's thread and back.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::encoding::to_json;
use crate::{Job, NewEvent, Result};

/// Rows of one statement. SQLite prepares one statement for each number of rows.
const MAX_ROWS: usize = 32;

pub(crate) async fn insert_jobs(db: &mut SqliteConnection, jobs: &[Job]) -> Result<()> {
    for jobs in jobs.chunks(MAX_ROWS) {
        insert(db, jobs).await?;
        record_audit(db, jobs).await?;
    }
    Ok(())
}

/// Also inserts each job's first event, always number 1. The column `adopts` says that the request named the branch.
async fn insert(db: &mut SqliteConnection, jobs: &[Job]) -> Result<()> {
    let mut rows = QueryBuilder::<Sqlite>::new(
        "INSERT INTO jobs (id, project, status, prompt, branch, model, base_ref, adopts, draft, created_at,
           queued_at, events, context, created_by) ",
    );
    rows.push_values(jobs, |mut row, job| {
        let now = job.created_at.as_millisecond();
        row.push_bind(&job.id.0).push_bind(&job.project.0).push_bind(job.status.as_str());
        row.push_bind(&job.prompt).push_bind(&job.branch).push_bind(&job.model).push_bind(&job.base_ref);
        row.push_bind(job.adopts).push_bind(job.draft).push_bind(now).push_bind(now).push_bind(1);
        row.push_bind(to_json(&job.context)).push_bind(job.created_by.as_ref().map(to_json));
    });
    rows.build().execute(&mut *db).await?;
    let created = NewEvent::created();
    let mut rows = QueryBuilder::<Sqlite>::new("INSERT INTO job_events (job, number, at, kind, data) ");
    rows.push_values(jobs, |mut row, job| {
        row.push_bind(&job.id.0).push_bind(1).push_bind(job.created_at.as_millisecond());
        row.push_bind(created.kind).push_bind(to_json(&created.data));
    });
    rows.build().execute(db).await?;
    Ok(())
}

/// Records in the audit log (the table `deeds`) who started the jobs. All of them belong to one project.
async fn record_audit(db: &mut SqliteConnection, jobs: &[Job]) -> Result<()> {
    let started: Vec<_> = jobs.iter().filter_map(|job| Some((job, job.created_by.as_ref()?))).collect();
    let Some((first, _)) = started.first() else { return Ok(()) };
    let mut rows = QueryBuilder::<Sqlite>::new(
        "INSERT INTO deeds (organization, at, who, what, about)
         SELECT organization, column1, column2, 'started the job', name || ' ' || column3 FROM (",
    );
    rows.push_values(&started, |mut row, (job, actor)| {
        row.push_bind(job.created_at.as_millisecond()).push_bind(actor.to_string()).push_bind(&job.id.0);
    });
    rows.push(") JOIN projects ON projects.id = ").push_bind(&first.project.0);
    rows.build().execute(db).await?;
    Ok(())
}
