use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::line::live;
use super::once::{self, Request};
use super::people::note_job;
use super::rates::Counts;
use super::reads::Reads;
use super::{PostgresStore, now, number, text, time, time_or_none, undone, write};
use crate::kept::{damaged, from_json, kept, to_json};
use crate::progress::Asked;
use crate::shared::told;
use crate::terms::KEPT;
use crate::{
    Archived, Event, Filter, Job, JobCounts, JobId, JobStore, NewEvent, NewJob, Page, Progress, ProjectId,
    Prompt, PullState, Receipt, Result, Said, Status, Terms,
};

#[async_trait]
impl JobStore for PostgresStore {
    async fn insert(&self, new: &NewJob, terms: &Terms) -> Result<Receipt> {
        let asked = (new.clone(), terms.clone());
        let receipt = told(self.creates.submit(new.project.clone(), asked).await)?;
        self.bells.work();
        Ok(receipt)
    }

    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        told(self.finds.submit((), (project.clone(), id.clone())).await)
    }

    async fn progress(&self, project: &ProjectId, id: &JobId) -> Result<Option<Progress>> {
        told(self.progress.submit((), (project.clone(), id.clone())).await)
    }

    async fn list(&self, project: &ProjectId, filter: &Filter) -> Result<Page<Job>> {
        let list = sqlx::query(
            "SELECT * FROM jobs WHERE project = $1 AND ($2::text IS NULL OR status = $2)
               AND ($3::text IS NULL OR coalesce(pr_state, 'none') = $3)
               AND ($4 = '' OR position(lower($4) IN lower(prompt)) > 0)
             ORDER BY created_at DESC, id DESC LIMIT $5 OFFSET $6",
        )
        .bind(text(&project.0))
        .bind(filter.status.map(Status::as_str))
        .bind(filter.pull())
        .bind(text(&filter.words))
        .bind(i64::from(filter.limit) + 1)
        .bind(kept(filter.offset));
        let rows = self.rows(list).await?;
        let has_more = rows.len() > filter.limit as usize;
        let items = rows.iter().take(filter.limit as usize).map(job).collect::<Result<_>>()?;
        Ok(Page { items, has_more })
    }

    async fn events(&self, project: &ProjectId, id: &JobId, after: u64) -> Result<Option<Vec<Event>>> {
        if self.find(project, id).await?.is_none() {
            return Ok(None);
        }
        let events = sqlx::query("SELECT * FROM job_events WHERE job = $1 AND number > $2 ORDER BY number");
        let rows = self.rows(events.bind(&id.0).bind(kept(after))).await?;
        rows.iter().map(event).collect::<Result<_>>().map(Some)
    }

    async fn conversation(&self, project: &ProjectId, id: &JobId) -> Result<Option<Vec<Said>>> {
        match self.find(project, id).await? {
            Some(job) => self.said(&job.id).await.map(Some),
            None => Ok(None),
        }
    }

    async fn said_after(&self, project: &ProjectId, id: &JobId, number: u32) -> Result<Option<Said>> {
        match self.find(project, id).await? {
            Some(job) => self.next_said(&job.id, number).await,
            None => Ok(None),
        }
    }

    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>> {
        let diff = sqlx::query(
            "SELECT coalesce(failed.diff, made.diff, '') AS diff FROM jobs
             LEFT JOIN failed_diffs failed ON failed.job = id LEFT JOIN job_changes made ON made.job = id
             WHERE id = $1 AND project = $2",
        );
        let row = self.row(diff.bind(text(&id.0)).bind(text(&project.0))).await?;
        Ok(row.map(|row| row.try_get("diff")).transpose()?)
    }

    async fn message(
        &self,
        project: &ProjectId,
        id: &JobId,
        prompt: &Prompt,
        terms: &Terms,
    ) -> Result<Option<Receipt>> {
        let receipt = write(|| self.follow_up(project, id, prompt, terms)).await?;
        self.bells.work();
        self.bells.news();
        Ok(receipt)
    }

    async fn archive(&self, project: &ProjectId, id: &JobId) -> Result<Option<Archived>> {
        let archived = write(|| self.archive_one(project, id)).await?;
        self.bells.work();
        self.bells.news();
        Ok(archived)
    }

    async fn counts(&self) -> Result<JobCounts> {
        // Grouped first: that is what an index has. A sum is a decimal here until it is told otherwise.
        let counts = sqlx::query(
            "SELECT coalesce(sum(n) FILTER (WHERE status = 'active'), 0)::bigint active,
                    coalesce(sum(n) FILTER (WHERE status = 'completed'), 0)::bigint completed,
                    coalesce(sum(n) FILTER (WHERE status = 'failed'), 0)::bigint failed,
                    coalesce(sum(n) FILTER (WHERE status = 'archived'), 0)::bigint archived,
                    (SELECT count(*) FROM jobs JOIN workers ON workers.id = jobs.worker
                     WHERE status = 'active' AND jobs.worker IS NOT NULL AND alive_until > (SELECT docwright_now_ms())) running
             FROM (SELECT status, count(*) n FROM jobs GROUP BY project, status) grouped",
        );
        let Some(row) = self.row(counts).await? else { return Ok(JobCounts::default()) };
        Ok(JobCounts {
            active: number(&row, "active")?,
            completed: number(&row, "completed")?,
            failed: number(&row, "failed")?,
            archived: number(&row, "archived")?,
            running: number(&row, "running")?,
        })
    }

    async fn event_came(&self) {
        self.bells.news_came().await;
    }
}

pub(super) async fn progress_of(reads: Reads, ids: Vec<String>) -> Result<HashMap<Asked, Progress>> {
    let ids: Vec<_> = ids.iter().map(|id| text(id)).collect();
    let select = "SELECT id, project, status, events FROM jobs WHERE id = ANY($1)";
    let rows = reads.rows(sqlx::query(select).bind(ids)).await?;
    let progress = |row: &PgRow| {
        let status = Status::parse(row.try_get("status")?).ok_or_else(|| damaged("a job's status"))?;
        let job = (ProjectId(row.try_get("project")?), JobId(row.try_get("id")?));
        Ok((job, Progress { status, last_event: number(row, "events")? }))
    };
    rows.iter().map(progress).collect()
}

impl PostgresStore {
    async fn follow_up(
        &self,
        project: &ProjectId,
        id: &JobId,
        prompt: &Prompt,
        terms: &Terms,
    ) -> Result<Option<Receipt>> {
        let mut tx = self.begin().await?;
        let Some(found) = locked(&mut tx, project, id).await? else { return Ok(None) };
        let (operation, mut counts) = (format!("message {id}"), Counts::default());
        once::lock(&mut tx, &operation, [(project, terms)]).await?;
        let now = now(&mut tx).await?;
        let forget = self.guard.database_cutoff(now, KEPT);
        let request = Request { project, operation: &operation, terms, now, forget };
        if let Some(refused) = refusal(&mut tx, &found).await? {
            // A replay of one that was taken before is still answered.
            let free = Terms { limit: None, ..terms.clone() };
            let seen = once::admit(&mut tx, &Request { terms: &free, ..request }, &mut counts).await?;
            return undone(tx, Ok(Some(seen.err().unwrap_or(Receipt::Refused(refused))))).await;
        }
        let usage = match once::admit(&mut tx, &request, &mut counts).await? {
            Ok(usage) => usage,
            Err(receipt) => return undone(tx, Ok(Some(receipt))).await,
        };
        keep_message(&mut tx, &found, prompt, now).await?;
        note_job(&mut tx, (project, id), terms.actor.as_ref(), "followed up on the job", now).await?;
        let Some(job) = locked(&mut tx, project, id).await? else { return Ok(None) };
        once::keep(&mut tx, &request, &job).await?;
        counts.keep(&mut tx).await?;
        tx.commit().await?;
        Ok(Some(Receipt::Done { job: Box::new(job), usage }))
    }

    async fn archive_one(&self, project: &ProjectId, id: &JobId) -> Result<Option<Archived>> {
        let mut tx = self.begin().await?;
        let Some(found) = locked(&mut tx, project, id).await? else { return Ok(None) };
        if found.status == Status::Archived {
            return undone(tx, Ok(Some(Archived::Done(Box::new(found))))).await;
        }
        let now = now(&mut tx).await?;
        let waits = live(&mut tx, id, now).await?;
        if waits {
            let ask = "UPDATE jobs SET archive_asked_at = coalesce(archive_asked_at, $1) WHERE id = $2";
            sqlx::query(ask).bind(now).bind(&id.0).execute(&mut *tx).await?;
        } else {
            set_archived(&mut tx, id, now).await?;
        }
        let job = locked(&mut tx, project, id).await?;
        tx.commit().await?;
        if waits { Ok(Some(Archived::Waiting)) } else { Ok(job.map(|job| Archived::Done(Box::new(job)))) }
    }
}

/// The job, which nobody else changes before the end of the transaction.
async fn locked(db: &mut PgConnection, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
    let row = sqlx::query("SELECT * FROM jobs WHERE id = $1 AND project = $2 FOR UPDATE")
        .bind(text(&id.0))
        .bind(text(&project.0))
        .fetch_optional(db)
        .await?;
    row.as_ref().map(job).transpose()
}

async fn keep_message(db: &mut PgConnection, job: &Job, prompt: &Prompt, now: i64) -> Result<()> {
    let words = text(prompt.as_str());
    sqlx::query(
        "INSERT INTO messages (job, number, prompt, created_at, context)
         SELECT $1, 1 + coalesce(max(number), 0), $2, $3, $4 FROM messages WHERE job = $1",
    )
    .bind(&job.id.0)
    .bind(&*words)
    .bind(now)
    .bind(to_json(&prompt.context()))
    .execute(&mut *db)
    .await?;
    if job.status.may_become(Status::Active) {
        let wake = "UPDATE jobs
            SET status = 'active', run = run + 1, attempt = 0, ended_at = NULL, base_commit = NULL,
                queued_at = $1, told = false, trimmed = false, put_off = 0, not_before = NULL,
                deaths = 0, died_step = 0
            WHERE id = $2";
        sqlx::query(wake).bind(now).bind(&job.id.0).execute(&mut *db).await?;
    }
    let event = NewEvent::follow_up(&words, prompt.context());
    append(db, &job.id, now, &event).await
}

/// Why a job takes no follow-up any more.
async fn refusal(db: &mut PgConnection, job: &Job) -> Result<Option<String>> {
    if job.status == Status::Archived {
        return Ok(Some("the job is archived; create a new job".into()));
    }
    let settled = "SELECT pr_state FROM jobs WHERE id = $1 AND pr_state <> 'open'";
    let settled: Option<String> = sqlx::query_scalar(settled).bind(&job.id.0).fetch_optional(db).await?;
    Ok(settled.map(|state| format!("the job's pull request is {state}; create a new job")))
}

pub(super) async fn set_archived(db: &mut PgConnection, id: &JobId, now: i64) -> Result<()> {
    // A change that was noted may be on its way to the host, and a pull request with it.
    let archive = "UPDATE jobs SET status = 'archived', archived_at = $1, worker = NULL, put_off = 0, not_before = NULL,
          sweep_at = CASE WHEN pr_link IS NULL AND EXISTS (SELECT 1 FROM job_changes WHERE job = $2) THEN $1 END
        WHERE id = $2";
    sqlx::query(archive).bind(now).bind(&id.0).execute(&mut *db).await?;
    append(db, id, now, &NewEvent::new("archived", "The job was archived")).await
}

/// The one place that numbers events, so that there are no gaps: the count is the job's, and its
/// row is locked with it.
pub(super) async fn append(db: &mut PgConnection, id: &JobId, now: i64, event: &NewEvent) -> Result<()> {
    sqlx::query(
        "WITH counted AS (UPDATE jobs SET events = events + 1 WHERE id = $1 RETURNING events)
         INSERT INTO job_events SELECT $1, events, $2, $3, $4 FROM counted",
    )
    .bind(&id.0)
    .bind(now)
    .bind(event.kind)
    .bind(to_json(&event.data))
    .execute(db)
    .await?;
    Ok(())
}

pub(super) fn job(row: &PgRow) -> Result<Job> {
    Ok(Job {
        id: JobId(row.try_get("id")?),
        project: ProjectId(row.try_get("project")?),
        status: Status::parse(row.try_get("status")?).ok_or_else(|| damaged("a job's status"))?,
        prompt: row.try_get("prompt")?,
        context: from_json(row.try_get("context")?)?,
        branch: row.try_get("branch")?,
        model: row.try_get("model")?,
        base_ref: row.try_get("base_ref")?,
        adopts: row.try_get("adopts")?,
        draft: row.try_get("draft")?,
        run: number(row, "run")?,
        pr_link: row.try_get("pr_link")?,
        pr_state: row.try_get::<Option<&str>, _>("pr_state")?.and_then(PullState::from_db),
        added: number(row, "added")?,
        removed: number(row, "removed")?,
        tokens: number(row, "tokens")?,
        created_at: time(row, "created_at")?,
        created_by: row.try_get::<Option<&str>, _>("created_by")?.map(from_json).transpose()?,
        ended_at: time_or_none(row, "ended_at")?,
        archived_at: time_or_none(row, "archived_at")?,
        attempt: number(row, "attempt")?,
    })
}

fn event(row: &PgRow) -> Result<Event> {
    Ok(Event {
        number: number(row, "number")?,
        at: time(row, "at")?,
        kind: row.try_get("kind")?,
        data: from_json(row.try_get("data")?)?,
    })
}
