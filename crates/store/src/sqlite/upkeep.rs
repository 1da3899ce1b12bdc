use std::time::Duration;

use async_trait::async_trait;
use base::Cutoff;
use futures_util::FutureExt;
use sqlx::SqliteConnection;

use super::SqliteStore;
use super::jobs::job;
use crate::kept::end_of;
use crate::upkeep::{BRANCH_AGAIN, BRANCH_TRIES, PIECE, REST, TRIMMED};
use crate::{Job, JobId, OrganizationId, ProjectId, Result, StoreError, Upkeep};

#[async_trait]
impl Upkeep for SqliteStore {
    async fn checkpoint(&self) -> Result<bool> {
        Ok(self.db.checkpoint().await?)
    }

    async fn probe_write(&self) -> Result<()> {
        self.db.probe_write().await.map_err(|error| match error.trouble {
            Some(trouble) => StoreError::Machine(trouble),
            None => StoreError::Database(error.message),
        })
    }

    async fn trim(&self, after: Duration) -> Result<bool> {
        let Cutoff { before, kept_from, kept_to } = self.guard.cutoff(after);
        let old = sqlx::query_scalar(
            "SELECT id FROM jobs INDEXED BY jobs_to_trim
             WHERE status <> 'active' AND trimmed = 0 AND coalesce(archived_at, ended_at) <= ?
               AND NOT coalesce(archived_at, ended_at) BETWEEN ? AND ? LIMIT ?",
        );
        let old = old.bind(before).bind(kept_from).bind(kept_to).bind(PIECE);
        let ids: Vec<String> = old.fetch_all(self.db.reads()).await?;
        let are_more = ids.len() == PIECE as usize;
        for id in ids {
            self.db.write(move |db| trim(db, id).boxed()).await?;
        }
        Ok(are_more)
    }

    async fn next_settled(&self, after: Duration) -> Result<Option<Job>> {
        let (Cutoff { before, kept_from, kept_to }, now) = (self.guard.cutoff(after), self.clock.now_ms());
        let next = "SELECT id FROM jobs INDEXED BY jobs_settled
            WHERE status <> 'active' AND pr_state <> 'open' AND adopts = 0 AND branch_gone = 0
              AND coalesce(archived_at, ended_at) <= ? AND NOT coalesce(archived_at, ended_at) BETWEEN ? AND ?
              AND coalesce(not_before, 0) <= ? LIMIT 1";
        let next = sqlx::query_scalar(next).bind(before).bind(kept_from).bind(kept_to).bind(now);
        let next: Option<String> = next.fetch_optional(self.db.reads()).await?;
        let Some(id) = next else { return Ok(None) };
        let take = "UPDATE jobs SET put_off = put_off + 1, not_before = ?, branch_gone = put_off + 1 >= ?
            WHERE id = ? AND status <> 'active' RETURNING *";
        let take = sqlx::query(take).bind(end_of(BRANCH_AGAIN, now)).bind(BRANCH_TRIES).bind(id);
        let row = self
            .db
            .write(|db| async move { Ok::<_, StoreError>(take.fetch_optional(db).await?) }.boxed())
            .await?;
        row.as_ref().map(job).transpose()
    }

    async fn branch_is_gone(&self, id: &JobId) -> Result<()> {
        let gone = sqlx::query("UPDATE jobs SET branch_gone = 1 WHERE id = ?").bind(id.0.clone());
        self.execute(gone).await.map(drop)
    }

    async fn delete_project(&self, id: &ProjectId) -> Result<bool> {
        let (id, now) = (id.0.clone(), self.clock.now_ms());
        let deleted =
            self.db.write(move |db| async move { delete_project(db, &id, now).await }.boxed()).await;
        self.work.notify_one();
        deleted
    }

    async fn delete_organization(&self, id: &OrganizationId) -> Result<bool> {
        let (id, now) = (id.0.clone(), self.clock.now_ms());
        let deleted =
            self.db.write(move |db| async move { delete_organization(db, &id, now).await }.boxed()).await;
        self.work.notify_one();
        deleted
    }

    async fn to_purge(&self) -> Result<Vec<ProjectId>> {
        let before = self.clock.now_ms().saturating_sub(end_of(REST, 0));
        let ids = sqlx::query_scalar(
            "SELECT projects.id FROM deletions JOIN projects ON projects.id = deletions.id WHERE at <= ?",
        );
        let ids: Vec<String> = ids.bind(before).fetch_all(self.db.reads()).await?;
        Ok(ids.into_iter().map(ProjectId).collect())
    }

    async fn purge_jobs(&self, id: &ProjectId) -> Result<bool> {
        let some = sqlx::query(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE project = ?1 LIMIT ?2)
               AND EXISTS (SELECT 1 FROM deletions WHERE id = ?1)",
        );
        Ok(self.execute(some.bind(id.0.clone()).bind(PIECE)).await? == u64::from(PIECE))
    }

    async fn purge_project(&self, id: &ProjectId) -> Result<()> {
        let id = id.0.clone();
        self.db.write(move |db| async move { purge_project(db, &id).await }.boxed()).await
    }

    async fn close(&self) {
        self.db.close().await;
    }
}

async fn trim(db: &mut SqliteConnection, id: String) -> Result<()> {
    let mark = "UPDATE jobs SET trimmed = 1 WHERE id = ? AND status <> 'active'";
    if sqlx::query(mark).bind(&id).execute(&mut *db).await?.rows_affected() == 0 {
        return Ok(()); // a follow-up came
    }
    sqlx::query("DELETE FROM conversation WHERE job = ?").bind(&id).execute(&mut *db).await?;
    let steps = "UPDATE job_events SET data = ? WHERE job = ?
        AND kind NOT IN ('created', 'started', 'message', 'ended', 'archived', 'pull_request')";
    sqlx::query(steps).bind(TRIMMED).bind(&id).execute(db).await?;
    Ok(())
}

async fn delete_project(db: &mut SqliteConnection, id: &str, now: i64) -> Result<bool> {
    let mark = "INSERT INTO deletions SELECT id, ? FROM projects WHERE id = ? ON CONFLICT DO NOTHING";
    if sqlx::query(mark).bind(now).bind(id).execute(&mut *db).await?.rows_affected() == 0 {
        return Ok(false);
    }
    let stop = "UPDATE jobs SET archive_asked_at = coalesce(archive_asked_at, ?)
        WHERE project = ? AND status = 'active'";
    sqlx::query(stop).bind(now).bind(id).execute(&mut *db).await?;
    for statement in [
        "DELETE FROM secrets WHERE owner = ?1",
        // A key for it alone is for nothing now; one for others, too, is for those.
        "DELETE FROM keys WHERE (SELECT count(*) FROM json_each(keys.projects)) = 1
           AND EXISTS (SELECT 1 FROM json_each(keys.projects) WHERE value = ?1)",
        "UPDATE keys SET projects = (SELECT json_group_array(value) FROM json_each(keys.projects) WHERE value <> ?1)
         WHERE EXISTS (SELECT 1 FROM json_each(keys.projects) WHERE value = ?1)",
    ] {
        sqlx::query(statement).bind(id).execute(&mut *db).await?;
    }
    Ok(true)
}

async fn delete_organization(db: &mut SqliteConnection, id: &str, now: i64) -> Result<bool> {
    let mark = "INSERT INTO deletions SELECT id, ? FROM organizations WHERE id = ? ON CONFLICT DO NOTHING";
    if sqlx::query(mark).bind(now).bind(id).execute(&mut *db).await?.rows_affected() == 0 {
        return Ok(false);
    }
    let projects = sqlx::query_scalar("SELECT id FROM projects WHERE organization = ?");
    let projects: Vec<String> = projects.bind(id).fetch_all(&mut *db).await?;
    for project in &projects {
        delete_project(db, project, now).await?;
    }
    for statement in [
        "DELETE FROM keys WHERE organization = ?1",
        "DELETE FROM sessions WHERE organization = ?1",
        "DELETE FROM login_links WHERE organization = ?1",
        "DELETE FROM people WHERE organization = ?1",
        "DELETE FROM invites WHERE organization = ?1",
        "DELETE FROM deeds WHERE organization = ?1",
        "DELETE FROM rates WHERE bucket LIKE '% ' || ?1",
        "UPDATE organizations SET name = 'deleted ' || id WHERE id = ?1",
    ] {
        sqlx::query(statement).bind(id).execute(&mut *db).await?;
    }
    end_organization(db, id).await?;
    Ok(true)
}

async fn purge_project(db: &mut SqliteConnection, id: &str) -> Result<()> {
    let delete = "DELETE FROM projects WHERE id = ?1 AND EXISTS (SELECT 1 FROM deletions WHERE id = ?1)
        RETURNING organization";
    let organization: Option<String> = sqlx::query_scalar(delete).bind(id).fetch_optional(&mut *db).await?;
    let Some(organization) = organization else { return Ok(()) };
    for statement in [
        "DELETE FROM secrets WHERE owner = ?1",
        "DELETE FROM rates WHERE bucket LIKE '% ' || ?1",
        "DELETE FROM deletions WHERE id = ?1",
    ] {
        sqlx::query(statement).bind(id).execute(&mut *db).await?;
    }
    end_organization(db, &organization).await
}

/// One that was deleted goes with the last of its projects.
async fn end_organization(db: &mut SqliteConnection, id: &str) -> Result<()> {
    let end = "DELETE FROM organizations WHERE id = ?1 AND EXISTS (SELECT 1 FROM deletions WHERE id = ?1)
        AND NOT EXISTS (SELECT 1 FROM projects WHERE organization = ?1)";
    if sqlx::query(end).bind(id).execute(&mut *db).await?.rows_affected() > 0 {
        sqlx::query("DELETE FROM deletions WHERE id = ?").bind(id).execute(db).await?;
    }
    Ok(())
}
