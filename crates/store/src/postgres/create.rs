//! New jobs. The row that counts a project's is locked until its transaction ends, so those of a project that are
//! asked for at once share one.

use std::sync::Arc;

use base::{ClockGuard, Coalescer};
use futures_util::FutureExt;
use sqlx::{PgConnection, PgPool};

use super::once::{self, Request};
use super::rates::Counts;
use super::{now, text, undone, write};
use crate::kept::{from_ms, to_json};
use crate::shared::Told;
use crate::terms::KEPT;
use crate::{Job, NewEvent, NewJob, ProjectId, Receipt, Result, Terms};

type Asked = (NewJob, Terms);
pub(super) type Creates = Coalescer<ProjectId, Asked, Told<Receipt>>;

pub(super) fn creates(pool: PgPool, guard: Arc<ClockGuard>) -> Creates {
    Coalescer::new(move |_, asked| {
        let (pool, guard) = (pool.clone(), guard.clone());
        async move {
            match write(|| insert(&pool, &guard, &asked)).await {
                Ok(receipts) => receipts.into_iter().map(Ok).collect(),
                // Their project is gone, or the database is: it is the same for all of them.
                Err(error) => vec![Err(Arc::new(error)); asked.len()],
            }
        }
        .boxed()
    })
}

/// Each on its own terms: what is refused is refused alone.
async fn insert(pool: &PgPool, guard: &ClockGuard, asked: &[Asked]) -> Result<Vec<Receipt>> {
    let mut tx = pool.begin().await?;
    once::lock(&mut tx, "create", asked.iter().map(|(new, terms)| (&new.project, terms))).await?;
    let now = now(&mut tx).await?;
    let forget = guard.database_cutoff(now, KEPT);
    let (mut counts, mut receipts, mut jobs) = (Counts::default(), Vec::new(), Vec::new());
    for (new, terms) in asked {
        let mut job = new.job(from_ms(now)?, terms.actor.as_ref());
        job.prompt = text(&job.prompt).into_owned();
        let request = Request { project: &job.project, operation: "create", terms, now, forget };
        receipts.push(match once::admit(&mut tx, &request, &mut counts).await? {
            Ok(usage) => {
                once::keep(&mut tx, &request, &job).await?;
                jobs.push(job.clone());
                Receipt::Done { job: Box::new(job), usage }
            }
            Err(receipt) => receipt,
        });
    }
    if jobs.is_empty() {
        return undone(tx, Ok(receipts)).await;
    }
    add(&mut tx, &jobs, now).await?;
    counts.keep(&mut tx).await?;
    tx.commit().await?;
    Ok(receipts)
}

/// With their first event, so that it need not be numbered.
async fn add(db: &mut PgConnection, jobs: &[Job], now: i64) -> Result<()> {
    fn column<'a, T>(jobs: &'a [Job], of: impl Fn(&'a Job) -> T) -> Vec<T> {
        jobs.iter().map(of).collect()
    }
    let created = NewEvent::created();
    sqlx::query(
        "WITH made AS (
           INSERT INTO jobs (id, project, status, prompt, branch, model, base_ref, adopts, draft,
                             context, created_by, created_at, queued_at, events)
           SELECT *, $12, $12, 1
           FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                       $8::bool[], $9::bool[], $10::text[], $11::text[])
           RETURNING id)
         INSERT INTO job_events SELECT id, 1, $12, $13, $14 FROM made",
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
    note_started(db, jobs, now).await
}

/// The audit log of their organization says who asked for them. All are of one project.
async fn note_started(db: &mut PgConnection, jobs: &[Job], now: i64) -> Result<()> {
    let asked = jobs.iter().filter_map(|job| Some((job.id.0.as_str(), job.created_by.as_ref()?.to_string())));
    let (ids, actors): (Vec<_>, Vec<_>) = asked.unzip();
    let Some(project) = jobs.first().map(|job| &job.project.0).filter(|_| !ids.is_empty()) else {
        return Ok(());
    };
    let note = "INSERT INTO deeds (organization, at, who, what, about)
        SELECT organization, $1, asked.who, 'started the job', name || ' ' || asked.job
        FROM unnest($2::text[], $3::text[]) AS asked (job, who) JOIN projects ON projects.id = $4";
    sqlx::query(note).bind(now).bind(ids).bind(actors).bind(project).execute(db).await?;
    Ok(())
}
