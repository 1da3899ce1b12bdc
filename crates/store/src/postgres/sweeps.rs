use std::time::Duration;

use async_trait::async_trait;

use super::jobs::{append, job};
use super::{PostgresStore, now, number, text, write};
use crate::kept::kept;
use crate::sweep::SWEEP;
use crate::{NewEvent, PullState, Result, Sweep, Sweeps};

#[async_trait]
impl Sweeps for PostgresStore {
    async fn next_sweep(&self) -> Result<Option<Sweep>> {
        let next = sqlx::query(
            "UPDATE jobs SET sweep_at = docwright_now_ms() + $1, sweeps = sweeps + 1
             WHERE id = (SELECT id FROM jobs WHERE sweep_at <= (SELECT docwright_now_ms())
                         ORDER BY sweep_at LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING *",
        );
        let row = self.row(next.bind(milliseconds(SWEEP))).await?;
        row.map(|row| Ok(Sweep { job: job(&row)?, tries: number(&row, "sweeps")? })).transpose()
    }

    async fn sweep_again(&self, sweep: &Sweep, wait: Duration) -> Result<()> {
        let again = "UPDATE jobs SET sweep_at = docwright_now_ms() + $1 WHERE id = $2 AND sweeps = $3";
        let again = sqlx::query(again).bind(milliseconds(wait)).bind(&sweep.job.id.0);
        self.execute(again.bind(i64::from(sweep.tries))).await.map(|_| ())
    }

    async fn swept(
        &self,
        sweep: &Sweep,
        found: Option<(&str, PullState)>,
        event: Option<NewEvent>,
    ) -> Result<()> {
        let done = write(|| async {
            let mut tx = self.begin().await?;
            let set = "UPDATE jobs SET sweep_at = NULL, pr_link = $1, pr_state = $2
                WHERE id = $3 AND sweeps = $4 AND sweep_at IS NOT NULL";
            let set = sqlx::query(set)
                .bind(found.map(|(link, _)| text(link)))
                .bind(found.map(|(_, state)| state.as_str()))
                .bind(&sweep.job.id.0)
                .bind(i64::from(sweep.tries));
            let is_over = set.execute(&mut *tx).await?.rows_affected() > 0;
            if let Some(event) = event.as_ref().filter(|_| is_over) {
                let now = now(&mut tx).await?;
                append(&mut tx, &sweep.job.id, now, event).await?;
            }
            Ok(tx.commit().await?)
        });
        let done = done.await;
        self.bells.news();
        done
    }
}

fn milliseconds(wait: Duration) -> i64 {
    kept(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)).min(i64::MAX / 2)
}
