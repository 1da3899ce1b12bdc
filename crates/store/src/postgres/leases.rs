use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, Row, Transaction};

use super::jobs::{append, job, set_archived};
use super::line::{Look, beat, resume, tell_waiting};
use super::{PostgresStore, conversation, in_time, notes, number, suspects, text, undone, write};
use crate::conversation::month_of;
use crate::kept::{end_of, from_json};
use crate::note::checked;
use crate::queue::WAKE;
use crate::suspects::SUSPECT_DEATHS;
use crate::{
    Ending, JobId, Lease, Message, NewEvent, Note, Outcome, ProjectId, Queue, Result, Said, Status,
    StoreError, WorkerId,
};

#[async_trait]
impl Queue for PostgresStore {
    async fn beat(&self, worker: &WorkerId) -> Result<()> {
        in_time(async { beat(&mut *self.pool.acquire().await?, worker).await }).await
    }

    async fn lease_within(&self, worker: &WorkerId, most: u32) -> Result<Option<Lease>> {
        loop {
            match write(|| self.look(worker, most)).await? {
                Look::Leased(lease) => return Ok(Some(*lease)),
                Look::Again => {}
                Look::Nothing => return Ok(None),
            }
        }
    }

    async fn tell_waiting(&self, long: Duration) -> Result<bool> {
        let told = write(|| async {
            let mut tx = self.begin().await?;
            let told = tell_waiting(&mut tx, end_of(long, 0), WAKE).await?;
            tx.commit().await?;
            Ok(told)
        });
        let told = told.await?;
        if told > 0 {
            self.bells.news();
        }
        Ok(told == WAKE as usize)
    }

    async fn unread(&self, lease: &Lease) -> Result<Vec<Message>> {
        let unread = sqlx::query(
            "SELECT number, prompt, context FROM messages WHERE job = $1 AND NOT read ORDER BY number",
        );
        let rows = self.rows(unread.bind(&lease.job.id.0)).await?;
        let message = |row: &PgRow| {
            let context = from_json(row.try_get("context")?)?;
            Ok(Message { number: number(row, "number")?, prompt: row.try_get("prompt")?, context })
        };
        rows.iter().map(message).collect()
    }

    async fn note(&self, lease: &Lease, notes: Vec<Note>) -> Result<u64> {
        let notes = checked(notes)?;
        let done = write(|| async {
            let (mut tx, now) = self.fenced(lease).await?;
            let month = notes::keep(&mut tx, lease, now, &notes).await?;
            if lease.deaths >= SUSPECT_DEATHS {
                suspects::clear(&mut tx, &lease.job.id).await?;
            }
            tx.commit().await?;
            Ok(month)
        });
        self.told(done.await)
    }

    async fn conversation(&self, lease: &Lease) -> Result<Vec<Said>> {
        self.said(&lease.job.id).await
    }

    async fn forget_from(&self, lease: &Lease, number: u32) -> Result<()> {
        let done = write(|| async {
            let (mut tx, _) = self.fenced(lease).await?;
            conversation::forget_from(&mut tx, &lease.job.id, number).await?;
            Ok(tx.commit().await?)
        });
        self.told(done.await)
    }

    async fn month(&self, project: &ProjectId) -> Result<u64> {
        let month = month_of(self.now().await?)?;
        let spent = sqlx::query("SELECT tokens FROM tokens_by_month WHERE project = $1 AND month = $2");
        let row = self.row(spent.bind(&project.0).bind(month)).await?;
        row.map_or(Ok(0), |row| number(&row, "tokens"))
    }

    async fn finish(&self, lease: &Lease, ending: Ending, read: u32) -> Result<Option<Lease>> {
        let done = write(|| async {
            let (mut tx, now) = self.fenced(lease).await?;
            let next = finish(&mut tx, lease, &ending, read, now).await?;
            tx.commit().await?;
            Ok(next)
        });
        self.told(done.await)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let done = write(|| async {
            let id = &lease.job.id;
            let mut tx = self.begin().await?;
            match standing(&mut tx, lease).await? {
                Standing::Current(_) => give_back(&mut tx, id).await?,
                Standing::ToArchive(now) => set_archived(&mut tx, id, now).await?,
                Standing::Lost => return undone(tx, Err(StoreError::LeaseLost(id.clone()))).await,
            }
            Ok(tx.commit().await?)
        });
        let done = self.told(done.await);
        self.bells.work();
        done
    }

    async fn put_off(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()> {
        self.later(lease, wait, why, 1).await
    }

    async fn delay(&self, lease: &Lease, wait: Duration, why: NewEvent) -> Result<()> {
        self.later(lease, wait, why, 0).await
    }

    async fn release_all(&self, worker: &WorkerId) -> Result<()> {
        let all =
            "UPDATE jobs SET worker = NULL, attempt = attempt - 1 WHERE status = 'active' AND worker = $1";
        self.execute(sqlx::query(all).bind(&worker.0)).await?;
        self.bells.work();
        Ok(())
    }

    /// Other servers may be alive: here leases end by time alone.
    async fn void_leases(&self) -> Result<()> {
        Ok(())
    }

    async fn to_stop(&self, worker: &WorkerId) -> Result<Vec<JobId>> {
        let ids = sqlx::query(
            "SELECT id FROM jobs WHERE worker = $1 AND status = 'active' AND archive_asked_at IS NOT NULL",
        );
        let rows = self.rows(ids.bind(&worker.0)).await?;
        rows.iter().map(|row| Ok(JobId(row.try_get("id")?))).collect()
    }

    async fn work_came(&self) {
        self.bells.work_came().await;
    }
}

impl PostgresStore {
    /// Gives the job back for a while, and counts that as so many times.
    async fn later(&self, lease: &Lease, wait: Duration, why: NewEvent, times: i64) -> Result<()> {
        let done = write(|| async {
            let (mut tx, now) = self.fenced(lease).await?;
            append(&mut tx, &lease.job.id, now, &why).await?;
            give_back(&mut tx, &lease.job.id).await?;
            let later = "UPDATE jobs SET not_before = $1, put_off = put_off + $2 WHERE id = $3";
            let later = sqlx::query(later).bind(end_of(wait, now)).bind(times).bind(&lease.job.id.0);
            later.execute(&mut *tx).await?;
            Ok(tx.commit().await?)
        });
        self.told(done.await)
    }

    /// A transaction in which the lease stands, and what the time is.
    async fn fenced(&self, lease: &Lease) -> Result<(Transaction<'static, Postgres>, i64)> {
        let mut tx = self.begin().await?;
        match standing(&mut tx, lease).await? {
            Standing::Current(now) => Ok((tx, now)),
            _ => undone(tx, Err(StoreError::LeaseLost(lease.job.id.clone()))).await,
        }
    }

    /// Rings for what a worker did.
    fn told<T>(&self, done: Result<T>) -> Result<T> {
        self.bells.news();
        done
    }
}

enum Standing {
    Current(i64),
    /// Nobody else has it, but the job must stop.
    ToArchive(i64),
    Lost,
}

/// Locks the job first, then looks: nobody can lease or archive it before the transaction ends.
async fn standing(db: &mut PgConnection, lease: &Lease) -> Result<Standing> {
    let lock = sqlx::query("SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE");
    lock.bind(&lease.job.id.0).execute(&mut *db).await?;
    let row = sqlx::query(
        "SELECT archive_asked_at, now FROM docwright_now_ms() now, jobs JOIN workers ON workers.id = jobs.worker
         WHERE jobs.id = $1 AND worker = $2 AND lease = $3 AND status = 'active' AND alive_until > now",
    )
    .bind(&lease.job.id.0)
    .bind(&lease.worker.0)
    .bind(lease.fence)
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(Standing::Lost) };
    let now = row.try_get("now")?;
    Ok(match row.try_get::<Option<i64>, _>("archive_asked_at")? {
        None => Standing::Current(now),
        Some(_) => Standing::ToArchive(now),
    })
}

async fn finish(
    db: &mut PgConnection,
    lease: &Lease,
    ending: &Ending,
    read: u32,
    now: i64,
) -> Result<Option<Lease>> {
    let id = &lease.job.id;
    mark_read(db, id, read).await?;
    keep_diff(db, id, ending).await?;
    let waits = sqlx::query("SELECT 1 FROM messages WHERE job = $1 AND NOT read LIMIT 1");
    if waits.bind(&id.0).fetch_optional(&mut *db).await?.is_none() {
        end(db, id, now, ending.clone()).await?;
        return Ok(None);
    }
    // What comes next starts from what is on the branch by then.
    let next =
        "UPDATE jobs SET run = run + 1, base_commit = NULL, put_off = 0, deaths = 0, died_step = 0,
          pr_link = coalesce($1, pr_link), pr_state = coalesce(pr_state, CASE WHEN $1 IS NULL THEN NULL ELSE 'open' END)
        WHERE id = $2 RETURNING *";
    let row = sqlx::query(next).bind(ending.outcome.pr_link()).bind(&id.0).fetch_one(&mut *db).await?;
    let job = job(&row)?;
    let resume = resume(db, &row, job.run).await?;
    Ok(Some(Lease { job, worker: lease.worker.clone(), fence: lease.fence, resume, deaths: 0 }))
}

async fn give_back(db: &mut PgConnection, id: &JobId) -> Result<()> {
    let give_back = "UPDATE jobs SET worker = NULL, attempt = attempt - 1 WHERE id = $1";
    sqlx::query(give_back).bind(&id.0).execute(db).await?;
    Ok(())
}

pub(super) async fn mark_read(db: &mut PgConnection, id: &JobId, read: u32) -> Result<()> {
    let mark = "UPDATE messages SET read = true WHERE job = $1 AND number <= $2 AND NOT read";
    sqlx::query(mark).bind(&id.0).bind(i64::from(read)).execute(db).await?;
    Ok(())
}

/// What a failed run had made is for people to see until a run does better; where there is a pull
/// request, that is what stands.
async fn keep_diff(db: &mut PgConnection, id: &JobId, ending: &Ending) -> Result<()> {
    match (&ending.outcome, &ending.diff) {
        (Outcome::Completed { .. }, _) => drop_diff(db, id).await,
        (Outcome::Failed, None) => Ok(()),
        (Outcome::Failed, Some(diff)) => {
            let keep = "INSERT INTO failed_diffs SELECT id, $1 FROM jobs WHERE id = $2 AND pr_link IS NULL
                ON CONFLICT (job) DO UPDATE SET diff = excluded.diff";
            sqlx::query(keep).bind(text(diff)).bind(&id.0).execute(db).await?;
            Ok(())
        }
    }
}

pub(super) async fn drop_diff(db: &mut PgConnection, id: &JobId) -> Result<()> {
    sqlx::query("DELETE FROM failed_diffs WHERE job = $1").bind(&id.0).execute(db).await?;
    Ok(())
}

pub(super) async fn end(db: &mut PgConnection, id: &JobId, now: i64, ending: Ending) -> Result<()> {
    let (status, pr_link) = match &ending.outcome {
        Outcome::Completed { pr_link } => (Status::Completed, pr_link.clone()),
        Outcome::Failed => (Status::Failed, None),
    };
    sqlx::query(
        "UPDATE jobs SET status = $1, pr_link = coalesce($2, pr_link), ended_at = $3, worker = NULL, put_off = 0,
           pr_state = coalesce(pr_state, CASE WHEN $2 IS NULL THEN NULL ELSE 'open' END) WHERE id = $4",
    )
    .bind(status.as_str())
    .bind(pr_link)
    .bind(now)
    .bind(&id.0)
    .execute(&mut *db)
    .await?;
    append(db, id, now, &ending.event()).await
}
