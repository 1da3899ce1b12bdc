//! Reclassifies raw events with the current table of agents, one day per transaction.
//!
//! The transaction rewrites the day's events and recomputes its rollups. After an interruption, a second run
//! continues.

use base::sqlite::{Database, ReadPool};
use futures_util::FutureExt;

use super::keeper::Keeper;
use super::project::DAY;
use super::{Command, SqliteViews, day};
use crate::block::Block;
use crate::classify::classify;
use crate::reports::ReclassifyProgress;
use crate::views::Failure;

/// Bounds the events that one request processes.
const MAX_EVENTS: u64 = 500_000;

impl SqliteViews {
    /// Sends one command per day, so that the keeper can ingest views in between.
    pub(super) async fn reclassify_bounded(
        &self,
        project: &str,
        from: i64,
    ) -> Result<ReclassifyProgress, Failure> {
        let mut done = ReclassifyProgress { next: Some(from), ..ReclassifyProgress::default() };
        while let Some(from) = done.next.filter(|_| done.events < MAX_EVENTS) {
            let day = self.send(|reply| Command::Reclassify(project.to_owned(), from, reply)).await?;
            done = ReclassifyProgress {
                events: done.events + day.events,
                changed: done.changed + day.changed,
                next: day.next,
            };
        }
        Ok(done)
    }
}

impl Keeper {
    /// Processes the first day with events from `from` on.
    pub(super) async fn reclassify(&mut self, name: &str, from: i64) -> Result<ReclassifyProgress, Failure> {
        let nothing = ReclassifyProgress::default();
        let Some(shared) = self.load_compacted(name).await? else { return Ok(nothing) };
        let (id, raw_from) = {
            let project = shared.read();
            (project.id, project.raw_from.div_euclid(DAY))
        };
        // Earlier days may have lost some events, so their rollups must stay.
        let kept_from = self.clock.now_ms().div_euclid(DAY) - i64::from(self.limits.raw_days);
        let from = from.div_euclid(DAY).max(raw_from).max(kept_from);
        let Some(day) = next_day(self.database.reads(), id, from).await? else { return Ok(nothing) };
        let (events, changed) = reclassify_day(&self.database, id, day).await?;
        let mut project = shared.write();
        if changed > 0 {
            project.prefix_sums = None;
        }
        project.disk_version += 1;
        Ok(ReclassifyProgress { events, changed, next: Some((day + 1) * DAY) })
    }
}

/// The first day from `from` on that has events.
async fn next_day(reads: &ReadPool, project: i64, from: i64) -> Result<Option<i64>, Failure> {
    let first: Option<i64> =
        sqlx::query_scalar("SELECT MIN(first) FROM block WHERE project = ? AND last >= ?")
            .bind(project)
            .bind(from.saturating_mul(DAY))
            .fetch_one(&mut *reads.acquire().await?)
            .await?;
    Ok(first.map(|first| first.div_euclid(DAY).max(from)))
}

/// Returns the number of events of the day, and how many of them changed.
async fn reclassify_day(database: &Database, project: i64, day: i64) -> Result<(u64, u64), Failure> {
    let written = database.write(move |connection| {
        async move { day::rewrite(connection, project, day, reclassify_block).await }.boxed()
    });
    written.await
}

/// Reclassifies the rows in `from..to` and returns the number of changed rows.
fn reclassify_block(block: &mut Block, from: i64, to: i64) -> u64 {
    let mut changed = 0;
    for row in block.rows.iter_mut().filter(|row| (from..to).contains(&row.at)) {
        let class = classify(block.texts.get(row.agent), row.markdown);
        changed += u64::from(class != row.class);
        row.class = class;
    }
    changed
}
