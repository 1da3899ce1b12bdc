use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::jobs::append;
use super::{PostgresStore, now, number, text, time, write};
use crate::kept::damaged;
use crate::pull::each_once;
use crate::{JobId, Merge, NewPull, ProjectId, Pull, PullState, Pulls, Result, StoreError};

#[async_trait]
impl Pulls for PostgresStore {
    async fn open_pull(&self, project: &ProjectId, new: &NewPull) -> Result<Pull> {
        write(|| self.open_one(project, new)).await
    }

    async fn pull(&self, project: &ProjectId, number: u64) -> Result<Option<Pull>> {
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        let find = sqlx::query("SELECT * FROM pulls WHERE project = $1 AND number = $2");
        self.row(find.bind(text(&project.0)).bind(number)).await?.as_ref().map(pull).transpose()
    }

    async fn pulls_by_head(&self, project: &ProjectId, head: &str) -> Result<Vec<Pull>> {
        let find = sqlx::query("SELECT * FROM pulls WHERE project = $1 AND head = $2 ORDER BY number");
        self.rows(find.bind(&project.0).bind(text(head))).await?.iter().map(pull).collect()
    }

    async fn pulls(&self, project: &ProjectId, limit: u32) -> Result<Vec<Pull>> {
        let list = sqlx::query("SELECT * FROM pulls WHERE project = $1 ORDER BY number DESC LIMIT $2");
        self.rows(list.bind(text(&project.0)).bind(i64::from(limit))).await?.iter().map(pull).collect()
    }

    async fn settle_pull(
        &self,
        project: &ProjectId,
        number: u64,
        state: PullState,
        head_commit: &str,
        merge_commit: Option<&str>,
    ) -> Result<bool> {
        let settled = write(|| async {
            let mut tx = self.begin().await?;
            let settle = "UPDATE pulls SET state = $1, head_commit = $2, merge_commit = $3
                WHERE project = $4 AND number = $5 AND state = 'open' RETURNING job";
            let settle = sqlx::query_scalar(settle)
                .bind(state.as_str())
                .bind(head_commit)
                .bind(merge_commit)
                .bind(&project.0)
                .bind(number as i64);
            let job: Option<String> = settle.fetch_optional(&mut *tx).await?;
            if let Some(job) = &job {
                tell(&mut tx, &JobId(job.clone()), state).await?;
            }
            tx.commit().await?;
            Ok(job.is_some())
        });
        let settled = settled.await;
        self.ring();
        settled
    }

    async fn note_pull(&self, project: &ProjectId, link: &str, state: PullState) -> Result<usize> {
        let noted = write(|| async {
            let mut tx = self.begin().await?;
            let ids = "SELECT id FROM jobs WHERE project = $1 AND pr_link = $2 ORDER BY id";
            let ids = sqlx::query_scalar(ids).bind(text(&project.0)).bind(text(link));
            let ids: Vec<String> = ids.fetch_all(&mut *tx).await?;
            let mut told = 0;
            for id in ids {
                told += tell(&mut tx, &JobId(id), state).await?;
            }
            tx.commit().await?;
            Ok(told)
        });
        let noted = noted.await;
        self.ring();
        noted
    }

    async fn merges(
        &self,
        project: &ProjectId,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Merge>> {
        let find = sqlx::query(
            "SELECT id, merged_at, pr_link, coalesce(title, '') AS title FROM jobs
             LEFT JOIN job_changes ON job_changes.job = jobs.id
             WHERE project = $1 AND merged_at >= $2 AND merged_at < $3 AND pr_link IS NOT NULL
             ORDER BY merged_at, id LIMIT $4",
        );
        let find = find.bind(text(&project.0)).bind(from.as_millisecond()).bind(to.as_millisecond());
        let rows = self.rows(find.bind(i64::from(limit))).await?;
        Ok(each_once(rows.iter().map(merge).collect::<Result<_>>()?))
    }
}

impl PostgresStore {
    /// For those who watch the job, and for whoever looked for work while it was locked and passed it over.
    fn ring(&self) {
        self.bells.news();
        self.bells.work();
    }

    async fn open_one(&self, project: &ProjectId, new: &NewPull) -> Result<Pull> {
        let mut tx = self.begin().await?;
        // A project's pull requests are numbered and looked through one at a time.
        let turn = sqlx::query("SELECT 1 FROM projects WHERE id = $1 FOR NO KEY UPDATE");
        turn.bind(&project.0).execute(&mut *tx).await?;
        let pull = match adopted(&mut tx, project, new).await? {
            Some(there) => describe(&mut tx, project, there, new).await?,
            None => {
                refuse_stopped(&mut tx, &new.job).await?;
                insert(&mut tx, project, new).await?
            }
        };
        tx.commit().await?;
        Ok(pull)
    }
}

/// Tells the job what became of its pull request; 0 when it is known. Of two who bring the same
/// news, the second waits for the first, and then looks again.
async fn tell(db: &mut PgConnection, job: &JobId, state: PullState) -> Result<usize> {
    let now = now(db).await?;
    let set = "UPDATE jobs SET pr_state = $1, merged_at = CASE WHEN $1 = 'merged' THEN $3 END
        WHERE id = $2 AND pr_state IS DISTINCT FROM $1";
    let set = sqlx::query(set).bind(state.as_str()).bind(&job.0).bind(now);
    let news = set.execute(&mut *db).await?.rows_affected();
    if news > 0 {
        append(db, job, now, &state.event()).await?;
    }
    Ok(news as usize)
}

async fn insert(db: &mut PgConnection, project: &ProjectId, new: &NewPull) -> Result<Pull> {
    let now = now(db).await?;
    let row = sqlx::query(
        "INSERT INTO pulls
         SELECT $1, 1 + coalesce(max(number), 0), $2, $3, $4, $5, $6, $7, $8, 'open', NULL, $9
         FROM pulls WHERE project = $1 RETURNING *",
    )
    .bind(&project.0)
    .bind(&new.job)
    .bind(text(&new.title))
    .bind(text(&new.body))
    .bind(&new.head)
    .bind(&new.base)
    .bind(&new.head_commit)
    .bind(&new.base_commit)
    .bind(now)
    .fetch_one(db)
    .await?;
    pull(&row)
}

/// A follow-up adds what it did to what its pull request says; saying it twice changes nothing.
async fn describe(db: &mut PgConnection, project: &ProjectId, there: Pull, new: &NewPull) -> Result<Pull> {
    let more = text(&new.body);
    if there.job != new.job || there.state != PullState::Open || there.body.contains(&*more) {
        return Ok(there);
    }
    let body = format!("{}\n\n## Then\n\n{more}", there.body);
    sqlx::query("UPDATE pulls SET body = $1 WHERE project = $2 AND number = $3")
        .bind(&body)
        .bind(&project.0)
        .bind(there.number as i64)
        .execute(db)
        .await?;
    Ok(Pull { body, ..there })
}

/// A job that is archived, or is to be, opens nothing any more, however late it comes. The lock
/// keeps an archive from coming between the look and the pull request.
async fn refuse_stopped(db: &mut PgConnection, job: &str) -> Result<()> {
    let stopped =
        "SELECT status = 'archived' OR archive_asked_at IS NOT NULL FROM jobs WHERE id = $1 FOR SHARE";
    match sqlx::query_scalar(stopped).bind(job).fetch_optional(db).await? {
        Some(true) => Err(StoreError::LeaseLost(JobId(job.to_owned()))),
        _ => Ok(()),
    }
}

async fn adopted(db: &mut PgConnection, project: &ProjectId, new: &NewPull) -> Result<Option<Pull>> {
    let row = sqlx::query(
        "SELECT * FROM pulls WHERE project = $1 AND head = $2 AND (job = $3 OR state = 'open')
         ORDER BY job = $3 DESC, number LIMIT 1 FOR UPDATE",
    )
    .bind(&project.0)
    .bind(&new.head)
    .bind(&new.job)
    .fetch_optional(db)
    .await?;
    row.as_ref().map(pull).transpose()
}

fn merge(row: &PgRow) -> Result<Merge> {
    Ok(Merge {
        at: time(row, "merged_at")?,
        job: JobId(row.try_get("id")?),
        title: row.try_get("title")?,
        link: row.try_get("pr_link")?,
    })
}

fn pull(row: &PgRow) -> Result<Pull> {
    Ok(Pull {
        number: number(row, "number")?,
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
