use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::reads::Reads;
use super::{PostgresStore, in_time, text, time, time_or_none, write};
use crate::kept::{damaged, from_json, from_ms, to_json};
use crate::key::is_live;
use crate::{
    Accounts, Allow, ApiKey, KeyId, KeyText, NewKey, NewProject, Organization, OrganizationId, Project,
    ProjectChange, ProjectId, Result, StoreError,
};

#[async_trait]
impl Accounts for PostgresStore {
    async fn create_organization(&self, name: &str) -> Result<Organization> {
        let insert = sqlx::query(
            "INSERT INTO organizations VALUES ($1, $2, docwright_now_ms()) ON CONFLICT DO NOTHING RETURNING *",
        );
        let id = OrganizationId::random();
        match self.row(insert.bind(id.0).bind(name)).await? {
            Some(row) => organization(&row),
            None => Err(StoreError::Taken(format!("there is an organization named {name} already"))),
        }
    }

    async fn organizations(&self) -> Result<Vec<Organization>> {
        let rows = self.rows(sqlx::query("SELECT * FROM organizations WHERE id NOT IN (SELECT id FROM deletions) ORDER BY created_at, id")).await?;
        rows.iter().map(organization).collect()
    }

    async fn create_project(&self, new: &NewProject) -> Result<Project> {
        let made = new.project(from_ms(self.now().await?)?);
        let insert = sqlx::query(
            "INSERT INTO projects (id, organization, name, repository, hosting, ref, docs_path, sites, model,
                models, allow_paths, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(&made.id.0)
        .bind(&made.organization.0)
        .bind(&made.name)
        .bind(&made.repository)
        .bind(to_json(&made.hosting))
        .bind(&made.base_ref)
        .bind(&made.docs_path)
        .bind(to_json(&made.sites))
        .bind(&made.model)
        .bind(to_json(&made.models))
        .bind(to_json(&made.allow_paths))
        .bind(made.created_at.as_millisecond());
        self.execute(insert).await?;
        Ok(made)
    }

    async fn project(&self, id: &ProjectId) -> Result<Option<Project>> {
        self.projects.read(id.clone()).await
    }

    async fn projects(&self, organization: Option<&OrganizationId>) -> Result<Vec<Project>> {
        let select = "SELECT * FROM projects WHERE ($1::text IS NULL OR organization = $1)
             AND id NOT IN (SELECT id FROM deletions) ORDER BY created_at, id";
        let rows = self.rows(sqlx::query(select).bind(organization.map(|o| &o.0))).await?;
        rows.iter().map(project).collect()
    }

    async fn update_project(&self, id: &ProjectId, change: &ProjectChange) -> Result<Option<Project>> {
        write(|| self.update(id, change)).await
    }

    async fn create_key(&self, new: &NewKey) -> Result<(ApiKey, KeyText)> {
        let text = KeyText::random();
        let key = new.key(&text, from_ms(self.now().await?)?);
        let ids = |ids: &Vec<ProjectId>| to_json(&ids.iter().map(|id| &id.0).collect::<Vec<_>>());
        let insert =
            sqlx::query("INSERT INTO keys VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, NULL, $11)")
                .bind(&key.id.0)
                .bind(&key.organization.0)
                .bind(&key.name)
                .bind(text.hash())
                .bind(&key.hint)
                .bind(key.scope.as_str())
                .bind(key.projects.as_ref().map(ids))
                .bind(to_json(&key.allow.entries().collect::<Vec<_>>()))
                .bind(key.created_at.as_millisecond())
                .bind(key.expires_at.map(|at| at.as_millisecond()))
                .bind(&key.creator);
        in_time(async {
            let mut tx = self.begin().await?;
            check_maker(&mut tx, new).await?;
            insert.execute(&mut *tx).await?;
            Ok(tx.commit().await?)
        })
        .await?;
        Ok((key, text))
    }

    async fn key(&self, text: &KeyText) -> Result<Option<ApiKey>> {
        self.keys.read(text.hash()).await
    }

    async fn keys(&self, organization: Option<&OrganizationId>) -> Result<Vec<ApiKey>> {
        let select = "SELECT *, docwright_now_ms() AS now FROM keys
            WHERE $1::text IS NULL OR organization = $1 ORDER BY created_at DESC, id";
        let rows = self.rows(sqlx::query(select).bind(organization.map(|o| &o.0))).await?;
        rows.iter().map(key).collect()
    }

    async fn revoke_key(&self, organization: &OrganizationId, id: &KeyId) -> Result<bool> {
        let revoke = "UPDATE keys SET revoked_at = docwright_now_ms()
            WHERE organization = $1 AND id = $2 AND revoked_at IS NULL";
        let revoke = sqlx::query(revoke).bind(&organization.0).bind(text(&id.0));
        let is_revoked = self.execute(revoke).await? > 0;
        self.bells.news();
        Ok(is_revoked)
    }

    async fn touch_key(&self, key: &ApiKey) -> Result<()> {
        if !key.is_news() {
            return Ok(());
        }
        let touch = "UPDATE keys SET last_used_at = docwright_now_ms() WHERE id = $1";
        self.execute(sqlx::query(touch).bind(&key.id.0)).await.map(|_| ())
    }
}

/// Fails when a removed member makes a key. The row stays locked, so that a removal waits for the key.
async fn check_maker(db: &mut PgConnection, new: &NewKey) -> Result<()> {
    let Some(maker) = new.maker() else { return Ok(()) };
    let find = sqlx::query("SELECT 1 FROM people WHERE organization = $1 AND name = $2 FOR SHARE");
    match find.bind(&new.organization.0).bind(maker).fetch_optional(db).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NotAMember(maker.to_owned())),
    }
}

pub(super) async fn key_of(reads: Reads, hash: Vec<u8>) -> Result<Option<ApiKey>> {
    let find = sqlx::query("SELECT *, docwright_now_ms() AS now FROM keys WHERE hash = $1").bind(hash);
    reads.row(find).await?.as_ref().map(key).transpose()
}

pub(super) async fn project_of(reads: Reads, id: ProjectId) -> Result<Option<Project>> {
    let find = "SELECT * FROM projects WHERE id = $1 AND id NOT IN (SELECT id FROM deletions)";
    reads.row(sqlx::query(find).bind(text(&id.0))).await?.as_ref().map(project).transpose()
}

impl PostgresStore {
    async fn update(&self, id: &ProjectId, change: &ProjectChange) -> Result<Option<Project>> {
        let mut tx = self.begin().await?;
        // Jobs can come in meanwhile: they need the project to stay, not to stay as it is.
        let found = sqlx::query(
            "SELECT * FROM projects WHERE id = $1 AND id NOT IN (SELECT id FROM deletions) FOR NO KEY UPDATE",
        )
        .bind(text(&id.0))
        .fetch_optional(&mut *tx)
        .await?;
        let Some(row) = found else { return Ok(None) };
        let mut project = project(&row)?;
        change.clone().apply(&mut project);
        let update = "UPDATE projects SET name = $1, repository = $2, ref = $3, docs_path = $4, sites = $5,
            model = $6, models = $7, allow_paths = $8, hosting = $9, human_reads = $10
            WHERE id = $11";
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
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(Some(project))
    }
}

fn organization(row: &PgRow) -> Result<Organization> {
    Ok(Organization {
        id: OrganizationId(row.try_get("id")?),
        name: row.try_get("name")?,
        created_at: time(row, "created_at")?,
    })
}

fn project(row: &PgRow) -> Result<Project> {
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

fn key(row: &PgRow) -> Result<ApiKey> {
    let allow: Vec<String> = from_json(row.try_get("allow")?)?;
    let projects: Option<Vec<String>> =
        row.try_get::<Option<&str>, _>("projects")?.map(from_json).transpose()?;
    let (expires_at, revoked_at) = (time_or_none(row, "expires_at")?, time_or_none(row, "revoked_at")?);
    let now = time(row, "now")?;
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
