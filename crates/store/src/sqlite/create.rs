//! New jobs. Those of a project that are asked for at once are kept together: a statement is a message to SQLite's
//! thread and back, so a few for all of them.

use std::sync::Arc;

use base::sqlite::Database;
use base::{ClockGuard, Coalescer, Cutoff};
use futures_util::FutureExt;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::once::{self, Request};
use super::rates::Counts;
use crate::kept::to_json;
use crate::shared::Told;
use crate::terms::KEPT;
use crate::{Job, NewEvent, ProjectId, Receipt, Result, Terms};

/// Rows of one statement: there is one for each number of them that is kept prepared.
const ROWS: usize = 32;

pub(super) type Creates = Coalescer<ProjectId, (Job, Terms), Told<Receipt>>;

pub(super) fn creates(db: Database, guard: Arc<ClockGuard>) -> Creates {
    Coalescer::new(move |_, asked| {
        let (db, count, forget) = (db.clone(), asked.len(), guard.cutoff(KEPT));
        async move {
            match db.write(move |db| async move { insert(db, &asked, forget).await }.boxed()).await {
                Ok(receipts) => receipts.into_iter().map(Ok).collect(),
                // Their project is gone, or the disk is full: it is the same for all of them.
                Err(error) => vec![Err(Arc::new(error)); count],
            }
        }
        .boxed()
    })
}

/// Each on its own terms: what is refused is refused alone.
async fn insert(db: &mut SqliteConnection, asked: &[(Job, Terms)], forget: Cutoff) -> Result<Vec<Receipt>> {
    let (mut counts, mut receipts, mut new) = (Counts::default(), Vec::new(), Vec::new());
    for (job, terms) in asked {
        let now = job.created_at.as_millisecond();
        let request = Request { project: &job.project, operation: "create", terms, now, forget };
        receipts.push(match once::admit(db, &request, &mut counts).await? {
            Ok(usage) => {
                once::keep(db, &request, job).await?;
                new.push(job);
                Receipt::Done { job: Box::new(job.clone()), usage }
            }
            Err(receipt) => receipt,
        });
    }
    for some in new.chunks(ROWS) {
        add(db, some).await?;
    }
    counts.keep(db).await?;
    Ok(receipts)
}

/// With their first event, so that it need not be numbered.
async fn add(db: &mut SqliteConnection, jobs: &[&Job]) -> Result<()> {
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
    let mut rows = QueryBuilder::<Sqlite>::new("INSERT INTO job_events ");
    rows.push_values(jobs, |mut row, job| {
        row.push_bind(&job.id.0).push_bind(1).push_bind(job.created_at.as_millisecond());
        row.push_bind(created.kind).push_bind(to_json(&created.data));
    });
    rows.build().execute(&mut *db).await?;
    note_started(db, jobs).await
}

/// The audit log of their organization says who asked for them. All are of one project.
async fn note_started(db: &mut SqliteConnection, jobs: &[&Job]) -> Result<()> {
    let asked: Vec<_> = jobs.iter().filter_map(|job| Some((job, job.created_by.as_ref()?))).collect();
    let Some((first, _)) = asked.first() else { return Ok(()) };
    let mut rows = QueryBuilder::<Sqlite>::new(
        "INSERT INTO deeds (organization, at, who, what, about)
         SELECT organization, column1, column2, 'started the job', name || ' ' || column3 FROM (",
    );
    rows.push_values(&asked, |mut row, (job, actor)| {
        row.push_bind(job.created_at.as_millisecond()).push_bind(actor.to_string()).push_bind(&job.id.0);
    });
    rows.push(") JOIN projects ON projects.id = ").push_bind(&first.project.0);
    rows.build().execute(db).await?;
    Ok(())
}
