use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::{Row, SqliteConnection};

use super::SqliteStore;
use super::jobs::{append, job};
use crate::kept::end_of;
use crate::sweep::SWEEP;
use crate::{NewEvent, PullState, Result, Sweep, Sweeps};

#[async_trait]
impl Sweeps for SqliteStore {
    async fn next_sweep(&self) -> Result<Option<Sweep>> {
        let due = sqlx::query("SELECT 1 FROM jobs WHERE sweep_at <= ? LIMIT 1").bind(self.clock.now_ms());
        if due.fetch_optional(self.db.reads()).await?.is_none() {
            return Ok(None);
        }
        let clock = self.clock.clone();
        self.db.write(move |db| async move { next(db, clock.now_ms()).await }.boxed()).await
    }

    async fn sweep_again(&self, sweep: &Sweep, wait: Duration) -> Result<()> {
        let again = sqlx::query("UPDATE jobs SET sweep_at = ? WHERE id = ? AND sweeps = ?")
            .bind(end_of(wait, self.clock.now_ms()))
            .bind(sweep.job.id.0.clone())
            .bind(sweep.tries);
        self.execute(again).await.map(|_| ())
    }

    async fn swept(
        &self,
        sweep: &Sweep,
        found: Option<(&str, PullState)>,
        event: Option<NewEvent>,
    ) -> Result<()> {
        let set = "UPDATE jobs SET sweep_at = NULL, pr_link = ?, pr_state = ?
            WHERE id = ? AND sweeps = ? AND sweep_at IS NOT NULL";
        let set = sqlx::query(set)
            .bind(found.map(|(link, _)| link.to_owned()))
            .bind(found.map(|(_, state)| state.as_str()))
            .bind(sweep.job.id.0.clone())
            .bind(sweep.tries);
        let (id, now) = (sweep.job.id.0.clone(), self.clock.now_ms());
        let done = self.db.write(move |db| {
            async move {
                let is_over = set.execute(&mut *db).await?.rows_affected() > 0;
                match event.filter(|_| is_over) {
                    Some(event) => append(db, &id, now, event).await,
                    None => Ok(()),
                }
            }
            .boxed()
        });
        let done = done.await;
        self.news.notify_waiters();
        done
    }
}

async fn next(db: &mut SqliteConnection, now: i64) -> Result<Option<Sweep>> {
    let row = sqlx::query(
        "UPDATE jobs SET sweep_at = ?, sweeps = sweeps + 1
         WHERE id = (SELECT id FROM jobs WHERE sweep_at <= ? ORDER BY sweep_at LIMIT 1) RETURNING *",
    );
    let row = row.bind(end_of(SWEEP, now)).bind(now).fetch_optional(db).await?;
    row.map(|row| Ok(Sweep { job: job(&row)?, tries: row.try_get("sweeps")? })).transpose()
}
