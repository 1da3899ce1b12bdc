//! Reads and changes a copy of the SQLite store, such as a backup has. No other process has the copy open, and it can be
//! older than this program.

use std::path::Path;

use base::sqlite::{read_copy, write_copy};
use sqlx::Connection;

use crate::secret::CHECK;
use crate::{MasterKey, ProjectId, Result};

/// A project in a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedProject {
    pub id: ProjectId,
    pub name: String,
    pub repository: String,
}

pub async fn copied_projects(copy: &Path) -> Result<Vec<CopiedProject>> {
    let mut db = read_copy(copy).await?;
    // These columns are in every version.
    let rows: Vec<(String, String, String)> =
        sqlx::query_as("SELECT id, name, repository FROM projects ORDER BY created_at, id")
            .fetch_all(&mut db)
            .await?;
    db.close().await?;
    let project = |(id, name, repository)| CopiedProject { id: ProjectId(id), name, repository };
    Ok(rows.into_iter().map(project).collect())
}

/// Changes the paths of repositories.
pub async fn move_repositories(copy: &Path, moves: &[(ProjectId, String)]) -> Result<()> {
    let mut db = write_copy(copy).await?;
    let mut change = db.begin().await?;
    for (project, path) in moves {
        let update =
            sqlx::query("UPDATE projects SET repository = ? WHERE id = ?").bind(path).bind(&project.0);
        update.execute(&mut *change).await?;
    }
    change.commit().await?;
    Ok(db.close().await?)
}

/// Whether the copy's secrets are sealed with this master key.
pub async fn is_sealed_with(copy: &Path, master: &MasterKey) -> Result<bool> {
    let mut db = read_copy(copy).await?;
    let sealed: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT sealed FROM secrets WHERE owner = ? AND name = ?")
            .bind(CHECK.0)
            .bind(CHECK.1)
            .fetch_optional(&mut db)
            .await?;
    db.close().await?;
    Ok(sealed.is_none_or(|sealed| master.open(CHECK.0, CHECK.1, &sealed).is_ok()))
}
