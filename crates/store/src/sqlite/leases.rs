use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::jobs::{append, job, set_archived};
use super::line::{beat, is_work, lease, resume, tell, untold};
use super::{SqliteStore, conversation, notes, suspects};
use crate::kept::{end_of, from_json};
use crate::note::checked;
use crate::queue::WAKE;
use crate::suspects::SUSPECT_DEATHS;
use crate::{
    Ending, JobId, Lease, Message, NewEvent, Note, Outcome, ProjectId, Queue, Result, Said, Status,
    StoreError, WorkerId,
};

#[async_trait]
impl Queue for SqliteStore {
    async fn beat(&self, worker: &WorkerId) -> Result<()> {
        let (worker, clock) = (worker.clone(), self.clock.clone());
        self.db.write(move |db| async move { beat(db, &worker, clock.now_ms()).await }.boxed()).await
    }

    async fn lease_within(&self, worker: &WorkerId, most: u32) -> Result<Option<Lease>> {
        // Most looks find nothing; those need no write and no fsync.
        if !is_work(&mut *self.db.reads().acquire().await?, worker, self.clock.now_ms(), most).await? {
            return Ok(None);
        }
        let (worker, clock) = (worker.clone(), self.clock.clone());
        self.db.write(move |db| async move { lease(db, worker, most, clock.now_ms()).await }.boxed()).await
    }

    async fn tell_waiting(&self, long: Duration) -> Result<bool> {
        let now = self.clock.now_ms();
        let since = now.saturating_sub(end_of(long, 0));
        let ids = untold(&mut *self.db.reads().acquire().await?, since, WAKE).await?;
        if ids.is_empty() {
            return Ok(false);
        }
        let are_more = ids.len() == WAKE as usize;
        self.db.write(move |db| async move { tell(db, ids, now).await }.boxed()).await?;
        self.news.notify_waiters();
        Ok(are_more)
    }

    async fn unread(&self, lease: &Lease) -> Result<Vec<Message>> {
        let rows = sqlx::query(
            "SELECT number, prompt, context FROM messages WHERE job = ? AND read = 0 ORDER BY number",
        )
        .bind(&lease.job.id.0)
        .fetch_all(self.db.reads())
        .await?;
        let message = |row: &SqliteRow| {
            let context = from_json(row.try_get("context")?)?;
            Ok(Message { number: row.try_get("number")?, prompt: row.try_get("prompt")?, context })
        };
        rows.iter().map(message).collect()
    }

    async fn note(&self, lease: &Lease, notes: Vec<Note>) -> Result<u64> {
        let (notes, run, deaths) = (checked(notes)?, lease.job.run, lease.deaths);
        self.fenced(lease, move |db, id, now| {
            async move {
                let month = notes::keep(db, &id, now, run, notes).await?;
                if deaths >= SUSPECT_DEATHS {
                    suspects::clear(db, &id).await?;
                }
                Ok(month)
            }
            .boxed()
        })
        .await
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
                let row = next_run(db, &id, ending.outcome.pr_link()).await?;
                let job = job(&row)?;
                let resume = resume(db, &row, job.run).await?;
                Ok(Some(Lease { job, worker, fence, resume, deaths: 0 }))
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

    async fn put_off(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()> {
        self.later(lease, wait, why, 1).await
    }

    async fn delay(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()> {
        self.later(lease, wait, why, 0).await
    }

    async fn release_all(&self, worker: &WorkerId) -> Result<()> {
        let all = "UPDATE jobs SET worker = NULL, attempt = attempt - 1
            WHERE status = 'active' AND worker IS NOT NULL AND worker = ?";
        self.execute(sqlx::query(all).bind(worker.0.clone())).await?;
        self.work.notify_one();
        Ok(())
    }

    async fn void_leases(&self) -> Result<()> {
        let now = self.clock.now_ms();
        self.db.write(move |db| suspects::take_from_all(db, now).boxed()).await
    }

    async fn to_stop(&self, worker: &WorkerId) -> Result<Vec<JobId>> {
        let ids = sqlx::query_scalar(
            "SELECT id FROM jobs INDEXED BY jobs_held
             WHERE worker = ? AND status = 'active' AND archive_asked_at IS NOT NULL",
        );
        let ids: Vec<String> = ids.bind(&worker.0).fetch_all(self.db.reads()).await?;
        Ok(ids.into_iter().map(JobId).collect())
    }

    async fn work_came(&self) {
        self.work.notified().await;
    }
}

impl SqliteStore {
    /// Gives the job back for a while, and counts that as so many times.
    async fn later(&self, lease: &Lease, wait: Duration, why: NewEvent, times: u32) -> Result<()> {
        self.fenced(lease, move |db, id, now| {
            async move {
                append(db, &id.0, now, why).await?;
                give_back(db, &id).await?;
                let later = "UPDATE jobs SET not_before = ?, put_off = put_off + ? WHERE id = ?";
                sqlx::query(later).bind(end_of(wait, now)).bind(times).bind(&id.0).execute(db).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

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

async fn give_back(db: &mut SqliteConnection, id: &JobId) -> Result<()> {
    let give_back = "UPDATE jobs SET worker = NULL, attempt = attempt - 1 WHERE id = ?";
    sqlx::query(give_back).bind(&id.0).execute(db).await?;
    Ok(())
}

/// What comes next starts from what is on the branch by then.
async fn next_run(db: &mut SqliteConnection, id: &JobId, pr_link: Option<&str>) -> Result<SqliteRow> {
    let next = "UPDATE jobs SET run = run + 1, base_commit = NULL, put_off = 0, deaths = 0, died_step = 0,
          pr_link = coalesce(?1, pr_link), pr_state = coalesce(pr_state, iif(?1 IS NULL, NULL, 'open'))
        WHERE id = ?2 RETURNING *";
    Ok(sqlx::query(next).bind(pr_link).bind(&id.0).fetch_one(db).await?)
}

pub(super) async fn mark_read(db: &mut SqliteConnection, id: &JobId, read: u32) -> Result<()> {
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

pub(super) async fn drop_diff(db: &mut SqliteConnection, id: &JobId) -> Result<()> {
    sqlx::query("DELETE FROM failed_diffs WHERE job = ?").bind(&id.0).execute(db).await?;
    Ok(())
}

pub(super) async fn end(db: &mut SqliteConnection, id: &JobId, now: i64, ending: Ending) -> Result<()> {
    let (status, pr_link) = match &ending.outcome {
        Outcome::Completed { pr_link } => (Status::Completed, pr_link.clone()),
        Outcome::Failed => (Status::Failed, None),
    };
    sqlx::query(
        "UPDATE jobs SET status = ?1, pr_link = coalesce(?2, pr_link), ended_at = ?3, worker = NULL, put_off = 0,
           pr_state = coalesce(pr_state, iif(?2 IS NULL, NULL, 'open')) WHERE id = ?4",
    )
    .bind(status.as_str())
    .bind(pr_link)
    .bind(now)
    .bind(&id.0)
    .execute(&mut *db)
    .await?;
    append(db, &id.0, now, ending.event()).await
}
