use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::jobs::append;
use super::{SqliteStore, time};
use crate::kept::damaged;
use crate::pull::each_once;
use crate::{JobId, Merge, NewPull, ProjectId, Pull, PullState, Pulls, Result, StoreError};

#[async_trait]
impl Pulls for SqliteStore {
    async fn open_pull(&self, project: &ProjectId, new: &NewPull) -> Result<Pull> {
        let (project, new, now) = (project.0.clone(), new.clone(), self.clock.now_ms());
        self.db.write(move |db| insert(db, project, new, now).boxed()).await
    }

    async fn pull(&self, project: &ProjectId, number: u64) -> Result<Option<Pull>> {
        let row = sqlx::query("SELECT * FROM pulls WHERE project = ? AND number = ?")
            .bind(&project.0)
            .bind(number as i64)
            .fetch_optional(self.db.reads())
            .await?;
        row.as_ref().map(pull).transpose()
    }

    async fn pulls_by_head(&self, project: &ProjectId, head: &str) -> Result<Vec<Pull>> {
        let rows = sqlx::query("SELECT * FROM pulls WHERE project = ? AND head = ? ORDER BY number")
            .bind(&project.0)
            .bind(head)
            .fetch_all(self.db.reads())
            .await?;
        rows.iter().map(pull).collect()
    }

    async fn pulls(&self, project: &ProjectId, limit: u32) -> Result<Vec<Pull>> {
        let rows = sqlx::query("SELECT * FROM pulls WHERE project = ? ORDER BY number DESC LIMIT ?")
            .bind(&project.0)
            .bind(limit)
            .fetch_all(self.db.reads())
            .await?;
        rows.iter().map(pull).collect()
    }

    async fn settle_pull(
        &self,
        project: &ProjectId,
        number: u64,
        state: PullState,
        head_commit: &str,
        merge_commit: Option<&str>,
    ) -> Result<bool> {
        let settle = "UPDATE pulls SET state = ?, head_commit = ?, merge_commit = ?
            WHERE project = ? AND number = ? AND state = 'open' RETURNING job";
        let settle = sqlx::query_scalar(settle)
            .bind(state.as_str())
            .bind(head_commit.to_owned())
            .bind(merge_commit.map(str::to_owned))
            .bind(project.0.clone())
            .bind(number as i64);
        let now = self.clock.now_ms();
        let settled = self.db.write(move |db| {
            async move {
                let job: Option<String> = settle.fetch_optional(&mut *db).await?;
                if let Some(job) = &job {
                    tell(db, job, state, now).await?;
                }
                Ok(job.is_some())
            }
            .boxed()
        });
        let settled = settled.await;
        self.news.notify_waiters();
        settled
    }

    async fn note_pull(&self, project: &ProjectId, link: &str, state: PullState) -> Result<usize> {
        let (project, link, now) = (project.0.clone(), link.to_owned(), self.clock.now_ms());
        let noted = self.db.write(move |db| {
            async move {
                let ids = "SELECT id FROM jobs WHERE project = ? AND pr_link = ?";
                let ids: Vec<String> =
                    sqlx::query_scalar(ids).bind(project).bind(link).fetch_all(&mut *db).await?;
                let mut told = 0;
                for id in ids {
                    told += tell(db, &id, state, now).await?;
                }
                Ok(told)
            }
            .boxed()
        });
        let noted = noted.await;
        self.news.notify_waiters();
        noted
    }

    async fn merges(
        &self,
        project: &ProjectId,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Merge>> {
        let rows = sqlx::query(
            "SELECT id, merged_at, pr_link, coalesce(title, '') AS title FROM jobs
             LEFT JOIN job_changes ON job_changes.job = jobs.id
             WHERE project = ? AND merged_at >= ? AND merged_at < ? AND pr_link IS NOT NULL
             ORDER BY merged_at, id LIMIT ?",
        )
        .bind(&project.0)
        .bind(from.as_millisecond())
        .bind(to.as_millisecond())
        .bind(limit)
        .fetch_all(self.db.reads())
        .await?;
        Ok(each_once(rows.iter().map(merge).collect::<Result<_>>()?))
    }
}

/// Tells the job what became of its pull request; 0 when it is known.
async fn tell(db: &mut SqliteConnection, job: &str, state: PullState, now: i64) -> Result<usize> {
    let set = "UPDATE jobs SET pr_state = ?1, merged_at = iif(?1 = 'merged', ?3, NULL)
        WHERE id = ?2 AND pr_state IS NOT ?1";
    let set = sqlx::query(set).bind(state.as_str()).bind(job).bind(now);
    let news = set.execute(&mut *db).await?.rows_affected();
    if news > 0 {
        append(db, job, now, state.event()).await?;
    }
    Ok(news as usize)
}

async fn insert(db: &mut SqliteConnection, project: String, new: NewPull, now: i64) -> Result<Pull> {
    if let Some(there) = adopted(db, &project, &new).await? {
        return describe(db, &project, there, &new).await;
    }
    refuse_stopped(db, &new.job).await?;
    let row = sqlx::query(
        "INSERT INTO pulls
         SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'open', NULL, ?9
         FROM pulls WHERE project = ?1 RETURNING *",
    )
    .bind(project)
    .bind(new.job)
    .bind(new.title)
    .bind(new.body)
    .bind(new.head)
    .bind(new.base)
    .bind(new.head_commit)
    .bind(new.base_commit)
    .bind(now)
    .fetch_one(db)
    .await?;
    pull(&row)
}

/// A follow-up adds what it did to what its pull request says; saying it twice changes nothing.
async fn describe(db: &mut SqliteConnection, project: &str, there: Pull, new: &NewPull) -> Result<Pull> {
    if there.job != new.job || there.state != PullState::Open || there.body.contains(&new.body) {
        return Ok(there);
    }
    let body = format!("{}\n\n## Then\n\n{}", there.body, new.body);
    sqlx::query("UPDATE pulls SET body = ? WHERE project = ? AND number = ?")
        .bind(&body)
        .bind(project)
        .bind(there.number as i64)
        .execute(db)
        .await?;
    Ok(Pull { body, ..there })
}

/// A job that is archived, or is to be, opens nothing any more, however late it comes.
async fn refuse_stopped(db: &mut SqliteConnection, job: &str) -> Result<()> {
    let stopped = sqlx::query(
        "SELECT 1 FROM jobs WHERE id = ? AND (status = 'archived' OR archive_asked_at IS NOT NULL)",
    );
    match stopped.bind(job).fetch_optional(db).await? {
        Some(_) => Err(StoreError::LeaseLost(JobId(job.to_owned()))),
        None => Ok(()),
    }
}

async fn adopted(db: &mut SqliteConnection, project: &str, new: &NewPull) -> Result<Option<Pull>> {
    let row = sqlx::query(
        "SELECT * FROM pulls WHERE project = ? AND head = ? AND (job = ? OR state = 'open')
         ORDER BY job = ?3 DESC, number LIMIT 1",
    )
    .bind(project)
    .bind(&new.head)
    .bind(&new.job)
    .fetch_optional(db)
    .await?;
    row.as_ref().map(pull).transpose()
}

fn merge(row: &SqliteRow) -> Result<Merge> {
    Ok(Merge {
        at: time(row, "merged_at")?,
        job: JobId(row.try_get("id")?),
        title: row.try_get("title")?,
        link: row.try_get("pr_link")?,
    })
}

fn pull(row: &SqliteRow) -> Result<Pull> {
    Ok(Pull {
        number: row.try_get::<i64, _>("number")?.unsigned_abs(),
        job: row.try_get("job")?,
        title: row.try_get("title")?,
        body: row.try_get("body")?,
        head: row.try_get("head")?,
        base: row.try_get("base")?,
        head_commit: row.try_get("head_commit")?,
        base_commit: row.try_get("base_commit")?,
        state: PullState::from_db(row.try_get("state")?).ok_or_else(|| damaged("a pull request's state"))?,
        merge_commit: row.try_get("merge_commit")?,
        created_at: time(row, "created_at")?,
    })
}
