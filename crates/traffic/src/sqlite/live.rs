//! The live report: the last thirty minutes, counted from raw events.

use std::collections::HashMap;

use base::sqlite::ReadPool;
use futures_util::TryStreamExt;

use super::snapshot::Snapshot;
use crate::block::{Read, each_read};
use crate::classify::Class;
use crate::live_report::{MINUTE, MINUTES, empty_report, top_pages};
use crate::reports::Live;
use crate::views::{Failure, PageCount, Readers, Tally};

/// Bounds memory. Further readers are not counted.
const MAX_READERS: usize = 1 << 20;

pub(super) async fn live(reads: &ReadPool, snapshot: &Snapshot, now: i64) -> Result<Live, Failure> {
    let id = snapshot.shared.read().id;
    let mut counter = LiveCounter { live: empty_report(now), readers: HashMap::new(), pages: HashMap::new() };
    let from = counter.live.minutes[0].at;
    let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?";
    let mut connection = reads.acquire().await?;
    let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(blocks)
        .bind(id)
        .bind(from)
        .bind(from + MINUTES * MINUTE)
        .fetch(&mut *connection);
    while let Some(block) = blocks.try_next().await? {
        each_read(&block, |read, visitor| counter.add(read, visitor))?;
    }
    for row in snapshot.journal_rows() {
        row.read().into_iter().for_each(|read| counter.add(read, row.visitor));
    }
    let project = snapshot.shared.read();
    Ok(counter.into_report(|page| project.pages.path(page).to_owned()))
}

struct LiveCounter {
    live: Live,
    /// Whether each reader was seen as human, and as AI.
    readers: HashMap<u64, [bool; 2]>,
    pages: HashMap<u32, Tally>,
}

impl LiveCounter {
    fn add(&mut self, read: Read, visitor: Option<u64>) {
        let side = match read.class {
            Class::Human => 0,
            Class::Assistant => 1,
            _ => return,
        };
        let minute = (read.at - self.live.minutes[0].at).div_euclid(MINUTE);
        let minute = usize::try_from(minute).ok().and_then(|minute| self.live.minutes.get_mut(minute));
        let Some(point) = minute else { return };
        let (human, ai) = (u64::from(side == 0), u64::from(side == 1));
        for tally in [&mut point.reads, &mut self.live.totals, self.pages.entry(read.page).or_default()] {
            tally.add(human, ai);
        }
        let has_room_for =
            |visitor: &u64| self.readers.len() < MAX_READERS || self.readers.contains_key(visitor);
        if let Some(visitor) = visitor.filter(has_room_for) {
            self.readers.entry(visitor).or_default()[side] = true;
        }
    }

    fn into_report(mut self, path: impl Fn(u32) -> String) -> Live {
        let count = |side: usize| self.readers.values().filter(|seen| seen[side]).count() as u64;
        self.live.readers = Readers { human: count(0), ai: count(1), total: self.readers.len() as u64 };
        let page = |(page, Tally { human, ai })| PageCount { path: path(page), human, ai };
        self.live.pages = top_pages(self.pages.into_iter().map(page).collect());
        self.live
    }
}
