//! Organizations, projects and API keys.

use async_trait::async_trait;
use futures_util::FutureExt;

use super::{Backend, Connection, Fetch, FromRow, Query, Row, sql};
use crate::encoding::{damaged, from_ms, to_json};
use crate::key::is_live;
use crate::{
    Accounts, Allow, ApiKey, KeyAndProject, KeyId, KeyText, NewKey, NewProject, Organization, OrganizationId,
    Project, ProjectChange, ProjectId, Result, StoreError,
};

macro_rules! project_columns {
    () => {
        "id, organization, name, repository, hosting, ref, docs_path, sites, model, models, allow_paths, human_reads,
         created_at"
    };
}

macro_rules! key_columns {
    () => {
        "id, organization, name, hint, scope, projects, allow, creator, created_at, expires_at, last_used_at,
         revoked_at, docwright_now_ms() AS now"
    };
}

#[async_trait]
impl<B: Backend> Accounts for B {
    async fn create_organization(&self, name: &str) -> Result<Organization> {
        let insert =
            sql("INSERT INTO organizations (id, name, created_at) VALUES ($1, $2, docwright_now_ms())
             ON CONFLICT DO NOTHING RETURNING id, name, created_at");
        match self.returning(insert.bind(OrganizationId::random().0).bind(name)).await? {
            Some(row) => Organization::from_row(&row),
            None => Err(StoreError::Taken(format!("there is an organization named {name} already"))),
        }
    }

    async fn organizations(&self) -> Result<Vec<Organization>> {
        self.all(sql("SELECT id, name, created_at FROM organizations
             WHERE id NOT IN (SELECT id FROM deletions) ORDER BY created_at, id"))
            .await
    }

    async fn create_project(&self, new: &NewProject) -> Result<Project> {
        let project = new.project(from_ms(self.now().await?)?);
        let insert =
            sql("INSERT INTO projects (name, repository, ref, docs_path, sites, model, models, allow_paths,
               hosting, human_reads, id, organization, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)");
        let insert = bind_settings(insert, &project).bind(&project.organization.0);
        self.execute(insert.bind(project.created_at.as_millisecond())).await?;
        Ok(project)
    }

    async fn project(&self, id: &ProjectId) -> Result<Option<Project>> {
        self.common().reads.projects.read(id.clone()).await
    }

    async fn projects(&self, organization: Option<&OrganizationId>) -> Result<Vec<Project>> {
        let select = sql(concat!(
            "SELECT ",
            project_columns!(),
            " FROM projects WHERE ($1 IS NULL OR organization = $1)
              AND id NOT IN (SELECT id FROM deletions) ORDER BY created_at, id"
        ));
        self.all(select.bind(organization.map(|o| &o.0))).await
    }

    async fn update_project(&self, id: &ProjectId, change: &ProjectChange) -> Result<Option<Project>> {
        let input = (id.clone(), change.clone());
        self.transaction(input, |db, (id, change)| update_project(db, id, change).boxed()).await
    }

    async fn create_key(&self, new: &NewKey) -> Result<(ApiKey, KeyText)> {
        let text = KeyText::random();
        let key = new.key(&text, from_ms(self.now().await?)?);
        let ids = |ids: &Vec<ProjectId>| to_json(&ids.iter().map(|id| &id.0).collect::<Vec<_>>());
        let insert =
            sql("INSERT INTO keys (id, organization, name, hash, hint, scope, projects, allow, created_at,
               expires_at, creator)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
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
        self.transaction((new.clone(), insert), |db, (new, insert)| {
            async move {
                check_creator(db, new).await?;
                db.execute(insert.clone()).await
            }
            .boxed()
        })
        .await?;
        Ok((key, text))
    }

    async fn key(&self, text: &KeyText) -> Result<Option<ApiKey>> {
        self.common().reads.keys.read(text.hash()).await
    }

    async fn key_and_project(&self, text: &KeyText, project: &ProjectId) -> Result<KeyAndProject> {
        self.common().reads.callers.read((text.hash(), project.clone())).await
    }

    async fn keys(&self, organization: Option<&OrganizationId>) -> Result<Vec<ApiKey>> {
        let select = sql(concat!(
            "SELECT ",
            key_columns!(),
            " FROM keys WHERE $1 IS NULL OR organization = $1 ORDER BY created_at DESC, id"
        ));
        self.all(select.bind(organization.map(|o| &o.0))).await
    }

    async fn revoke_key(&self, organization: &OrganizationId, id: &KeyId) -> Result<bool> {
        let revoke = sql("UPDATE keys SET revoked_at = docwright_now_ms()
             WHERE organization = $1 AND id = $2 AND revoked_at IS NULL");
        let is_revoked = self.execute(revoke.bind(&organization.0).bind(&id.0)).await? > 0;
        self.notify_events();
        Ok(is_revoked)
    }

    async fn touch_key(&self, key: &ApiKey) -> Result<()> {
        if !key.is_use_due() {
            return Ok(());
        }
        let touch = sql("UPDATE keys SET last_used_at = docwright_now_ms() WHERE id = $1");
        self.execute(touch.bind(&key.id.0)).await.map(drop)
    }
}

/// Fails when a removed member creates a key. The row stays locked, so a removal waits for the key.
async fn check_creator(db: &mut Connection<'_>, new: &NewKey) -> Result<()> {
    let Some(name) = new.member() else { return Ok(()) };
    let find = sql("SELECT id FROM people WHERE organization = $1 AND name = $2 FOR SHARE");
    match db.exists(find.bind(&new.organization.0).bind(name)).await? {
        true => Ok(()),
        false => Err(StoreError::NotAMember(name.to_owned())),
    }
}

pub(super) async fn find_key(reads: impl Fetch, hash: Vec<u8>) -> Result<Option<ApiKey>> {
    let find = sql(concat!("SELECT ", key_columns!(), " FROM keys WHERE hash = $1"));
    reads.optional(find.bind(hash)).await
}

/// Both in one query: of what a poll costs, most is the way to the database and back.
pub(super) async fn find_key_and_project(
    reads: impl Fetch,
    (hash, project): (Vec<u8>, ProjectId),
) -> Result<KeyAndProject> {
    let find =
        sql("SELECT keys.id, keys.organization, keys.name, keys.hint, keys.scope, keys.projects, keys.allow,
           keys.creator, keys.created_at, keys.expires_at, keys.last_used_at, keys.revoked_at,
           docwright_now_ms() AS now,
           projects.id AS project_id, projects.organization AS project_organization,
           projects.name AS project_name, projects.repository AS project_repository,
           projects.hosting AS project_hosting, projects.ref AS project_ref,
           projects.docs_path AS project_docs_path, projects.sites AS project_sites,
           projects.model AS project_model, projects.models AS project_models,
           projects.allow_paths AS project_allow_paths, projects.human_reads AS project_human_reads,
           projects.created_at AS project_created_at
         FROM (SELECT 1) AS one
         LEFT JOIN keys ON keys.hash = $1
         LEFT JOIN projects ON projects.id = $2 AND projects.id NOT IN (SELECT id FROM deletions)");
    let Some(row) = reads.row(find.bind(hash).bind(project.0)).await? else { return Ok((None, None)) };
    let has = |column| Ok::<_, StoreError>(row.get::<Option<&str>>(column)?.is_some());
    let key = if has("id")? { Some(ApiKey::from_row(&row)?) } else { None };
    let project = if has("project_id")? { Some(project_from_row(&row, "project_")?) } else { None };
    Ok((key, project))
}

macro_rules! project_by_id {
    ($lock:literal) => {
        concat!(
            "SELECT ",
            project_columns!(),
            " FROM projects WHERE id = $1 AND id NOT IN (SELECT id FROM deletions)",
            $lock
        )
    };
}

pub(super) async fn find_project(reads: impl Fetch, id: ProjectId) -> Result<Option<Project>> {
    reads.optional(sql(project_by_id!("")).bind(id.0)).await
}

/// The lock lets new jobs refer to the project.
async fn update_project(
    db: &mut Connection<'_>,
    id: &ProjectId,
    change: &ProjectChange,
) -> Result<Option<Project>> {
    let find = sql(project_by_id!(" FOR NO KEY UPDATE")).bind(&id.0);
    let Some(mut project) = db.optional::<Project>(find).await? else { return Ok(None) };
    change.clone().apply(&mut project);
    let update = sql("UPDATE projects SET name = $1, repository = $2, ref = $3, docs_path = $4, sites = $5,
           model = $6, models = $7, allow_paths = $8, hosting = $9, human_reads = $10
         WHERE id = $11");
    db.execute(bind_settings(update, &project)).await?;
    Ok(Some(project))
}

/// What a change can set, and the id.
fn bind_settings(query: Query, project: &Project) -> Query {
    query
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
}

impl FromRow for Organization {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: OrganizationId(row.get("id")?),
            name: row.get("name")?,
            created_at: row.time("created_at")?,
        })
    }
}

impl FromRow for Project {
    fn from_row(row: &Row) -> Result<Self> {
        project_from_row(row, "")
    }
}

/// A project whose columns begin with `prefix`.
fn project_from_row(row: &Row, prefix: &str) -> Result<Project> {
    let column = |name| format!("{prefix}{name}");
    Ok(Project {
        id: ProjectId(row.get(&column("id"))?),
        organization: OrganizationId(row.get(&column("organization"))?),
        name: row.get(&column("name"))?,
        repository: row.get(&column("repository"))?,
        hosting: row.json(&column("hosting"))?,
        base_ref: row.get(&column("ref"))?,
        docs_path: row.get(&column("docs_path"))?,
        sites: row.json(&column("sites"))?,
        model: row.get(&column("model"))?,
        models: row.json(&column("models"))?,
        allow_paths: row.json(&column("allow_paths"))?,
        human_reads: row.parse(&column("human_reads"), "human reads")?,
        created_at: row.time(&column("created_at"))?,
    })
}

impl FromRow for ApiKey {
    fn from_row(row: &Row) -> Result<Self> {
        let allow: Vec<String> = row.json("allow")?;
        let projects: Option<Vec<String>> = row.json_or_none("projects")?;
        let (expires_at, revoked_at) = (row.time_or_none("expires_at")?, row.time_or_none("revoked_at")?);
        let now = row.time("now")?;
        Ok(Self {
            id: KeyId(row.get("id")?),
            organization: OrganizationId(row.get("organization")?),
            name: row.get("name")?,
            hint: row.get("hint")?,
            scope: row.parse("scope", "a key's scope")?,
            projects: projects.map(|ids| ids.into_iter().map(ProjectId).collect()),
            allow: Allow::parse(allow.iter().map(String::as_str)).map_err(|_| damaged("an allowlist"))?,
            creator: row.get("creator")?,
            created_at: row.time("created_at")?,
            expires_at,
            last_used_at: row.time_or_none("last_used_at")?,
            revoked_at,
            is_live: is_live(expires_at, revoked_at, now),
            read_at: now,
        })
    }
}
