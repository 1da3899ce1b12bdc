//! The last half hour, from raw events.

use std::cmp::Reverse;
use std::collections::HashMap;

use futures_util::TryStreamExt;
use sqlx::SqlitePool;

use super::sorted::Sorted;
use crate::block::{Read, each_read};
use crate::classify::Class;
use crate::reports::{Live, Point};
use crate::views::{Failure, PageCount, Readers, Tally};

const MINUTE: i64 = 60 * 1000;
const MINUTES: i64 = 30;
const PAGES: usize = 10;
/// Readers that are told apart. More at once make no difference to who looks at it.
const MOST_READERS: usize = 1 << 20;

/// A half hour in which nothing came.
pub(super) fn nobody(now: i64) -> Live {
    let first = now.div_euclid(MINUTE) - (MINUTES - 1);
    let point = |minute: i64| Point { at: (first + minute) * MINUTE, reads: Tally::default() };
    Live { minutes: (0..MINUTES).map(point).collect(), ..Live::default() }
}

pub(super) async fn live(reads: &SqlitePool, sorted: &Sorted, now: i64) -> Result<Live, Failure> {
    let id = sorted.shared.read().id;
    let mut seen = Seen { live: nobody(now), readers: HashMap::new(), pages: HashMap::new() };
    let from = seen.live.minutes[0].at;
    let blocks = "SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?";
    let mut blocks = sqlx::query_scalar::<_, Vec<u8>>(blocks)
        .bind(id)
        .bind(from)
        .bind(from + MINUTES * MINUTE)
        .fetch(reads);
    while let Some(block) = blocks.try_next().await? {
        each_read(&block, |read, visitor| seen.add(read, visitor))?;
    }
    for row in sorted.unsorted_rows() {
        row.read().into_iter().for_each(|read| seen.add(read, row.visitor));
    }
    let project = sorted.shared.read();
    Ok(seen.told(|page| project.pages.path(page).to_owned()))
}

struct Seen {
    live: Live,
    /// Whether each was seen as human, and as AI.
    readers: HashMap<u64, [bool; 2]>,
    pages: HashMap<u32, Tally>,
}

impl Seen {
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
        let known = |visitor: &u64| self.readers.len() < MOST_READERS || self.readers.contains_key(visitor);
        if let Some(visitor) = visitor.filter(known) {
            self.readers.entry(visitor).or_default()[side] = true;
        }
    }

    fn told(mut self, path: impl Fn(u32) -> String) -> Live {
        let count = |side: usize| self.readers.values().filter(|seen| seen[side]).count() as u64;
        self.live.readers = Readers { human: count(0), ai: count(1), total: self.readers.len() as u64 };
        let page = |(page, Tally { human, ai })| PageCount { path: path(page), human, ai };
        let mut pages: Vec<PageCount> = self.pages.into_iter().map(page).collect();
        pages.sort_unstable_by(|one, other| {
            let most = |page: &PageCount| Reverse(page.human + page.ai);
            most(one).cmp(&most(other)).then_with(|| one.path.cmp(&other.path))
        });
        pages.truncate(PAGES);
        self.live.pages = pages;
        self.live
    }
}
