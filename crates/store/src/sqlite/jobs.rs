use std::collections::HashMap;

use async_trait::async_trait;
use base::Cutoff;
use futures_util::FutureExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::line::live;
use super::once::{self, Request};
use super::people::note_job;
use super::rates::Counts;
use super::{SqliteStore, conversation, time, time_or_none};
use crate::kept::{damaged, from_json, to_json};
use crate::progress::Asked;
use crate::shared::told;
use crate::terms::KEPT;
use crate::{
    Archived, Event, Filter, Job, JobCounts, JobId, JobStore, NewEvent, NewJob, Page, Progress, ProjectId,
    Prompt, PullState, Receipt, Result, Said, Status, Terms,
};

#[async_trait]
impl JobStore for SqliteStore {
    async fn insert(&self, new: &NewJob, terms: &Terms) -> Result<Receipt> {
        let asked = (new.job(self.clock.now(), terms.actor.as_ref()), terms.clone());
        let receipt = told(self.creates.submit(new.project.clone(), asked).await)?;
        self.work.notify_one();
        Ok(receipt)
    }

    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        find(&mut *self.db.reads().acquire().await?, project, id).await
    }

    async fn progress(&self, project: &ProjectId, id: &JobId) -> Result<Option<Progress>> {
        told(self.progress.submit((), (project.clone(), id.clone())).await)
    }

    async fn list(&self, project: &ProjectId, filter: &Filter) -> Result<Page<Job>> {
        let rows = sqlx::query(
            "SELECT * FROM jobs WHERE project = ?1 AND (?2 IS NULL OR status = ?2)
               AND (?3 IS NULL OR coalesce(pr_state, 'none') = ?3)
               AND (?4 = '' OR instr(lower(prompt), lower(?4)) > 0)
             ORDER BY created_at DESC, id DESC LIMIT ?5 OFFSET ?6",
        )
        .bind(&project.0)
        .bind(filter.status.map(Status::as_str))
        .bind(filter.pull())
        .bind(&filter.words)
        .bind(i64::from(filter.limit) + 1)
        .bind(i64::try_from(filter.offset).unwrap_or(i64::MAX))
        .fetch_all(self.db.reads())
        .await?;
        let has_more = rows.len() > filter.limit as usize;
        let items = rows.iter().take(filter.limit as usize).map(job).collect::<Result<_>>()?;
        Ok(Page { items, has_more })
    }

    async fn events(&self, project: &ProjectId, id: &JobId, after: u64) -> Result<Option<Vec<Event>>> {
        if self.find(project, id).await?.is_none() {
            return Ok(None);
        }
        let rows = sqlx::query("SELECT * FROM job_events WHERE job = ? AND number > ? ORDER BY number")
            .bind(&id.0)
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .fetch_all(self.db.reads())
            .await?;
        rows.iter().map(event).collect::<Result<_>>().map(Some)
    }

    async fn conversation(&self, project: &ProjectId, id: &JobId) -> Result<Option<Vec<Said>>> {
        match self.find(project, id).await? {
            Some(job) => conversation::all(&mut *self.db.reads().acquire().await?, &job.id).await.map(Some),
            None => Ok(None),
        }
    }

    async fn said_after(&self, project: &ProjectId, id: &JobId, number: u32) -> Result<Option<Said>> {
        let mut db = self.db.reads().acquire().await?;
        match find(&mut db, project, id).await? {
            Some(job) => conversation::after(&mut db, &job.id, number).await,
            None => Ok(None),
        }
    }

    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>> {
        let diff = sqlx::query_scalar(
            "SELECT coalesce(failed.diff, made.diff, '') FROM jobs
             LEFT JOIN failed_diffs failed ON failed.job = id LEFT JOIN job_changes made ON made.job = id
             WHERE id = ? AND project = ?",
        )
        .bind(&id.0)
        .bind(&project.0)
        .fetch_optional(self.db.reads())
        .await?;
        Ok(diff)
    }

    async fn message(
        &self,
        project: &ProjectId,
        id: &JobId,
        prompt: &Prompt,
        terms: &Terms,
    ) -> Result<Option<Receipt>> {
        let (project, id, prompt, terms) = (project.clone(), id.clone(), prompt.clone(), terms.clone());
        let (clock, forget) = (self.clock.clone(), self.guard.cutoff(KEPT));
        let receipt = self
            .db
            .write(move |db| {
                async move { message(db, &project, &id, &prompt, &terms, (clock.now_ms(), forget)).await }
                    .boxed()
            })
            .await?;
        self.work.notify_one();
        self.news.notify_waiters();
        Ok(receipt)
    }

    async fn archive(&self, project: &ProjectId, id: &JobId) -> Result<Option<Archived>> {
        let (project, id, clock) = (project.clone(), id.clone(), self.clock.clone());
        let archived = self
            .db
            .write(move |db| async move { archive(db, &project, &id, clock.now_ms()).await }.boxed())
            .await?;
        self.work.notify_one();
        self.news.notify_waiters();
        Ok(archived)
    }

    async fn counts(&self) -> Result<JobCounts> {
        // Grouped by project first: that is the order of an index, so nothing is sorted.
        let row = sqlx::query(
            "SELECT coalesce(sum(n) FILTER (WHERE status = 'active'), 0) active,
                    coalesce(sum(n) FILTER (WHERE status = 'completed'), 0) completed,
                    coalesce(sum(n) FILTER (WHERE status = 'failed'), 0) failed,
                    coalesce(sum(n) FILTER (WHERE status = 'archived'), 0) archived,
                    (SELECT count(*) FROM jobs JOIN workers ON workers.id = jobs.worker AND alive_until > ?
                     WHERE status = 'active' AND jobs.worker IS NOT NULL) running
             FROM (SELECT status, count(*) n FROM jobs GROUP BY project, status)",
        );
        let row = row.bind(self.clock.now_ms()).fetch_one(self.db.reads()).await?;
        let count = |name| Ok::<_, sqlx::Error>(row.try_get::<i64, _>(name)?.unsigned_abs());
        Ok(JobCounts {
            active: count("active")?,
            completed: count("completed")?,
            failed: count("failed")?,
            archived: count("archived")?,
            running: count("running")?,
        })
    }

    async fn event_came(&self) {
        self.news.notified().await;
    }
}

async fn find(db: &mut SqliteConnection, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
    let row = sqlx::query("SELECT * FROM jobs WHERE id = ? AND project = ?")
        .bind(&id.0)
        .bind(&project.0)
        .fetch_optional(db)
        .await?;
    row.as_ref().map(job).transpose()
}

pub(super) async fn progress_of(reads: SqlitePool, ids: Vec<String>) -> Result<HashMap<Asked, Progress>> {
    let select = "SELECT id, project, status, events FROM jobs WHERE id IN (SELECT value FROM json_each(?))";
    let rows = sqlx::query(select).bind(to_json(&ids)).fetch_all(&reads).await?;
    let progress = |row: &SqliteRow| {
        let status = Status::parse(row.try_get("status")?).ok_or_else(|| damaged("a job's status"))?;
        let last_event = row.try_get::<i64, _>("events")?.unsigned_abs();
        let job = (ProjectId(row.try_get("project")?), JobId(row.try_get("id")?));
        Ok((job, Progress { status, last_event }))
    };
    rows.iter().map(progress).collect()
}

async fn message(
    db: &mut SqliteConnection,
    project: &ProjectId,
    id: &JobId,
    prompt: &Prompt,
    terms: &Terms,
    (now, forget): (i64, Cutoff),
) -> Result<Option<Receipt>> {
    let Some(found) = find(db, project, id).await? else { return Ok(None) };
    let (operation, mut counts) = (format!("message {id}"), Counts::default());
    let request = Request { project, operation: &operation, terms, now, forget };
    if let Some(refused) = refusal(db, &found).await? {
        // A replay of one that was taken before is still answered.
        let free = Terms { limit: None, ..terms.clone() };
        let seen = once::admit(db, &Request { terms: &free, ..request }, &mut counts).await?;
        return Ok(Some(seen.err().unwrap_or(Receipt::Refused(refused))));
    }
    let usage = match once::admit(db, &request, &mut counts).await? {
        Ok(usage) => usage,
        Err(receipt) => return Ok(Some(receipt)),
    };
    sqlx::query(
        "INSERT INTO messages (job, number, prompt, created_at, context)
         SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3, ?4 FROM messages WHERE job = ?1",
    )
    .bind(&id.0)
    .bind(prompt.as_str())
    .bind(now)
    .bind(to_json(&prompt.context()))
    .execute(&mut *db)
    .await?;
    if found.status.may_become(Status::Active) {
        sqlx::query(
            "UPDATE jobs SET status = 'active', run = run + 1, attempt = 0, ended_at = NULL, base_commit = NULL,
               queued_at = ?, told = 0, trimmed = 0, put_off = 0, not_before = NULL, deaths = 0, died_step = 0
             WHERE id = ?",
        )
        .bind(now)
        .bind(&id.0)
        .execute(&mut *db)
        .await?;
    }
    let event = NewEvent::follow_up(prompt.as_str(), prompt.context());
    append(db, &id.0, now, event).await?;
    note_job(db, (project, id), terms.actor.as_ref(), "followed up on the job", now).await?;
    let Some(job) = find(db, project, id).await? else { return Ok(None) };
    once::keep(db, &request, &job).await?;
    counts.keep(db).await?;
    Ok(Some(Receipt::Done { job: Box::new(job), usage }))
}

/// Why a job takes no follow-up any more.
async fn refusal(db: &mut SqliteConnection, job: &Job) -> Result<Option<String>> {
    if job.status == Status::Archived {
        return Ok(Some("the job is archived; create a new job".into()));
    }
    let settled = "SELECT pr_state FROM jobs WHERE id = ? AND pr_state <> 'open'";
    let settled: Option<String> = sqlx::query_scalar(settled).bind(&job.id.0).fetch_optional(db).await?;
    Ok(settled.map(|state| format!("the job's pull request is {state}; create a new job")))
}

async fn archive(
    db: &mut SqliteConnection,
    project: &ProjectId,
    id: &JobId,
    now: i64,
) -> Result<Option<Archived>> {
    let Some(found) = find(db, project, id).await? else { return Ok(None) };
    if found.status == Status::Archived {
        return Ok(Some(Archived::Done(Box::new(found))));
    }
    if live(db, id, now).await? {
        let ask = "UPDATE jobs SET archive_asked_at = coalesce(archive_asked_at, ?) WHERE id = ?";
        sqlx::query(ask).bind(now).bind(&id.0).execute(db).await?;
        return Ok(Some(Archived::Waiting));
    }
    set_archived(db, id, now).await?;
    Ok(find(db, project, id).await?.map(|job| Archived::Done(Box::new(job))))
}

pub(super) async fn set_archived(db: &mut SqliteConnection, id: &JobId, now: i64) -> Result<()> {
    // A change that was noted may be on its way to the host, and a pull request with it.
    let archive = "UPDATE jobs SET status = 'archived', archived_at = ?1, worker = NULL, put_off = 0, not_before = NULL,
          sweep_at = iif(pr_link IS NULL AND EXISTS (SELECT 1 FROM job_changes WHERE job = ?2), ?1, NULL)
        WHERE id = ?2";
    sqlx::query(archive).bind(now).bind(&id.0).execute(&mut *db).await?;
    append(db, &id.0, now, NewEvent::new("archived", "The job was archived")).await
}

/// The one place that numbers events, so that there are no gaps.
pub(super) async fn append(db: &mut SqliteConnection, id: &str, now: i64, event: NewEvent) -> Result<()> {
    let number: i64 = sqlx::query_scalar("UPDATE jobs SET events = events + 1 WHERE id = ? RETURNING events")
        .bind(id)
        .fetch_one(&mut *db)
        .await?;
    sqlx::query("INSERT INTO job_events VALUES (?, ?, ?, ?, ?)")
        .bind(id)
        .bind(number)
        .bind(now)
        .bind(event.kind)
        .bind(to_json(&event.data))
        .execute(db)
        .await?;
    Ok(())
}

pub(super) fn job(row: &SqliteRow) -> Result<Job> {
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
        run: row.try_get("run")?,
        pr_link: row.try_get("pr_link")?,
        pr_state: row.try_get::<Option<&str>, _>("pr_state")?.and_then(PullState::from_db),
        added: row.try_get::<i64, _>("added")?.unsigned_abs(),
        removed: row.try_get::<i64, _>("removed")?.unsigned_abs(),
        tokens: row.try_get::<i64, _>("tokens")?.unsigned_abs(),
        created_at: time(row, "created_at")?,
        created_by: row.try_get::<Option<&str>, _>("created_by")?.map(from_json).transpose()?,
        ended_at: time_or_none(row, "ended_at")?,
        archived_at: time_or_none(row, "archived_at")?,
        attempt: row.try_get("attempt")?,
    })
}

fn event(row: &SqliteRow) -> Result<Event> {
    Ok(Event {
        number: row.try_get::<i64, _>("number")?.unsigned_abs(),
        at: time(row, "at")?,
        kind: row.try_get("kind")?,
        data: from_json(row.try_get("data")?)?,
    })
}
