//! Retention: deletes raw events after `raw_days`, event ids after seven days, and salts after their day.
//!
//! Deletes nothing while the clock cannot be trusted.

use std::time::Duration;

use base::sqlite::Database;
use futures_util::FutureExt;

use super::keeper::Keeper;
use super::project::DAY;
use super::{event_ids, visitors};
use crate::views::Failure;

impl Keeper {
    pub(super) async fn delete_expired(&mut self) -> Result<(), Failure> {
        let now = self.clock.now_ms();
        self.rotate_salts(now).await?;
        let expired = self.guard.cutoff(event_ids::DEDUP_WINDOW);
        let pruned = self.database.write(move |connection| event_ids::prune(connection, expired).boxed());
        pruned.await?;
        self.event_ids.values_mut().for_each(|ids| ids.remove_expired(&expired));
        let raw_time = Duration::from_millis(DAY.unsigned_abs()) * self.limits.raw_days;
        let raw_from = self.guard.cutoff(raw_time).before.div_euclid(DAY) * DAY;
        for (id, name) in projects_with_expired_blocks(&self.database, raw_from).await? {
            // Visitors are counted before their raw events are deleted.
            visitors::recount(&self.database, id, (i64::MIN, raw_from / DAY + 1)).await?;
            delete_expired_blocks(&self.database, id, raw_from).await?;
            if let Some(shared) = self.memory.get(&name) {
                let mut project = shared.write();
                project.raw_from = raw_from;
                project.disk_version += 1;
            }
        }
        Ok(())
    }
}

async fn projects_with_expired_blocks(
    database: &Database,
    raw_from: i64,
) -> Result<Vec<(i64, String)>, Failure> {
    let select = "SELECT id, name FROM project
        WHERE EXISTS (SELECT 1 FROM block WHERE project = project.id AND last < ?)";
    Ok(sqlx::query_as(select).bind(raw_from).fetch_all(&mut *database.reads().acquire().await?).await?)
}

async fn delete_expired_blocks(database: &Database, project: i64, raw_from: i64) -> Result<(), Failure> {
    let deleted = database.write(move |connection| {
        async move {
            sqlx::query("UPDATE project SET raw_from = ? WHERE id = ?")
                .bind(raw_from)
                .bind(project)
                .execute(&mut *connection)
                .await?;
            sqlx::query("DELETE FROM block WHERE project = ? AND last < ?")
                .bind(project)
                .bind(raw_from)
                .execute(connection)
                .await?;
            Ok::<_, Failure>(())
        }
        .boxed()
    });
    deleted.await
}
