//! What is let go of: raw events after their time, ids after seven days, salts after their day. Nothing is while the
//! clock cannot be trusted.

use std::time::Duration;

use base::sqlite::Database;
use futures_util::FutureExt;

use super::keeper::Keeper;
use super::project::DAY;
use super::{seen, visitors};
use crate::views::Failure;

impl Keeper {
    pub(super) async fn let_go(&mut self) -> Result<(), Failure> {
        let now = self.clock.now_ms();
        self.turn_salts(now).await?;
        let forgotten = self.guard.cutoff(seen::REMEMBERED);
        let pruned = self.database.write(move |connection| seen::prune(connection, forgotten).boxed());
        pruned.await?;
        self.seen.values_mut().for_each(|seen| seen.forget(&forgotten));
        let raw_time = Duration::from_millis(DAY.unsigned_abs()) * self.limits.raw_days;
        let raw_from = self.guard.cutoff(raw_time).before.div_euclid(DAY) * DAY;
        for (id, name) in with_older(&self.database, raw_from).await? {
            // The numbers of visitors stay when what they were counted from goes.
            visitors::recount(&self.database, id, (i64::MIN, raw_from / DAY + 1)).await?;
            drop_older(&self.database, id, raw_from).await?;
            if let Some(shared) = self.memory.get(&name) {
                let mut project = shared.write();
                project.raw_from = raw_from;
                project.folds += 1;
            }
        }
        Ok(())
    }
}

async fn with_older(database: &Database, raw_from: i64) -> Result<Vec<(i64, String)>, Failure> {
    let with_older = "SELECT id, name FROM project
        WHERE EXISTS (SELECT 1 FROM block WHERE project = project.id AND last < ?)";
    Ok(sqlx::query_as(with_older).bind(raw_from).fetch_all(database.reads()).await?)
}

async fn drop_older(database: &Database, project: i64, raw_from: i64) -> Result<(), Failure> {
    let dropped = database.write(move |connection| {
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
    dropped.await
}
