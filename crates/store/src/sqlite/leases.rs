use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::jobs::{append, job, set_archived};
use super::{SqliteStore, conversation, from_json};
use crate::conversation::written;
use crate::{
    Change, Ending, JobId, LEASE, Lease, MAX_ATTEMPTS, Message, NewEvent, Outcome, ProjectId, Queue, Result,
    Resume, Said, Status, StoreError, Tokens, WorkerId,
};

#[async_trait]
impl Queue for SqliteStore {
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
                    append(db, &id.0, now, event).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn unread(&self, lease: &Lease) -> Result<Vec<Message>> {
        let rows =
            sqlx::query("SELECT number, prompt FROM messages WHERE job = ? AND read = 0 ORDER BY number")
                .bind(&lease.job.id.0)
                .fetch_all(self.db.reads())
                .await?;
        let message =
            |row: &SqliteRow| Ok(Message { number: row.try_get("number")?, prompt: row.try_get("prompt")? });
        rows.iter().map(message).collect()
    }

    async fn set_base(&self, lease: &Lease, base_ref: &str, commit: &str) -> Result<()> {
        let (base_ref, commit) = (base_ref.to_owned(), commit.to_owned());
        self.fenced(lease, move |db, id, _| {
            async move {
                let set = "UPDATE jobs SET base_ref = ?1, base_commit = ?2, origin = coalesce(origin, ?2) WHERE id = ?3";
                sqlx::query(set).bind(base_ref).bind(commit).bind(id.0).execute(db).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn set_change(&self, lease: &Lease, change: &Change, read: u32) -> Result<()> {
        let (change, run) = (change.clone(), lease.job.run);
        self.fenced(lease, move |db, id, _| {
            async move {
                mark_read(db, &id, read).await?;
                drop_diff(db, &id).await?;
                sqlx::query("INSERT OR REPLACE INTO job_changes VALUES (?, ?, ?, ?, ?, ?, ?)")
                    .bind(id.0)
                    .bind(change.head_commit)
                    .bind(change.title)
                    .bind(change.body)
                    .bind(change.report.to_string())
                    .bind(change.diff)
                    .bind(run)
                    .execute(db)
                    .await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    async fn say(&self, lease: &Lease, entry: &Value, tokens: Tokens) -> Result<u64> {
        let entry = written(entry)?;
        self.fenced(lease, move |db, id, now| conversation::say(db, id, now, entry, tokens).boxed()).await
    }

    async fn conversation(&self, lease: &Lease) -> Result<Vec<Said>> {
        conversation::all(&mut *self.db.reads().acquire().await?, &lease.job.id).await
    }

    async fn forget_from(&self, lease: &Lease, number: u32) -> Result<()> {
        self.fenced(lease, move |db, id, _| conversation::forget_from(db, id, number).boxed()).await
    }

    async fn month(&self, project: &ProjectId) -> Result<u64> {
        conversation::month(&mut *self.db.reads().acquire().await?, project, self.clock.now_ms()).await
    }

    async fn finish(&self, lease: &Lease, ending: Ending, read: u32) -> Result<Option<Lease>> {
        let (worker, fence) = (lease.worker.clone(), lease.fence);
        self.fenced(lease, move |db, id, now| {
            async move {
                mark_read(db, &id, read).await?;
                keep_diff(db, &id, &ending).await?;
                let waits = sqlx::query("SELECT 1 FROM messages WHERE job = ? AND read = 0 LIMIT 1");
                if waits.bind(&id.0).fetch_optional(&mut *db).await?.is_none() {
                    end(db, &id, now, ending).await?;
                    return Ok(None);
                }
                let row = next_run(db, &id).await?;
                let job = job(&row)?;
                let resume = resume(db, &row, job.run).await?;
                Ok(Some(Lease { job, worker, fence, resume }))
            }
            .boxed()
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let held = Held::of(lease);
        let clock = self.clock.clone();
        let released = self.db.write(move |db| {
            async move {
                let now = clock.now_ms();
                match held.check(db, now).await? {
                    Standing::Current => give_back(db, &held.id).await,
                    Standing::ToArchive => set_archived(db, &held.id, now).await,
                    Standing::Lost => Err(StoreError::LeaseLost(held.id)),
                }
            }
            .boxed()
        });
        let released = released.await;
        self.news.notify_waiters();
        released
    }

    async fn void_leases(&self) -> Result<()> {
        self.execute(sqlx::query("UPDATE jobs SET worker = NULL WHERE worker IS NOT NULL")).await?;
        self.execute(sqlx::query("DELETE FROM workers")).await.map(|_| ())
    }

    async fn to_stop(&self, worker: &WorkerId) -> Result<Vec<JobId>> {
        let ids = sqlx::query_scalar(
            "SELECT id FROM jobs WHERE worker = ? AND status = 'active' AND archive_asked_at IS NOT NULL",
        );
        let ids: Vec<String> = ids.bind(&worker.0).fetch_all(self.db.reads()).await?;
        Ok(ids.into_iter().map(JobId).collect())
    }

    async fn work_came(&self) {
        self.work.notified().await;
    }
}

impl SqliteStore {
    /// Runs `work` only while `lease` stands.
    async fn fenced<T, F>(&self, lease: &Lease, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection, JobId, i64) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        let held = Held::of(lease);
        let clock = self.clock.clone();
        let done = self.db.write(move |db| {
            async move {
                // Asked in the writer, not before the wait for it: a lease can end in line.
                let now = clock.now_ms();
                match held.check(db, now).await? {
                    Standing::Current => work(db, held.id, now).await,
                    _ => Err(StoreError::LeaseLost(held.id)),
                }
            }
            .boxed()
        });
        let done = done.await;
        self.news.notify_waiters();
        done
    }
}

/// What of a lease is compared with the store.
struct Held {
    id: JobId,
    worker: WorkerId,
    fence: i64,
}

enum Standing {
    Current,
    /// Nobody else has it, but the job must stop.
    ToArchive,
    Lost,
}

impl Held {
    fn of(lease: &Lease) -> Self {
        Self { id: lease.job.id.clone(), worker: lease.worker.clone(), fence: lease.fence }
    }

    async fn check(&self, db: &mut SqliteConnection, now: i64) -> Result<Standing> {
        let held: Option<Option<i64>> = sqlx::query_scalar(
            "SELECT archive_asked_at FROM jobs JOIN workers ON workers.id = jobs.worker
             WHERE jobs.id = ? AND worker = ? AND lease = ? AND status = 'active' AND alive_until > ?",
        )
        .bind(&self.id.0)
        .bind(&self.worker.0)
        .bind(self.fence)
        .bind(now)
        .fetch_optional(db)
        .await?;
        Ok(match held {
            Some(None) => Standing::Current,
            Some(Some(_)) => Standing::ToArchive,
            None => Standing::Lost,
        })
    }
}

/// Whether somebody alive has the job.
pub(super) async fn live(db: &mut SqliteConnection, id: &JobId, now: i64) -> Result<bool> {
    let live = sqlx::query(
        "SELECT 1 FROM jobs JOIN workers ON workers.id = jobs.worker WHERE jobs.id = ? AND alive_until > ?",
    );
    Ok(live.bind(&id.0).bind(now).fetch_optional(db).await?.is_some())
}

async fn give_back(db: &mut SqliteConnection, id: &JobId) -> Result<()> {
    let give_back = "UPDATE jobs SET worker = NULL, attempt = attempt - 1 WHERE id = ?";
    sqlx::query(give_back).bind(&id.0).execute(db).await?;
    Ok(())
}

/// What comes next starts from what is on the branch by then.
async fn next_run(db: &mut SqliteConnection, id: &JobId) -> Result<SqliteRow> {
    let next = "UPDATE jobs SET run = run + 1, base_commit = NULL WHERE id = ? RETURNING *";
    Ok(sqlx::query(next).bind(&id.0).fetch_one(db).await?)
}

async fn mark_read(db: &mut SqliteConnection, id: &JobId, read: u32) -> Result<()> {
    let mark = "UPDATE messages SET read = 1 WHERE job = ? AND number <= ?";
    sqlx::query(mark).bind(&id.0).bind(read).execute(db).await?;
    Ok(())
}

/// What a failed run had made is for people to see until a run does better; where there is a pull
/// request, that is what stands.
async fn keep_diff(db: &mut SqliteConnection, id: &JobId, ending: &Ending) -> Result<()> {
    match (&ending.outcome, &ending.diff) {
        (Outcome::Completed { .. }, _) => drop_diff(db, id).await,
        (Outcome::Failed, None) => Ok(()),
        (Outcome::Failed, Some(diff)) => {
            let keep = "INSERT OR REPLACE INTO failed_diffs
                SELECT id, ? FROM jobs WHERE id = ? AND pr_link IS NULL";
            sqlx::query(keep).bind(diff).bind(&id.0).execute(db).await?;
            Ok(())
        }
    }
}

async fn drop_diff(db: &mut SqliteConnection, id: &JobId) -> Result<()> {
    sqlx::query("DELETE FROM failed_diffs WHERE job = ?").bind(&id.0).execute(db).await?;
    Ok(())
}

/// The oldest active job that nobody alive has, and whose branch is nobody's who is alive:
/// jobs on one head run one at a time.
async fn next_in_line(db: &mut SqliteConnection, now: i64) -> Result<Option<SqliteRow>> {
    let next = sqlx::query(
        "SELECT * FROM jobs WHERE status = 'active'
           AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = jobs.worker AND alive_until > ?1)
           AND (adopts = 0 OR NOT EXISTS (
             SELECT 1 FROM jobs other JOIN workers ON workers.id = other.worker AND alive_until > ?1
             WHERE other.project = jobs.project AND other.branch = jobs.branch AND other.status = 'active'))
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
        if row.try_get::<Option<i64>, _>("archive_asked_at")?.is_some() {
            set_archived(db, &job.id, now).await?;
            continue;
        }
        if job.attempt >= MAX_ATTEMPTS {
            end(db, &job.id, now, gave_up()).await?;
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
        let resume = resume(db, &row, job.run).await?;
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
        report: Value::Null,
        checks: serde_json::json!([]),
        usage: serde_json::json!({}),
        diff: None,
    }
}

async fn end(db: &mut SqliteConnection, id: &JobId, now: i64, ending: Ending) -> Result<()> {
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
    .bind(&id.0)
    .execute(&mut *db)
    .await?;
    append(db, &id.0, now, ending.event()).await
}

async fn resume(db: &mut SqliteConnection, row: &SqliteRow, run: u32) -> Result<Resume> {
    let name: Option<String> = row.try_get("base_ref")?;
    let commit: Option<String> = row.try_get("base_commit")?;
    let id: String = row.try_get("id")?;
    let change = sqlx::query("SELECT * FROM job_changes WHERE job = ? AND run = ?").bind(id).bind(run);
    let change = change.fetch_optional(db).await?;
    let change = change.as_ref().map(change_from).transpose()?;
    Ok(Resume { origin: row.try_get("origin")?, base: name.zip(commit), change })
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
