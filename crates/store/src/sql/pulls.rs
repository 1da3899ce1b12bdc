//! Pull requests of the embedded host, and the state of any job's pull request.

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;

use super::jobs::append;
use super::{Backend, Connection, FromRow, Row, sql};
use crate::encoding::damaged;
use crate::pull::unique_by_link;
use crate::{JobId, Merge, NewPull, ProjectId, Pull, PullState, Pulls, Result, StoreError};

macro_rules! columns {
    () => {
        "number, job, title, body, head, base, head_commit, base_commit, state, merge_commit, created_at"
    };
}

#[async_trait]
impl<B: Backend> Pulls for B {
    async fn open_pull(&self, project: &ProjectId, new: &NewPull) -> Result<Pull> {
        let input = (project.clone(), new.clone());
        self.transaction(input, |db, (project, new)| open(db, project, new).boxed()).await
    }

    async fn pull(&self, project: &ProjectId, number: u64) -> Result<Option<Pull>> {
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        let find = sql(concat!("SELECT ", columns!(), " FROM pulls WHERE project = $1 AND number = $2"));
        self.optional(find.bind(&project.0).bind(number)).await
    }

    async fn pulls_by_head(&self, project: &ProjectId, head: &str) -> Result<Vec<Pull>> {
        let find =
            concat!("SELECT ", columns!(), " FROM pulls WHERE project = $1 AND head = $2 ORDER BY number");
        self.all(sql(find).bind(&project.0).bind(head)).await
    }

    async fn pulls(&self, project: &ProjectId, limit: u32) -> Result<Vec<Pull>> {
        let list =
            concat!("SELECT ", columns!(), " FROM pulls WHERE project = $1 ORDER BY number DESC LIMIT $2");
        self.all(sql(list).bind(&project.0).bind(limit)).await
    }

    async fn close_or_merge_pull(
        &self,
        project: &ProjectId,
        number: u64,
        state: PullState,
        head_commit: &str,
        merge_commit: Option<&str>,
    ) -> Result<bool> {
        let settle = sql("UPDATE pulls SET state = $1, head_commit = $2, merge_commit = $3
             WHERE project = $4 AND number = $5 AND state = 'open' RETURNING job")
        .bind(state.as_str())
        .bind(head_commit)
        .bind(merge_commit)
        .bind(&project.0)
        .bind(number as i64);
        let result = self
            .transaction((settle, project.clone(), state), |db, (settle, project, state)| {
                async move {
                    let Some(row) = db.row(settle.clone()).await? else { return Ok(false) };
                    let job: String = row.get("job")?;
                    // Other jobs of the project can have its link, too.
                    let jobs = sql("SELECT id FROM jobs WHERE id = $1 UNION
                         SELECT id FROM jobs WHERE project = $2
                           AND pr_link = (SELECT pr_link FROM jobs WHERE id = $1) ORDER BY id");
                    for row in db.rows(jobs.bind(&job).bind(&project.0)).await? {
                        set_state(db, &JobId(row.get("id")?), *state).await?;
                    }
                    Ok(true)
                }
                .boxed()
            })
            .await;
        notify(self);
        result
    }

    async fn record_pull_state(&self, project: &ProjectId, link: &str, state: PullState) -> Result<usize> {
        let jobs = sql("SELECT id FROM jobs WHERE project = $1 AND pr_link = $2 ORDER BY id");
        let jobs = jobs.bind(&project.0).bind(link);
        let result = self
            .transaction((jobs, state), |db, (jobs, state)| {
                async move {
                    let mut changed = 0;
                    for row in db.rows(jobs.clone()).await? {
                        changed += set_state(db, &JobId(row.get("id")?), *state).await?;
                    }
                    Ok(changed)
                }
                .boxed()
            })
            .await;
        notify(self);
        result
    }

    async fn merges(
        &self,
        project: &ProjectId,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Merge>> {
        let find = sql("SELECT id, merged_at, pr_link, coalesce(title, '') AS title FROM jobs
             LEFT JOIN job_changes ON job_changes.job = jobs.id
             WHERE project = $1 AND merged_at >= $2 AND merged_at < $3 AND pr_link IS NOT NULL
             ORDER BY merged_at, id LIMIT $4");
        let find = find.bind(&project.0).bind(from.as_millisecond()).bind(to.as_millisecond()).bind(limit);
        Ok(unique_by_link(self.all(find).await?))
    }

    async fn merged_at(&self, project: &ProjectId, job: &JobId) -> Result<Option<Timestamp>> {
        let find = sql("SELECT merged_at FROM jobs WHERE project = $1 AND id = $2");
        let row = self.row(find.bind(&project.0).bind(&job.0)).await?;
        row.map_or(Ok(None), |row| row.time_or_none("merged_at"))
    }
}

/// Wakes those who watch the job, and workers that skipped it because its row was locked.
fn notify(store: &impl Backend) {
    store.notify_events();
    store.notify_work();
}

/// Sets the state of a job's pull request and adds an event; 0 when the job has this state already. Of two concurrent
/// calls with the same state, the second waits for the row and then changes nothing.
async fn set_state(db: &mut Connection<'_>, job: &JobId, state: PullState) -> Result<usize> {
    let now = db.now().await?;
    let set = sql("UPDATE jobs SET pr_state = $1, merged_at = CASE WHEN $1 = 'merged' THEN $3 END
         WHERE id = $2 AND pr_state IS DISTINCT FROM $1");
    let changed = db.execute(set.bind(state.as_str()).bind(&job.0).bind(now)).await?;
    if changed > 0 {
        append(db, job, now, &state.event()).await?;
        // The docs and the findings changed, too.
        let hasten = sql("UPDATE project_chores SET due_at = 0
             WHERE project = (SELECT project FROM jobs WHERE id = $1)");
        db.execute(hasten.bind(&job.0)).await?;
    }
    Ok(changed as usize)
}

/// May return an existing pull request with the same head, even another job's if it is open. The lock of the project's
/// row serializes the numbering.
async fn open(db: &mut Connection<'_>, project: &ProjectId, new: &NewPull) -> Result<Pull> {
    db.lock(sql("SELECT id FROM projects WHERE id = $1 FOR NO KEY UPDATE").bind(&project.0)).await?;
    let find = concat!(
        "SELECT ",
        columns!(),
        " FROM pulls WHERE project = $1 AND head = $2 AND (job = $3 OR state = 'open')
         ORDER BY job = $3 DESC, number LIMIT 1 FOR UPDATE"
    );
    let find = sql(find).bind(&project.0).bind(&new.head).bind(&new.job);
    if let Some(existing) = db.optional(find).await? {
        return extend_body(db, project, existing, new).await;
    }
    refuse_archived(db, &new.job).await?;
    let insert = concat!(
        "INSERT INTO pulls (project, number, job, title, body, head, base, head_commit, base_commit, state, created_at)
         SELECT $1, 1 + coalesce(max(number), 0), $2, $3, $4, $5, $6, $7, $8, 'open', docwright_now_ms()
         FROM pulls WHERE project = $1 RETURNING ",
        columns!()
    );
    let insert = sql(insert)
        .bind(&project.0)
        .bind(&new.job)
        .bind(&new.title)
        .bind(&new.body)
        .bind(&new.head)
        .bind(&new.base)
        .bind(&new.head_commit)
        .bind(&new.base_commit);
    db.optional(insert).await?.ok_or_else(|| damaged("a pull request"))
}

/// Appends a follow-up's description to the pull request of its job, once.
async fn extend_body(
    db: &mut Connection<'_>,
    project: &ProjectId,
    existing: Pull,
    new: &NewPull,
) -> Result<Pull> {
    let addition = db.stored_text(&new.body);
    if existing.job != new.job || existing.state != PullState::Open || existing.body.contains(&addition) {
        return Ok(existing);
    }
    let body = format!("{}\n\n## Then\n\n{addition}", existing.body);
    let update = sql("UPDATE pulls SET body = $1 WHERE project = $2 AND number = $3");
    db.execute(update.bind(&body).bind(&project.0).bind(existing.number as i64)).await?;
    Ok(Pull { body, ..existing })
}

/// A job that is archived, or about to be, opens no pull request. The lock blocks concurrent archiving.
/// Archiving voids the lease, hence `LeaseLost`.
async fn refuse_archived(db: &mut Connection<'_>, job: &str) -> Result<()> {
    let find = sql("SELECT status = 'archived' OR archive_asked_at IS NOT NULL AS is_archived
         FROM jobs WHERE id = $1 FOR SHARE");
    match db.row(find.bind(job)).await?.map(|row| row.get("is_archived")).transpose()? {
        Some(true) => Err(StoreError::LeaseLost(JobId(job.to_owned()))),
        _ => Ok(()),
    }
}

impl FromRow for Merge {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            at: row.time("merged_at")?,
            job: JobId(row.get("id")?),
            title: row.get("title")?,
            link: row.get("pr_link")?,
        })
    }
}

impl FromRow for Pull {
    fn from_row(row: &Row) -> Result<Self> {
        let state = PullState::parse(row.get("state")?);
        Ok(Self {
            number: row.number("number")?,
            job: row.get("job")?,
            title: row.get("title")?,
            body: row.get("body")?,
            head: row.get("head")?,
            base: row.get("base")?,
            head_commit: row.get("head_commit")?,
            base_commit: row.get("base_commit")?,
            state: state.ok_or_else(|| damaged("a pull request's state"))?,
            merge_commit: row.get("merge_commit")?,
            created_at: row.time("created_at")?,
        })
    }
}
