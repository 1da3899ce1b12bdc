//! Chores of projects: work that any server does, one server at a time.

use std::time::Duration;

use super::{Backend, Connection, Query, sql};
use crate::encoding::milliseconds;
use crate::findings::CHORE;
use crate::{Chore, ChoreLease, ProjectId, Result};

/// Takes the chore of the project for which it has been due the longest. Without a row, a project's findings were never
/// refreshed, and nobody asked for a scan of its site.
pub(super) async fn take(store: &impl Backend, chore: Chore) -> Result<Option<ChoreLease>> {
    let due = sql("SELECT projects.id AS id FROM projects
           LEFT JOIN project_chores ON project = projects.id AND chore = $1
         WHERE ($1 <> 'scan' OR due_at IS NOT NULL) AND coalesce(due_at, 0) <= (SELECT docwright_now_ms())
           AND projects.id NOT IN (SELECT id FROM deletions)
         ORDER BY coalesce(due_at, 0), projects.id LIMIT 1");
    // Most polls find nothing, and a read costs no fsync.
    let Some(row) = store.row(due.bind(chore.as_str())).await? else { return Ok(None) };
    let project: String = row.get("id")?;
    let take = sql("INSERT INTO project_chores (project, chore, due_at, fence)
         VALUES ($1, $2, docwright_now_ms() + $3, 1)
         ON CONFLICT (project, chore) DO UPDATE SET due_at = excluded.due_at, fence = project_chores.fence + 1
         WHERE project_chores.due_at <= docwright_now_ms()
         RETURNING fence");
    let take = take.bind(&project).bind(chore.as_str()).bind(milliseconds(CHORE));
    let taken = store.returning(take).await?;
    taken
        .map(|row| Ok(ChoreLease { project: ProjectId(project), chore, fence: row.number("fence")? }))
        .transpose()
}

/// Makes the project's chores due. One that a server works on becomes due again when that server is done.
pub(super) fn hasten(project: &ProjectId) -> Query {
    sql("UPDATE project_chores SET due_at = 0 WHERE project = $1").bind(&project.0)
}

/// Schedules the first scan of a project's site.
pub(super) async fn request_scan(store: &impl Backend, project: &ProjectId) -> Result<()> {
    let chore = Chore::ScanSite.as_str();
    let known = sql("SELECT 1 AS known FROM project_chores WHERE project = $1 AND chore = $2");
    if store.row(known.bind(&project.0).bind(chore)).await?.is_some() {
        return Ok(());
    }
    let request = sql("INSERT INTO project_chores (project, chore, due_at, fence) VALUES ($1, $2, 0, 0)
         ON CONFLICT DO NOTHING");
    store.execute(request.bind(&project.0).bind(chore)).await.map(drop)
}

pub(super) async fn finish(store: &impl Backend, lease: &ChoreLease, wait: Duration) -> Result<bool> {
    let finish = sql("UPDATE project_chores SET due_at = docwright_now_ms() + $1
         WHERE project = $2 AND chore = $3 AND fence = $4 AND due_at > 0");
    let finish = finish.bind(milliseconds(wait)).bind(&lease.project.0).bind(lease.chore.as_str());
    Ok(store.execute(finish.bind(lease.fence)).await? > 0)
}

/// Whether no other server took the chore. The row stays locked until the transaction ends.
pub(super) async fn is_held(db: &mut Connection<'_>, lease: &ChoreLease) -> Result<bool> {
    let find =
        sql("SELECT fence FROM project_chores WHERE project = $1 AND chore = $2 AND fence = $3 FOR UPDATE");
    db.exists(find.bind(&lease.project.0).bind(lease.chore.as_str()).bind(lease.fence)).await
}
