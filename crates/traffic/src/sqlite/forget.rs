//! Deletes all data of a project.

use sqlx::SqliteConnection;

use crate::views::Failure;

pub(super) async fn forget(connection: &mut SqliteConnection, project: &str) -> Result<(), Failure> {
    for statement in [
        "DELETE FROM page WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM journal WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM block WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM hour WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM named WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM day WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM seen_page WHERE seen IN
            (SELECT seen.id FROM seen JOIN project ON project.id = seen.project WHERE project.name = ?)",
        "DELETE FROM seen WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM import WHERE project = (SELECT id FROM project WHERE name = ?)",
        "DELETE FROM project WHERE name = ?",
    ] {
        sqlx::query(statement).bind(project).execute(&mut *connection).await?;
    }
    Ok(())
}
