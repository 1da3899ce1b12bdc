//! The present table of agents, applied to raw events that another one classified. A day is one
//! transaction: its events are written back, and what was counted of them is counted anew, as a fold
//! would. Whoever is cut off half-way has done some days, and is run again.

use base::sqlite::Database;
use futures_util::FutureExt;
use sqlx::SqlitePool;

use super::keeper::Keeper;
use super::project::DAY;
use super::{Ask, SqliteViews, day};
use crate::block::Block;
use crate::classify::classify;
use crate::reports::Reclassified;
use crate::views::Failure;

/// Events that one answer is for.
const A_PIECE: u64 = 500_000;

impl SqliteViews {
    /// Day by day, so that views are taken in between them.
    pub(super) async fn reclassify_piece(&self, project: &str, from: i64) -> Result<Reclassified, Failure> {
        let mut done = Reclassified { next: Some(from), ..Reclassified::default() };
        while let Some(from) = done.next.filter(|_| done.events < A_PIECE) {
            let day = self.ask(|answer| Ask::Reclassify(project.to_owned(), from, answer)).await?;
            done = Reclassified {
                events: done.events + day.events,
                changed: done.changed + day.changed,
                next: day.next,
            };
        }
        Ok(done)
    }
}

impl Keeper {
    /// The first day from a moment on that has events; what is after it is left to do.
    pub(super) async fn reclassify(&mut self, name: &str, from: i64) -> Result<Reclassified, Failure> {
        let nothing = Reclassified::default();
        let Some(shared) = self.folded(name).await? else { return Ok(nothing) };
        let (id, raw_from) = {
            let project = shared.read();
            (project.id, project.raw_from.div_euclid(DAY))
        };
        // Of days before that, some events may be gone: what was counted of them stays as it is.
        let kept_from = self.clock.now_ms().div_euclid(DAY) - i64::from(self.limits.raw_days);
        let from = from.div_euclid(DAY).max(raw_from).max(kept_from);
        let Some(day) = next_day(self.database.reads(), id, from).await? else { return Ok(nothing) };
        let (events, changed) = anew(&self.database, id, day).await?;
        let mut project = shared.write();
        if changed > 0 {
            project.index = None;
        }
        project.folds += 1;
        Ok(Reclassified { events, changed, next: Some((day + 1) * DAY) })
    }
}

/// The first day from this one on that has events.
async fn next_day(reads: &SqlitePool, project: i64, from: i64) -> Result<Option<i64>, Failure> {
    let first: Option<i64> =
        sqlx::query_scalar("SELECT MIN(first) FROM block WHERE project = ? AND last >= ?")
            .bind(project)
            .bind(from.saturating_mul(DAY))
            .fetch_one(reads)
            .await?;
    Ok(first.map(|first| first.div_euclid(DAY).max(from)))
}

/// A day's events, and how many of them changed.
type Done = (u64, u64);

async fn anew(database: &Database, project: i64, day: i64) -> Result<Done, Failure> {
    let written = database.write(move |connection| {
        async move { day::rewrite(connection, project, day, reclassify).await }.boxed()
    });
    written.await
}

/// The rows of a time, by the present table; how many changed.
fn reclassify(block: &mut Block, from: i64, to: i64) -> u64 {
    let mut changed = 0;
    for row in block.rows.iter_mut().filter(|row| (from..to).contains(&row.at)) {
        let class = classify(block.texts.get(row.agent), row.markdown);
        changed += u64::from(class != row.class);
        row.class = class;
    }
    changed
}
