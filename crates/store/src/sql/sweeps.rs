//! Searches for pull requests that archived and failed jobs may have left on their host.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;

use super::jobs::{append, job_columns};
use super::{Backend, FromRow, Row, sql};
use crate::encoding::milliseconds;
use crate::sweep::SWEEP;
use crate::{Job, NewEvent, PullState, Result, Sweep, Sweeps};

#[async_trait]
impl<B: Backend> Sweeps for B {
    async fn next_sweep(&self) -> Result<Option<Sweep>> {
        // Most polls find nothing, and a read costs no fsync.
        let due = sql("SELECT id FROM jobs WHERE sweep_at <= (SELECT docwright_now_ms()) LIMIT 1");
        if self.row(due).await?.is_none() {
            return Ok(None);
        }
        let take = sql(concat!(
            "UPDATE jobs SET sweep_at = docwright_now_ms() + $1, sweeps = sweeps + 1
             WHERE id = (SELECT id FROM jobs WHERE sweep_at <= (SELECT docwright_now_ms())
                         ORDER BY sweep_at LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING sweeps, sweeps_before, ",
            job_columns!()
        ));
        let row = self.returning(take.bind(milliseconds(SWEEP))).await?;
        let sweep = |row: Row| {
            let (fence, before): (u32, u32) = (row.number("sweeps")?, row.number("sweeps_before")?);
            Ok(Sweep { job: Job::from_row(&row)?, fence, tries: fence.saturating_sub(before) })
        };
        row.map(sweep).transpose()
    }

    async fn sweep_again(&self, sweep: &Sweep, wait: Duration) -> Result<()> {
        let again = sql("UPDATE jobs SET sweep_at = docwright_now_ms() + $1 WHERE id = $2 AND sweeps = $3
               AND sweep_at IS NOT NULL");
        self.execute(again.bind(milliseconds(wait)).bind(&sweep.job.id.0).bind(sweep.fence)).await.map(drop)
    }

    async fn finish_sweep(
        &self,
        sweep: &Sweep,
        found: Option<(&str, PullState)>,
        event: Option<NewEvent>,
    ) -> Result<()> {
        let set = sql("UPDATE jobs SET sweep_at = NULL, pr_link = coalesce($1, pr_link),
               pr_state = coalesce($2, pr_state), pr_head = CASE WHEN $1 IS NULL THEN pr_head END
             WHERE id = $3 AND sweeps = $4 AND sweep_at IS NOT NULL")
        .bind(found.map(|(link, _)| link))
        .bind(found.map(|(_, state)| state.as_str()))
        .bind(&sweep.job.id.0)
        .bind(sweep.fence);
        let done = self.transaction((set, sweep.job.id.clone(), event), |db, (set, id, event)| {
            async move {
                let is_current = db.execute(set.clone()).await? > 0;
                if let Some(event) = event.as_ref().filter(|_| is_current) {
                    let now = db.now().await?;
                    append(db, id, now, event).await?;
                }
                Ok(())
            }
            .boxed()
        });
        let done = done.await;
        self.notify_events();
        done
    }
}
