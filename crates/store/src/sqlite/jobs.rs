use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::{SqliteStore, damaged, from_json, time, time_or_none, to_json};
use crate::{
    Change, Ending, Event, Job, JobId, JobStore, LEASE, Lease, MAX_ATTEMPTS, NewEvent, NewJob, Outcome, Page,
    ProjectId, Result, Resume, Status, StoreError, WorkerId,
};

#[async_trait]
impl JobStore for SqliteStore {
    async fn insert(&self, new: &NewJob) -> Result<Job> {
        let id = JobId::random();
        let job = Job {
            branch: format!("docwright/{id}"),
            id,
            project: new.project.clone(),
            status: Status::Active,
            prompt: new.prompt.as_str().to_owned(),
            model: new.model.clone(),
            base_ref: None,
            pr_link: None,
            created_at: self.clock.now(),
            ended_at: None,
            archived_at: None,
            attempt: 0,
        };
        let row = job.clone();
        self.db.write(move |db| insert(db, row).boxed()).await?;
        self.work.notify_one();
        Ok(job)
    }

    async fn find(&self, project: &ProjectId, id: &JobId) -> Result<Option<Job>> {
        let row = sqlx::query("SELECT * FROM jobs WHERE id = ? AND project = ?")
            .bind(&id.0)
            .bind(&project.0)
            .fetch_optional(self.db.reads())
            .await?;
        row.as_ref().map(job).transpose()
    }

    async fn list(&self, project: &ProjectId, limit: u32, offset: u64) -> Result<Page<Job>> {
        let rows = sqlx::query(
            "SELECT * FROM jobs WHERE project = ? ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
        )
        .bind(&project.0)
        .bind(i64::from(limit) + 1)
        .bind(i64::try_from(offset).unwrap_or(i64::MAX))
        .fetch_all(self.db.reads())
        .await?;
        let has_more = rows.len() > limit as usize;
        let items = rows.iter().take(limit as usize).map(job).collect::<Result<_>>()?;
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

    async fn diff(&self, project: &ProjectId, id: &JobId) -> Result<Option<String>> {
        let diff = sqlx::query_scalar(
            "SELECT coalesce(diff, '') FROM jobs LEFT JOIN job_changes ON job = id WHERE id = ? AND project = ?",
        )
        .bind(&id.0)
        .bind(&project.0)
        .fetch_optional(self.db.reads())
        .await?;
        Ok(diff)
    }

    async fn beat(&self, worker: &WorkerId) -> Result<()> {
        let (worker, clock) = (worker.clone(), self.clock.clone());
        self.db.write(move |db| async move { beat(db, &worker, clock.now_ms()).await }.boxed()).await
    }

    async fn lease_next(&self, worker: &WorkerId) -> Result<Option<Lease>> {
        // Most looks find nothing; those need no write and no fsync.
        if next_in_line(&mut *self.db.reads().acquire().await?, self.clock.now_ms()).await?.is_none() {
            return Ok(None);
        }
        let (worker, clock) = (worker.clone(), self.clock.clone());
        self.db.write(move |db| async move { lease(db, worker, clock.now_ms()).await }.boxed()).await
    }

    async fn record(&self, lease: &Lease, events: Vec<NewEvent>) -> Result<()> {
        self.fenced(lease, move |db, id, now| {
            async move {
                for event in events {
                    append(db, &id, now, event).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn set_base(&self, lease: &Lease, base_ref: &str, commit: &str) -> Result<()> {
        let (base_ref, commit) = (base_ref.to_owned(), commit.to_owned());
        self.fenced(lease, move |db, id, _| {
            async move {
                let set = sqlx::query("UPDATE jobs SET base_ref = ?, base_commit = ? WHERE id = ?");
                set.bind(base_ref).bind(commit).bind(id).execute(db).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn set_change(&self, lease: &Lease, change: &Change) -> Result<()> {
        let change = change.clone();
        self.fenced(lease, move |db, id, _| {
            async move {
                sqlx::query("INSERT OR REPLACE INTO job_changes VALUES (?, ?, ?, ?, ?, ?)")
                    .bind(id)
                    .bind(change.head_commit)
                    .bind(change.title)
                    .bind(change.body)
                    .bind(change.report.to_string())
                    .bind(change.diff)
                    .execute(db)
                    .await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn finish(&self, lease: &Lease, ending: Ending) -> Result<()> {
        self.fenced(lease, move |db, id, now| end(db, id, now, ending).boxed()).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.fenced(lease, |db, id, _| {
            async move {
                let give_back = "UPDATE jobs SET worker = NULL, attempt = attempt - 1 WHERE id = ?";
                sqlx::query(give_back).bind(id).execute(db).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn void_leases(&self) -> Result<()> {
        self.execute(sqlx::query("UPDATE jobs SET worker = NULL WHERE worker IS NOT NULL")).await?;
        self.execute(sqlx::query("DELETE FROM workers")).await.map(|_| ())
    }

    async fn work_came(&self) {
        self.work.notified().await;
    }
}

impl SqliteStore {
    /// Runs `work` only while `lease` is the current one and its worker is believed alive.
    async fn fenced<F>(&self, lease: &Lease, work: F) -> Result<()>
    where
        F: for<'c> FnOnce(
                &'c mut SqliteConnection,
                String,
                i64,
            ) -> futures_util::future::BoxFuture<'c, Result<()>>
            + Send
            + 'static,
    {
        let (id, worker, fence) = (lease.job.id.clone(), lease.worker.clone(), lease.fence);
        let clock = self.clock.clone();
        self.db
            .write(move |db| {
                async move {
                    // Asked in the writer, not before the wait for it: a lease can end in line.
                    let now = clock.now_ms();
                    let held = sqlx::query(
                        "SELECT 1 FROM jobs JOIN workers ON workers.id = jobs.worker
                         WHERE jobs.id = ? AND worker = ? AND lease = ? AND status = 'active' AND alive_until > ?",
                    )
                    .bind(&id.0)
                    .bind(worker.0)
                    .bind(fence)
                    .bind(now)
                    .fetch_optional(&mut *db)
                    .await?;
                    match held {
                        Some(_) => work(db, id.0, now).await,
                        None => Err(StoreError::LeaseLost(id)),
                    }
                }
                .boxed()
            })
            .await
    }
}

async fn insert(db: &mut SqliteConnection, job: Job) -> Result<()> {
    sqlx::query(
        "INSERT INTO jobs (id, project, status, prompt, branch, model, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&job.id.0)
    .bind(job.project.0)
    .bind(job.status.as_str())
    .bind(job.prompt)
    .bind(job.branch)
    .bind(job.model)
    .bind(job.created_at.as_millisecond())
    .execute(&mut *db)
    .await?;
    append(db, &job.id.0, job.created_at.as_millisecond(), NewEvent::new("created", "The job was created"))
        .await
}

async fn next_in_line(db: &mut SqliteConnection, now: i64) -> Result<Option<SqliteRow>> {
    let next = sqlx::query(
        "SELECT * FROM jobs WHERE status = 'active' AND NOT EXISTS
           (SELECT 1 FROM workers WHERE workers.id = jobs.worker AND alive_until > ?)
         ORDER BY created_at, id LIMIT 1",
    );
    Ok(next.bind(now).fetch_optional(db).await?)
}

async fn beat(db: &mut SqliteConnection, worker: &WorkerId, now: i64) -> Result<()> {
    sqlx::query("INSERT OR REPLACE INTO workers VALUES (?, ?)")
        .bind(&worker.0)
        .bind(now + LEASE.as_millis() as i64)
        .execute(db)
        .await?;
    Ok(())
}

async fn lease(db: &mut SqliteConnection, worker: WorkerId, now: i64) -> Result<Option<Lease>> {
    while let Some(row) = next_in_line(db, now).await? {
        let mut job = job(&row)?;
        if job.attempt >= MAX_ATTEMPTS {
            end(db, job.id.0, now, gave_up()).await?;
            continue;
        }
        job.attempt += 1;
        let fence = row.try_get::<i64, _>("lease")? + 1;
        sqlx::query("UPDATE jobs SET attempt = ?, lease = ?, worker = ? WHERE id = ?")
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
        let resume = Resume { base: base(&row)?, change: change(db, &job.id).await? };
        return Ok(Some(Lease { job, worker, fence, resume }));
    }
    Ok(None)
}

fn gave_up() -> Ending {
    Ending {
        outcome: Outcome::Failed,
        message: format!(
            "The job stopped its worker {MAX_ATTEMPTS} times and was given up; create a new job to try again"
        ),
        report: serde_json::Value::Null,
        checks: serde_json::json!([]),
        usage: serde_json::json!({}),
    }
}

async fn end(db: &mut SqliteConnection, id: String, now: i64, ending: Ending) -> Result<()> {
    let (status, pr_link) = match &ending.outcome {
        Outcome::Completed { pr_link } => (Status::Completed, pr_link.clone()),
        Outcome::Failed => (Status::Failed, None),
    };
    sqlx::query(
        "UPDATE jobs SET status = ?, pr_link = coalesce(?, pr_link), ended_at = ?, worker = NULL WHERE id = ?",
    )
    .bind(status.as_str())
    .bind(pr_link)
    .bind(now)
    .bind(&id)
    .execute(&mut *db)
    .await?;
    append(db, &id, now, ending.event()).await
}

/// The one place that numbers events, so that there are no gaps.
async fn append(db: &mut SqliteConnection, id: &str, now: i64, event: NewEvent) -> Result<()> {
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

fn job(row: &SqliteRow) -> Result<Job> {
    Ok(Job {
        id: JobId(row.try_get("id")?),
        project: ProjectId(row.try_get("project")?),
        status: Status::from_db(row.try_get("status")?).ok_or_else(|| damaged("a job's status"))?,
        prompt: row.try_get("prompt")?,
        branch: row.try_get("branch")?,
        model: row.try_get("model")?,
        base_ref: row.try_get("base_ref")?,
        pr_link: row.try_get("pr_link")?,
        created_at: time(row, "created_at")?,
        ended_at: time_or_none(row, "ended_at")?,
        archived_at: time_or_none(row, "archived_at")?,
        attempt: row.try_get("attempt")?,
    })
}

fn base(row: &SqliteRow) -> Result<Option<(String, String)>> {
    let name: Option<String> = row.try_get("base_ref")?;
    let commit: Option<String> = row.try_get("base_commit")?;
    Ok(name.zip(commit))
}

async fn change(db: &mut SqliteConnection, id: &JobId) -> Result<Option<Change>> {
    let row = sqlx::query("SELECT * FROM job_changes WHERE job = ?").bind(&id.0).fetch_optional(db).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Change {
        head_commit: row.try_get("head_commit")?,
        title: row.try_get("title")?,
        body: row.try_get("body")?,
        report: from_json(row.try_get("report")?)?,
        diff: row.try_get("diff")?,
    }))
}

fn event(row: &SqliteRow) -> Result<Event> {
    Ok(Event {
        number: row.try_get::<i64, _>("number")?.unsigned_abs(),
        at: time(row, "at")?,
        kind: row.try_get("kind")?,
        data: from_json(row.try_get("data")?)?,
    })
}
