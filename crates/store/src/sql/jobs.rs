//! Jobs as clients see them.

use std::collections::HashMap;

use async_trait::async_trait;
use futures_util::FutureExt;

use super::idempotency::{self, Admission, Request};
use super::queue::has_live_worker;
use super::rates::Counts;
use super::{
    Backend, Connection, Database, Fetch, FromRow, Row, audit, conversation, findings, sql, sql_for,
};
use crate::coalesced::unshare;
use crate::encoding::{damaged, to_json, to_signed};
use crate::progress::JobKey;
use crate::terms::ANSWER_RETENTION;
use crate::{
    Archived, ConversationEntry, Event, Filter, Job, JobCounts, JobId, JobStore, NewEvent, NewJob, Page,
    Progress, ProjectId, Prompt, PullState, Receipt, Result, Status, Terms,
};

/// The columns of a [`Job`]. `adopts` says that the request named the branch.
macro_rules! job_columns {
    () => {
        "id, project, status, prompt, context, branch, model, base_ref, adopts, draft, run, pr_link, pr_head, pr_state, added,
         removed, tokens, created_at, created_by, ended_at, archived_at, attempt"
    };
}
pub(crate) use job_columns;

/// `$contains` is whether the prompt contains `$4`.
macro_rules! list_jobs {
    ($contains:literal) => {
        concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE project = $1 AND ($2 IS NULL OR status = $2)
               AND ($3 IS NULL OR coalesce(pr_state, 'none') = $3) AND ($4 = '' OR ",
            $contains,
            ") ORDER BY created_at DESC, id DESC LIMIT $5 OFFSET $6"
        )
    };
}

#[async_trait]
impl<B: Backend> JobStore for B {
    async fn insert(&self, new: &NewJob, terms: &Terms) -> Result<Receipt> {
        let request = (self.clone(), new.clone(), terms.clone());
        let receipt = unshare(self.common().creates.submit(new.project.clone(), request).await)?;
        self.notify_work();
        Ok(receipt)
    }

    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        self.find_job(project, id).await
    }

    async fn progress(&self, project: &ProjectId, id: &JobId) -> Result<Option<Progress>> {
        unshare(self.common().reads.progress.submit((), (project.clone(), id.clone())).await)
    }

    async fn list(&self, project: &ProjectId, filter: &Filter) -> Result<Page<Job>> {
        let list = sql_for(
            list_jobs!("instr(lower(prompt), lower($4)) > 0"),
            list_jobs!("position(lower($4) IN lower(prompt)) > 0"),
        );
        let list = list
            .bind(&project.0)
            .bind(filter.status.map(Status::as_str))
            .bind(filter.pull())
            .bind(&filter.prompt_contains)
            .bind(i64::from(filter.limit) + 1)
            .bind(to_signed(filter.offset));
        let mut items = self.all(list).await?;
        let has_more = items.len() > filter.limit as usize;
        items.truncate(filter.limit as usize);
        Ok(Page { items, has_more })
    }

    async fn events(&self, project: &ProjectId, id: &JobId, after: u64) -> Result<Option<Vec<Event>>> {
        if self.find_job(project, id).await?.is_none() {
            return Ok(None);
        }
        let events = sql("SELECT number, at, kind, data FROM job_events WHERE job = $1 AND number > $2
             ORDER BY number");
        self.all(events.bind(&id.0).bind(to_signed(after))).await.map(Some)
    }

    async fn conversation(&self, project: &ProjectId, id: &JobId) -> Result<Option<Vec<ConversationEntry>>> {
        match self.find_job(project, id).await? {
            Some(job) => conversation::all(self, &job.id).await.map(Some),
            None => Ok(None),
        }
    }

    async fn entry_after(
        &self,
        project: &ProjectId,
        id: &JobId,
        number: u32,
    ) -> Result<Option<ConversationEntry>> {
        match self.find_job(project, id).await? {
            Some(job) => conversation::after(self, &job.id, number).await,
            None => Ok(None),
        }
    }

    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>> {
        let diff = sql("SELECT coalesce(failed.diff, made.diff, '') AS diff FROM jobs
             LEFT JOIN failed_diffs failed ON failed.job = id LEFT JOIN job_changes made ON made.job = id
             WHERE id = $1 AND project = $2");
        let row = self.row(diff.bind(&id.0).bind(&project.0)).await?;
        row.map(|row| row.get("diff")).transpose()
    }

    async fn message(
        &self,
        project: &ProjectId,
        id: &JobId,
        prompt: &Prompt,
        terms: &Terms,
    ) -> Result<Option<Receipt>> {
        let input = (self.clone(), project.clone(), id.clone(), prompt.clone(), terms.clone());
        let receipt = self.transaction(input, |db, (store, project, id, prompt, terms)| {
            add_message(db, store, (project, id), prompt, terms).boxed()
        });
        let receipt = receipt.await?;
        self.notify_work();
        self.notify_events();
        Ok(receipt)
    }

    async fn archive(&self, project: &ProjectId, id: &JobId) -> Result<Option<Archived>> {
        let input = (project.clone(), id.clone());
        let archived = self.transaction(input, |db, (project, id)| archive(db, project, id).boxed()).await?;
        self.notify_work();
        self.notify_events();
        Ok(archived)
    }

    async fn counts(&self) -> Result<JobCounts> {
        // Grouped by project first: that is the order of an index, so nothing is sorted. PostgreSQL's sum is a decimal.
        let counts = sql("SELECT
               CAST(coalesce(sum(n) FILTER (WHERE status = 'active'), 0) AS BIGINT) AS active,
               CAST(coalesce(sum(n) FILTER (WHERE status = 'completed'), 0) AS BIGINT) AS completed,
               CAST(coalesce(sum(n) FILTER (WHERE status = 'failed'), 0) AS BIGINT) AS failed,
               CAST(coalesce(sum(n) FILTER (WHERE status = 'archived'), 0) AS BIGINT) AS archived,
               (SELECT count(*) FROM jobs JOIN workers ON workers.id = jobs.worker
                WHERE status = 'active' AND jobs.worker IS NOT NULL
                  AND alive_until > (SELECT docwright_now_ms())) AS running
             FROM (SELECT status, count(*) AS n FROM jobs GROUP BY project, status) AS grouped");
        Ok(self.optional(counts).await?.unwrap_or_default())
    }

    async fn wait_for_events(&self) {
        self.events_notified().await;
    }
}

pub(super) async fn find_progress(reads: impl Fetch, ids: Vec<String>) -> Result<HashMap<JobKey, Progress>> {
    let select = sql("SELECT id, project, status, events FROM jobs WHERE id = ANY($1)");
    let progress = |row: &Row| {
        let job = (ProjectId(row.get("project")?), JobId(row.get("id")?));
        Ok((job, Progress { status: status(row)?, last_event: row.number("events")? }))
    };
    reads.rows(select.bind(ids)).await?.iter().map(progress).collect()
}

/// The job, locked until the end of the transaction.
async fn find_locked(db: &mut Connection<'_>, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
    let find = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1 AND project = $2 FOR UPDATE");
    db.optional(sql(find).bind(&id.0).bind(&project.0)).await
}

async fn add_message(
    db: &mut Connection<'_>,
    store: &impl Backend,
    (project, id): (&ProjectId, &JobId),
    prompt: &Prompt,
    terms: &Terms,
) -> Result<Option<Receipt>> {
    let Some(found) = find_locked(db, project, id).await? else { return Ok(None) };
    let (operation, mut counts) = (format!("message {id}"), Counts::default());
    idempotency::lock(db, &operation, [(project, terms)]).await?;
    let now = db.now().await?;
    let expired = db.cutoff(&store.common().guard, now, ANSWER_RETENTION);
    let request = Request { project, operation: &operation, terms, now, expired };
    if let Some(refusal) = refusal(&found) {
        // A request that was accepted before still gets its answer. A new one is refused, and doesn't count.
        let unlimited = Terms { limit: None, ..terms.clone() };
        let admission =
            idempotency::admit(db, &Request { terms: &unlimited, ..request }, &mut counts).await?;
        db.discard();
        return Ok(Some(match admission {
            Admission::Answered(receipt) => receipt,
            Admission::Admitted(_) => Receipt::Refused(refusal),
        }));
    }
    let usage = match idempotency::admit(db, &request, &mut counts).await? {
        Admission::Admitted(usage) => usage,
        Admission::Answered(receipt) => {
            db.discard();
            return Ok(Some(receipt));
        }
    };
    insert_message(db, &found, prompt, now).await?;
    audit::record_job(db, (project, id), terms.actor.as_ref(), "followed up on the job", now).await?;
    let Some(job) = find_locked(db, project, id).await? else { return Ok(None) };
    idempotency::store_answer(db, &request, &job).await?;
    counts.store(db).await?;
    Ok(Some(Receipt::Done { job: Box::new(job), usage }))
}

/// Why a job takes no follow-up.
fn refusal(job: &Job) -> Option<String> {
    if job.status == Status::Archived {
        return Some("the job is archived; create a new job".into());
    }
    let state = job.pr_state.filter(|state| *state != PullState::Open)?.as_str();
    Some(format!("the job's pull request is {state}; create a new job"))
}

async fn insert_message(db: &mut Connection<'_>, job: &Job, prompt: &Prompt, now: i64) -> Result<()> {
    let insert = sql("INSERT INTO messages (job, number, prompt, created_at, context)
         SELECT $1, 1 + coalesce(max(number), 0), $2, $3, $4 FROM messages WHERE job = $1");
    let insert = insert.bind(&job.id.0).bind(prompt.as_str()).bind(now).bind(to_json(&prompt.context()));
    db.execute(insert).await?;
    if job.status.may_become(Status::Active) {
        // `told` says that the job has the event "waiting", `trimmed` that its old data was deleted, and `put_off` how
        // often it was postponed since its last progress. A sweep of the earlier end stops: its writes are ignored.
        let requeue = sql("UPDATE jobs
             SET status = 'active', run = run + 1, attempt = 0, ended_at = NULL, base_commit = NULL,
                 queued_at = $1, told = false, trimmed = false, put_off = 0, not_before = NULL,
                 deaths = 0, died_step = 0, sweep_at = NULL,
                 sweeps = CASE WHEN sweep_at IS NULL THEN sweeps ELSE sweeps + 1 END
             WHERE id = $2");
        db.execute(requeue.bind(now).bind(&job.id.0)).await?;
    }
    let text = db.stored_text(prompt.as_str());
    append(db, &job.id, now, &NewEvent::follow_up(&text, prompt.context())).await
}

async fn archive(db: &mut Connection<'_>, project: &ProjectId, id: &JobId) -> Result<Option<Archived>> {
    let Some(found) = find_locked(db, project, id).await? else { return Ok(None) };
    if found.status == Status::Archived {
        db.discard();
        return Ok(Some(Archived::Done(Box::new(found))));
    }
    let now = db.now().await?;
    if has_live_worker(db, id, now).await? {
        let request = sql("UPDATE jobs SET archive_asked_at = coalesce(archive_asked_at, $1) WHERE id = $2");
        db.execute(request.bind(now).bind(&id.0)).await?;
        return Ok(Some(Archived::Waiting));
    }
    set_archived(db, id, now).await?;
    Ok(find_locked(db, project, id).await?.map(|job| Archived::Done(Box::new(job))))
}

pub(super) async fn set_archived(db: &mut Connection<'_>, id: &JobId, now: i64) -> Result<()> {
    // A worker may have pushed the stored change, and opened a pull request that it didn't record. With `sweep_at`, the
    // server searches the host for it.
    let archive = sql("UPDATE jobs SET status = 'archived', archived_at = $1, worker = NULL, put_off = 0,
           not_before = NULL, sweeps = CASE WHEN sweep_at IS NULL THEN sweeps ELSE sweeps + 1 END,
           sweeps_before = CASE WHEN sweep_at IS NULL THEN sweeps ELSE sweeps + 1 END,
           sweep_at = CASE WHEN (pr_link IS NULL OR pr_head IS NOT NULL) AND EXISTS (SELECT 1 FROM job_changes WHERE job = $2) THEN $1 END
         WHERE id = $2");
    db.execute(archive.bind(now).bind(&id.0)).await?;
    findings::hasten_findings_of(db, id).await?;
    append(db, id, now, &NewEvent::new("archived", "The job was archived")).await
}

/// Adds an event. Its number comes from the job's row, which is locked with it, so there are no gaps.
pub(super) async fn append(db: &mut Connection<'_>, id: &JobId, now: i64, event: &NewEvent) -> Result<()> {
    if let Database::Sqlite(..) = db.database {
        db.execute(sql("UPDATE jobs SET events = events + 1 WHERE id = $1").bind(&id.0)).await?;
    }
    let insert = sql_for(
        "INSERT INTO job_events (job, number, at, kind, data)
         SELECT id, events, $2, $3, $4 FROM jobs WHERE id = $1",
        "WITH counted AS (UPDATE jobs SET events = events + 1 WHERE id = $1 RETURNING events)
         INSERT INTO job_events (job, number, at, kind, data) SELECT $1, events, $2, $3, $4 FROM counted",
    );
    db.execute(insert.bind(&id.0).bind(now).bind(event.kind).bind(to_json(&event.data))).await.map(drop)
}

fn status(row: &Row) -> Result<Status> {
    Status::parse(row.get("status")?).ok_or_else(|| damaged("a job's status"))
}

impl FromRow for Job {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: JobId(row.get("id")?),
            project: ProjectId(row.get("project")?),
            status: status(row)?,
            prompt: row.get("prompt")?,
            context: row.json("context")?,
            branch: row.get("branch")?,
            model: row.get("model")?,
            base_ref: row.get("base_ref")?,
            adopts: row.get("adopts")?,
            draft: row.get("draft")?,
            run: row.number("run")?,
            pr_link: row.get("pr_link")?,
            pr_head: row.get("pr_head")?,
            pr_state: row.get::<Option<&str>>("pr_state")?.and_then(PullState::parse),
            added: row.number("added")?,
            removed: row.number("removed")?,
            tokens: row.number("tokens")?,
            created_at: row.time("created_at")?,
            created_by: row.json_or_none("created_by")?,
            ended_at: row.time_or_none("ended_at")?,
            archived_at: row.time_or_none("archived_at")?,
            attempt: row.number("attempt")?,
        })
    }
}

impl FromRow for Event {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            number: row.number("number")?,
            at: row.time("at")?,
            kind: row.get("kind")?,
            data: row.json("data")?,
        })
    }
}

impl FromRow for JobCounts {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            active: row.number("active")?,
            completed: row.number("completed")?,
            failed: row.number("failed")?,
            archived: row.number("archived")?,
            running: row.number("running")?,
        })
    }
}
