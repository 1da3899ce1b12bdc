use std::time::Duration;

use async_trait::async_trait;
use base::Cutoff;
use sqlx::{PgConnection, Row};
use tokio::time::timeout;

use super::jobs::job;
use super::{ACQUIRE, PostgresStore, text, write};
use crate::kept::end_of;
use crate::terms::HOUR;
use crate::upkeep::{BRANCH_AGAIN, BRANCH_TRIES, PIECE, REST, TRIMMED};
use crate::{Job, JobId, OrganizationId, ProjectId, Result, Upkeep};

#[async_trait]
impl Upkeep for PostgresStore {
    async fn checkpoint(&self) -> Result<bool> {
        Ok(true)
    }

    async fn probe_write(&self) -> Result<()> {
        let write = sqlx::query(
            "INSERT INTO rates VALUES ('ready', docwright_now_ms() / $1, 1)
             ON CONFLICT (bucket) DO UPDATE SET hour = excluded.hour",
        );
        self.execute(write.bind(HOUR)).await.map(drop)
    }

    async fn trim(&self, after: Duration) -> Result<bool> {
        let Cutoff { before, kept_from, kept_to } = self.guard.database_cutoff(self.now().await?, after);
        let old = sqlx::query(
            "SELECT id FROM jobs WHERE status <> 'active' AND NOT trimmed
               AND coalesce(archived_at, ended_at) <= $1
               AND NOT coalesce(archived_at, ended_at) BETWEEN $2 AND $3 LIMIT $4",
        );
        let old = old.bind(before).bind(kept_from).bind(kept_to).bind(i64::from(PIECE));
        let rows = self.rows(old).await?;
        for row in &rows {
            let id: String = row.try_get("id")?;
            write(|| self.trim_one(&id)).await?;
        }
        Ok(rows.len() == PIECE as usize)
    }

    async fn next_settled(&self, after: Duration) -> Result<Option<Job>> {
        let Cutoff { before, kept_from, kept_to } = self.guard.database_cutoff(self.now().await?, after);
        let next = sqlx::query(
            "UPDATE jobs SET put_off = put_off + 1, not_before = docwright_now_ms() + $4,
                             branch_gone = put_off + 1 >= $5
             WHERE id = (
               SELECT id FROM jobs
               WHERE status <> 'active' AND pr_state <> 'open' AND NOT adopts AND NOT branch_gone
                 AND coalesce(archived_at, ended_at) <= $1
                 AND NOT coalesce(archived_at, ended_at) BETWEEN $2 AND $3
                 AND coalesce(not_before, 0) <= (SELECT docwright_now_ms())
               LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING *",
        );
        let next = next.bind(before).bind(kept_from).bind(kept_to);
        let next = next.bind(end_of(BRANCH_AGAIN, 0)).bind(i64::from(BRANCH_TRIES));
        self.row(next).await?.as_ref().map(job).transpose()
    }

    async fn branch_is_gone(&self, id: &JobId) -> Result<()> {
        let gone = sqlx::query("UPDATE jobs SET branch_gone = true WHERE id = $1").bind(&id.0);
        self.execute(gone).await.map(drop)
    }

    async fn delete_project(&self, id: &ProjectId) -> Result<bool> {
        let deleted = write(|| async {
            let mut tx = self.begin().await?;
            let deleted = delete_project(&mut tx, &id.0).await?;
            tx.commit().await?;
            Ok(deleted)
        });
        let deleted = deleted.await;
        self.bells.work();
        deleted
    }

    async fn delete_organization(&self, id: &OrganizationId) -> Result<bool> {
        let deleted = write(|| async {
            let mut tx = self.begin().await?;
            let deleted = delete_organization(&mut tx, &id.0).await?;
            tx.commit().await?;
            Ok(deleted)
        });
        let deleted = deleted.await;
        self.bells.work();
        deleted
    }

    async fn to_purge(&self) -> Result<Vec<ProjectId>> {
        let ids = sqlx::query(
            "SELECT projects.id FROM deletions JOIN projects ON projects.id = deletions.id
             WHERE at <= docwright_now_ms() - $1",
        );
        let rows = self.rows(ids.bind(end_of(REST, 0))).await?;
        rows.iter().map(|row| Ok(ProjectId(row.try_get("id")?))).collect()
    }

    async fn purge_jobs(&self, id: &ProjectId) -> Result<bool> {
        let some = sqlx::query(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE project = $1 LIMIT $2)
               AND EXISTS (SELECT 1 FROM deletions WHERE id = $1)",
        );
        Ok(self.execute(some.bind(&id.0).bind(i64::from(PIECE))).await? == u64::from(PIECE))
    }

    async fn purge_project(&self, id: &ProjectId) -> Result<()> {
        write(|| async {
            let mut tx = self.begin().await?;
            purge_project(&mut tx, &id.0).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    async fn close(&self) {
        // A query that still runs is not waited for any longer: its connection ends with the process.
        let _ = timeout(ACQUIRE, self.pool.close()).await;
    }
}

impl PostgresStore {
    async fn trim_one(&self, id: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let mark = "UPDATE jobs SET trimmed = true WHERE id = $1 AND status <> 'active'";
        if sqlx::query(mark).bind(id).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(()); // a follow-up came
        }
        sqlx::query("DELETE FROM conversation WHERE job = $1").bind(id).execute(&mut *tx).await?;
        let steps = "UPDATE job_events SET data = $1 WHERE job = $2
            AND kind NOT IN ('created', 'started', 'message', 'ended', 'archived', 'pull_request')";
        sqlx::query(steps).bind(TRIMMED).bind(id).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

async fn delete_project(db: &mut PgConnection, id: &str) -> Result<bool> {
    let mark = "INSERT INTO deletions SELECT id, docwright_now_ms() FROM projects WHERE id = $1
        ON CONFLICT DO NOTHING";
    if sqlx::query(mark).bind(text(id)).execute(&mut *db).await?.rows_affected() == 0 {
        return Ok(false);
    }
    for statement in [
        "UPDATE jobs SET archive_asked_at = coalesce(archive_asked_at, docwright_now_ms())
         WHERE project = $1 AND status = 'active'",
        "DELETE FROM secrets WHERE owner = $1",
        // A key for it alone is for nothing now; one for others, too, is for those.
        "DELETE FROM keys WHERE projects::jsonb = jsonb_build_array($1::text)",
        "UPDATE keys SET projects = (projects::jsonb - $1::text)::text
         WHERE projects::jsonb @> jsonb_build_array($1::text)",
    ] {
        sqlx::query(statement).bind(id).execute(&mut *db).await?;
    }
    Ok(true)
}

async fn delete_organization(db: &mut PgConnection, id: &str) -> Result<bool> {
    let mark = "INSERT INTO deletions SELECT id, docwright_now_ms() FROM organizations WHERE id = $1
        ON CONFLICT DO NOTHING";
    if sqlx::query(mark).bind(text(id)).execute(&mut *db).await?.rows_affected() == 0 {
        return Ok(false);
    }
    let projects = sqlx::query_scalar("SELECT id FROM projects WHERE organization = $1 ORDER BY id");
    let projects: Vec<String> = projects.bind(id).fetch_all(&mut *db).await?;
    for project in &projects {
        delete_project(db, project).await?;
    }
    for statement in [
        "DELETE FROM keys WHERE organization = $1",
        "DELETE FROM sessions WHERE organization = $1",
        "DELETE FROM login_links WHERE organization = $1",
        "DELETE FROM people WHERE organization = $1",
        "DELETE FROM invites WHERE organization = $1",
        "DELETE FROM deeds WHERE organization = $1",
        "DELETE FROM rates WHERE bucket LIKE '% ' || $1",
        "UPDATE organizations SET name = 'deleted ' || id WHERE id = $1",
    ] {
        sqlx::query(statement).bind(id).execute(&mut *db).await?;
    }
    end_organization(db, id).await?;
    Ok(true)
}

async fn purge_project(db: &mut PgConnection, id: &str) -> Result<()> {
    let delete = "DELETE FROM projects WHERE id = $1 AND EXISTS (SELECT 1 FROM deletions WHERE id = $1)
        RETURNING organization";
    let organization: Option<String> = sqlx::query_scalar(delete).bind(id).fetch_optional(&mut *db).await?;
    let Some(organization) = organization else { return Ok(()) };
    for statement in [
        "DELETE FROM secrets WHERE owner = $1",
        "DELETE FROM rates WHERE bucket LIKE '% ' || $1",
        "DELETE FROM deletions WHERE id = $1",
    ] {
        sqlx::query(statement).bind(id).execute(&mut *db).await?;
    }
    end_organization(db, &organization).await
}

/// One that was deleted goes with the last of its projects.
async fn end_organization(db: &mut PgConnection, id: &str) -> Result<()> {
    let end = "DELETE FROM organizations WHERE id = $1 AND EXISTS (SELECT 1 FROM deletions WHERE id = $1)
        AND NOT EXISTS (SELECT 1 FROM projects WHERE organization = $1)";
    if sqlx::query(end).bind(id).execute(&mut *db).await?.rows_affected() > 0 {
        sqlx::query("DELETE FROM deletions WHERE id = $1").bind(id).execute(db).await?;
    }
    Ok(())
}
