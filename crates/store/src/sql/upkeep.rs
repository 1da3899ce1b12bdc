//! Retention: trims old jobs, and deletes projects and organizations piece by piece.

use std::time::Duration;

use async_trait::async_trait;
use base::Cutoff;
use futures_util::FutureExt;

use super::jobs::job_columns;
use super::{Backend, Connection, FromRow, sql, sql_for};
use crate::encoding::milliseconds;
use crate::upkeep::{BATCH, BRANCH_RETRY_DELAY, BRANCH_TRIES, PURGE_DELAY, TRIMMED};
use crate::{Job, JobId, OrganizationId, ProjectId, Result, Upkeep};

/// Of jobs: it ended before `$1`, and not between `$2` and `$3`, when the clock was wrong.
macro_rules! ended_before {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " AND coalesce(archived_at, ended_at) <= $1
              AND NOT coalesce(archived_at, ended_at) BETWEEN $2 AND $3 ",
            $after
        )
    };
}

#[async_trait]
impl<B: Backend> Upkeep for B {
    async fn probe_write(&self) -> Result<()> {
        self.test_write().await
    }

    async fn trim(&self, after: Duration) -> Result<bool> {
        let Cutoff { before, kept_from, kept_to } = self.cutoff(after).await?;
        let old = sql_for(
            ended_before!(
                "SELECT id FROM jobs INDEXED BY jobs_to_trim WHERE status <> 'active' AND trimmed = 0",
                "LIMIT $4"
            ),
            ended_before!("SELECT id FROM jobs WHERE status <> 'active' AND NOT trimmed", "LIMIT $4"),
        );
        let rows = self.rows(old.bind(before).bind(kept_from).bind(kept_to).bind(BATCH)).await?;
        for row in &rows {
            self.transaction(row.get::<String>("id")?, |db, id| trim(db, id).boxed()).await?;
        }
        Ok(rows.len() == BATCH as usize)
    }

    async fn next_settled(&self, after: Duration) -> Result<Option<Job>> {
        let Cutoff { before, kept_from, kept_to } = self.cutoff(after).await?;
        let next = sql_for(
            ended_before!(
                "SELECT id FROM jobs INDEXED BY jobs_settled
                 WHERE status <> 'active' AND pr_state <> 'open' AND adopts = 0 AND branch_gone = 0
                   AND pr_head IS NULL",
                "AND coalesce(not_before, 0) <= docwright_now_ms() LIMIT 1"
            ),
            ended_before!(
                "SELECT id FROM jobs WHERE status <> 'active' AND pr_state <> 'open' AND NOT adopts AND NOT branch_gone
                   AND pr_head IS NULL",
                "AND coalesce(not_before, 0) <= (SELECT docwright_now_ms()) LIMIT 1"
            ),
        );
        let next = next.bind(before).bind(kept_from).bind(kept_to);
        let take = sql(concat!(
            "UPDATE jobs SET put_off = put_off + 1, not_before = docwright_now_ms() + $1,
                             branch_gone = put_off + 1 >= $2
             WHERE id = $3 AND status <> 'active' AND coalesce(not_before, 0) <= docwright_now_ms()
             RETURNING ",
            job_columns!()
        ));
        let take = take.bind(milliseconds(BRANCH_RETRY_DELAY)).bind(BRANCH_TRIES);
        while let Some(row) = self.row(next.clone()).await? {
            // No row if another server took the job meanwhile: it changed `not_before`.
            if let Some(job) = self.returning(take.clone().bind(row.get::<&str>("id")?)).await? {
                return Job::from_row(&job).map(Some);
            }
        }
        Ok(None)
    }

    async fn branch_is_gone(&self, id: &JobId) -> Result<()> {
        let gone = sql("UPDATE jobs SET branch_gone = true WHERE id = $1").bind(&id.0);
        self.execute(gone).await.map(drop)
    }

    async fn delete_project(&self, id: &ProjectId) -> Result<bool> {
        let deleted = self.transaction(id.0.clone(), |db, id| delete_project(db, id).boxed()).await;
        self.notify_work();
        deleted
    }

    async fn delete_organization(&self, id: &OrganizationId) -> Result<bool> {
        let deleted = self.transaction(id.0.clone(), |db, id| delete_organization(db, id).boxed()).await;
        self.notify_work();
        deleted
    }

    async fn to_purge(&self) -> Result<Vec<ProjectId>> {
        let ids = sql("SELECT projects.id FROM deletions JOIN projects ON projects.id = deletions.id
             WHERE at <= docwright_now_ms() - $1");
        let rows = self.rows(ids.bind(milliseconds(PURGE_DELAY))).await?;
        rows.iter().map(|row| Ok(ProjectId(row.get("id")?))).collect()
    }

    async fn purge_jobs(&self, id: &ProjectId) -> Result<bool> {
        let batch = sql("DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE project = $1 LIMIT $2)
               AND EXISTS (SELECT 1 FROM deletions WHERE id = $1)");
        Ok(self.execute(batch.bind(&id.0).bind(BATCH)).await? == u64::from(BATCH))
    }

    async fn purge_project(&self, id: &ProjectId) -> Result<()> {
        self.transaction(id.0.clone(), |db, id| purge_project(db, id).boxed()).await
    }

    async fn checkpoint(&self) -> Result<bool> {
        self.empty_log().await
    }

    async fn close(&self) {
        self.disconnect().await;
    }
}

async fn trim(db: &mut Connection<'_>, id: &str) -> Result<()> {
    let mark = sql("UPDATE jobs SET trimmed = true WHERE id = $1 AND status <> 'active'").bind(id);
    if db.execute(mark).await? == 0 {
        return Ok(()); // a follow-up came
    }
    db.execute(sql("DELETE FROM conversation WHERE job = $1").bind(id)).await?;
    let steps = sql("UPDATE job_events SET data = $1 WHERE job = $2
         AND kind NOT IN ('created', 'started', 'message', 'ended', 'archived', 'pull_request')");
    db.execute(steps.bind(TRIMMED).bind(id)).await.map(drop)
}

async fn execute_all(db: &mut Connection<'_>, id: &str, statements: &[&'static str]) -> Result<()> {
    for statement in statements {
        db.execute(sql(statement).bind(id)).await?;
    }
    Ok(())
}

async fn delete_project(db: &mut Connection<'_>, id: &str) -> Result<bool> {
    let mark = sql("INSERT INTO deletions (id, at) SELECT id, docwright_now_ms() FROM projects WHERE id = $1
         ON CONFLICT DO NOTHING");
    if db.execute(mark.bind(id)).await? == 0 {
        return Ok(false);
    }
    let stop = "UPDATE jobs SET archive_asked_at = coalesce(archive_asked_at, docwright_now_ms())
        WHERE project = $1 AND status = 'active'";
    execute_all(db, id, &[stop, "DELETE FROM secrets WHERE owner = $1"]).await?;
    let delete_keys = sql_for(
        "DELETE FROM keys WHERE (SELECT count(*) FROM json_each(keys.projects)) = 1
           AND EXISTS (SELECT 1 FROM json_each(keys.projects) WHERE value = $1)",
        "DELETE FROM keys WHERE CAST(projects AS jsonb) = jsonb_build_array(CAST($1 AS text))",
    );
    db.execute(delete_keys.bind(id)).await?;
    // A key for other projects, too, loses this one.
    let narrow_keys = sql_for(
        "UPDATE keys SET projects = (SELECT json_group_array(value) FROM json_each(keys.projects) WHERE value <> $1)
         WHERE EXISTS (SELECT 1 FROM json_each(keys.projects) WHERE value = $1)",
        "UPDATE keys SET projects = CAST(CAST(projects AS jsonb) - CAST($1 AS text) AS text)
         WHERE CAST(projects AS jsonb) @> jsonb_build_array(CAST($1 AS text))",
    );
    db.execute(narrow_keys.bind(id)).await?;
    Ok(true)
}

async fn delete_organization(db: &mut Connection<'_>, id: &str) -> Result<bool> {
    let mark =
        sql("INSERT INTO deletions (id, at) SELECT id, docwright_now_ms() FROM organizations WHERE id = $1
         ON CONFLICT DO NOTHING");
    if db.execute(mark.bind(id)).await? == 0 {
        return Ok(false);
    }
    let projects = sql("SELECT id FROM projects WHERE organization = $1 ORDER BY id").bind(id);
    for project in db.rows(projects).await? {
        delete_project(db, project.get("id")?).await?;
    }
    let statements = [
        "DELETE FROM keys WHERE organization = $1",
        "DELETE FROM sessions WHERE organization = $1",
        "DELETE FROM login_links WHERE organization = $1",
        "DELETE FROM people WHERE organization = $1",
        "DELETE FROM invites WHERE organization = $1",
        "DELETE FROM deeds WHERE organization = $1",
        "DELETE FROM rates WHERE bucket LIKE '% ' || $1",
        "UPDATE organizations SET name = 'deleted ' || id WHERE id = $1",
    ];
    execute_all(db, id, &statements).await?;
    remove_empty_organization(db, id).await?;
    Ok(true)
}

async fn purge_project(db: &mut Connection<'_>, id: &str) -> Result<()> {
    let delete = sql("DELETE FROM projects WHERE id = $1 AND EXISTS (SELECT 1 FROM deletions WHERE id = $1)
         RETURNING organization");
    let Some(row) = db.row(delete.bind(id)).await? else { return Ok(()) };
    let statements = [
        "DELETE FROM secrets WHERE owner = $1",
        "DELETE FROM rates WHERE bucket LIKE '% ' || $1",
        "DELETE FROM deletions WHERE id = $1",
    ];
    execute_all(db, id, &statements).await?;
    remove_empty_organization(db, row.get("organization")?).await
}

/// A deleted organization is removed with the last of its projects.
async fn remove_empty_organization(db: &mut Connection<'_>, id: &str) -> Result<()> {
    let remove =
        sql("DELETE FROM organizations WHERE id = $1 AND EXISTS (SELECT 1 FROM deletions WHERE id = $1)
         AND NOT EXISTS (SELECT 1 FROM projects WHERE organization = $1)");
    if db.execute(remove.bind(id)).await? > 0 {
        db.execute(sql("DELETE FROM deletions WHERE id = $1").bind(id)).await?;
    }
    Ok(())
}
