use std::sync::Arc;

use async_trait::async_trait;
use base::Clock;
use futures_util::FutureExt;
use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::{SqliteStore, time, time_or_none};
use crate::kept::{damaged, from_json, to_json};
use crate::key::is_live;
use crate::{
    Accounts, Allow, ApiKey, KeyId, KeyText, NewKey, NewProject, Organization, OrganizationId, Project,
    ProjectChange, ProjectId, Result, StoreError,
};

#[async_trait]
impl Accounts for SqliteStore {
    async fn create_organization(&self, name: &str) -> Result<Organization> {
        let new = Organization {
            id: OrganizationId::random(),
            name: name.to_owned(),
            created_at: self.clock.now(),
        };
        let insert = sqlx::query("INSERT INTO organizations VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
            .bind(new.id.0.clone())
            .bind(new.name.clone())
            .bind(new.created_at.as_millisecond());
        match self.execute(insert).await? {
            0 => Err(StoreError::Taken(format!("there is an organization named {name} already"))),
            _ => Ok(new),
        }
    }

    async fn organizations(&self) -> Result<Vec<Organization>> {
        let rows = sqlx::query(
            "SELECT * FROM organizations WHERE id NOT IN (SELECT id FROM deletions) ORDER BY created_at, id",
        )
        .fetch_all(self.db.reads())
        .await?;
        rows.iter().map(organization).collect()
    }

    async fn create_project(&self, new: &NewProject) -> Result<Project> {
        let project = new.project(self.clock.now());
        let row = project.clone();
        let insert = sqlx::query("INSERT INTO projects (id, organization, name, repository, ref, docs_path, sites, model, created_at,
                models, allow_paths, hosting) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(row.id.0)
            .bind(row.organization.0)
            .bind(row.name)
            .bind(row.repository)
            .bind(row.base_ref)
            .bind(row.docs_path)
            .bind(to_json(&row.sites))
            .bind(row.model)
            .bind(row.created_at.as_millisecond())
            .bind(to_json(&row.models))
            .bind(to_json(&row.allow_paths))
            .bind(to_json(&row.hosting));
        self.execute(insert).await?;
        Ok(project)
    }

    async fn project(&self, id: &ProjectId) -> Result<Option<Project>> {
        self.projects.read(id.clone()).await
    }

    async fn projects(&self, organization: Option<&OrganizationId>) -> Result<Vec<Project>> {
        let select = "SELECT * FROM projects WHERE (?1 IS NULL OR organization = ?1)
            AND id NOT IN (SELECT id FROM deletions) ORDER BY created_at, id";
        let rows = sqlx::query(select).bind(organization.map(|o| &o.0)).fetch_all(self.db.reads()).await?;
        rows.iter().map(project).collect()
    }

    async fn update_project(&self, id: &ProjectId, change: &ProjectChange) -> Result<Option<Project>> {
        let (id, change) = (id.clone(), change.clone());
        self.db.write(|db| update_project(db, id, change).boxed()).await
    }

    async fn create_key(&self, new: &NewKey) -> Result<(ApiKey, KeyText)> {
        let text = KeyText::random();
        let key = new.key(&text, self.clock.now());
        let row = key.clone();
        let projects = row.projects.map(|ids| to_json(&ids.into_iter().map(|id| id.0).collect::<Vec<_>>()));
        let insert = "INSERT INTO keys SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL, NULL, ?11
            WHERE ?12 IS NULL OR EXISTS (SELECT 1 FROM people WHERE organization = ?2 AND name = ?12)";
        let maker = new.maker().map(str::to_owned);
        let insert = sqlx::query(insert)
            .bind(row.id.0)
            .bind(row.organization.0)
            .bind(row.name)
            .bind(text.hash())
            .bind(row.hint)
            .bind(row.scope.as_str())
            .bind(projects)
            .bind(to_json(&row.allow.entries().collect::<Vec<_>>()))
            .bind(row.created_at.as_millisecond())
            .bind(row.expires_at.map(|at| at.as_millisecond()))
            .bind(row.creator)
            .bind(maker);
        match self.execute(insert).await? {
            0 => Err(StoreError::NotAMember(key.creator.unwrap_or_default())),
            _ => Ok((key, text)),
        }
    }

    async fn key(&self, text: &KeyText) -> Result<Option<ApiKey>> {
        self.keys.read(text.hash()).await
    }

    async fn keys(&self, organization: Option<&OrganizationId>) -> Result<Vec<ApiKey>> {
        let select = "SELECT * FROM keys WHERE ?1 IS NULL OR organization = ?1 ORDER BY created_at DESC, id";
        let rows = sqlx::query(select).bind(organization.map(|o| &o.0)).fetch_all(self.db.reads()).await?;
        rows.iter().map(|row| key(row, self.clock.now())).collect()
    }

    async fn revoke_key(&self, organization: &OrganizationId, id: &KeyId) -> Result<bool> {
        let revoke =
            "UPDATE keys SET revoked_at = ? WHERE organization = ? AND id = ? AND revoked_at IS NULL";
        let revoke =
            sqlx::query(revoke).bind(self.clock.now_ms()).bind(organization.0.clone()).bind(id.0.clone());
        let is_revoked = self.execute(revoke).await? > 0;
        self.news.notify_waiters();
        Ok(is_revoked)
    }

    async fn touch_key(&self, key: &ApiKey) -> Result<()> {
        if !key.is_news() {
            return Ok(());
        }
        let touch = sqlx::query("UPDATE keys SET last_used_at = ? WHERE id = ?")
            .bind(self.clock.now_ms())
            .bind(key.id.0.clone());
        self.execute(touch).await.map(|_| ())
    }
}

pub(super) async fn key_of(
    reads: SqlitePool,
    hash: Vec<u8>,
    clock: Arc<dyn Clock>,
) -> Result<Option<ApiKey>> {
    let row = sqlx::query("SELECT * FROM keys WHERE hash = ?").bind(hash).fetch_optional(&reads).await?;
    row.map(|row| key(&row, clock.now())).transpose()
}

pub(super) async fn project_of(reads: SqlitePool, id: ProjectId) -> Result<Option<Project>> {
    let find = "SELECT * FROM projects WHERE id = ? AND id NOT IN (SELECT id FROM deletions)";
    let row = sqlx::query(find).bind(id.0).fetch_optional(&reads).await?;
    row.as_ref().map(project).transpose()
}

async fn update_project(
    db: &mut SqliteConnection,
    id: ProjectId,
    change: ProjectChange,
) -> Result<Option<Project>> {
    let found = sqlx::query("SELECT * FROM projects WHERE id = ? AND id NOT IN (SELECT id FROM deletions)")
        .bind(id.0)
        .fetch_optional(&mut *db)
        .await?;
    let Some(row) = found else { return Ok(None) };
    let mut project = project(&row)?;
    change.apply(&mut project);
    let update = "UPDATE projects SET name = ?, repository = ?, ref = ?, docs_path = ?, sites = ?, model = ?,
        models = ?, allow_paths = ?, hosting = ?, human_reads = ? WHERE id = ?";
    sqlx::query(update)
        .bind(&project.name)
        .bind(&project.repository)
        .bind(&project.base_ref)
        .bind(&project.docs_path)
        .bind(to_json(&project.sites))
        .bind(&project.model)
        .bind(to_json(&project.models))
        .bind(to_json(&project.allow_paths))
        .bind(to_json(&project.hosting))
        .bind(project.human_reads.as_str())
        .bind(&project.id.0)
        .execute(db)
        .await?;
    Ok(Some(project))
}

fn organization(row: &SqliteRow) -> Result<Organization> {
    Ok(Organization {
        id: OrganizationId(row.try_get("id")?),
        name: row.try_get("name")?,
        created_at: time(row, "created_at")?,
    })
}

fn project(row: &SqliteRow) -> Result<Project> {
    Ok(Project {
        id: ProjectId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        name: row.try_get("name")?,
        repository: row.try_get("repository")?,
        hosting: from_json(row.try_get("hosting")?)?,
        base_ref: row.try_get("ref")?,
        docs_path: row.try_get("docs_path")?,
        sites: from_json(row.try_get("sites")?)?,
        model: row.try_get("model")?,
        models: from_json(row.try_get("models")?)?,
        allow_paths: from_json(row.try_get("allow_paths")?)?,
        human_reads: row.try_get::<&str, _>("human_reads")?.parse().map_err(|_| damaged("human reads"))?,
        created_at: time(row, "created_at")?,
    })
}

fn key(row: &SqliteRow, now: Timestamp) -> Result<ApiKey> {
    let allow: Vec<String> = from_json(row.try_get("allow")?)?;
    let projects: Option<Vec<String>> =
        row.try_get::<Option<&str>, _>("projects")?.map(from_json).transpose()?;
    let (expires_at, revoked_at) = (time_or_none(row, "expires_at")?, time_or_none(row, "revoked_at")?);
    Ok(ApiKey {
        id: KeyId(row.try_get("id")?),
        organization: OrganizationId(row.try_get("organization")?),
        name: row.try_get("name")?,
        hint: row.try_get("hint")?,
        scope: row.try_get::<&str, _>("scope")?.parse().map_err(|_| damaged("a key's scope"))?,
        projects: projects.map(|ids| ids.into_iter().map(ProjectId).collect()),
        allow: Allow::parse(allow.iter().map(String::as_str)).map_err(|_| damaged("an allowlist"))?,
        creator: row.try_get("creator")?,
        created_at: time(row, "created_at")?,
        expires_at,
        last_used_at: time_or_none(row, "last_used_at")?,
        revoked_at,
        is_live: is_live(expires_at, revoked_at, now),
        read_at: now,
    })
}
