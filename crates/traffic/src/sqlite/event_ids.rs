//! Deduplicates events by id within seven days.
//!
//! Ids since the last compaction are in memory. Older ids are on disk, in sorted segments by day of receipt.
//! A Bloom filter per segment avoids most disk reads.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use base::Cutoff;
use base::sqlite::ReadPool;
use sqlx::{Connection as _, Row as _, SqliteConnection};

use super::project::DAY;
use crate::block::Hash;
use crate::bloom_filter::BloomFilter;
use crate::views::Failure;

/// Seven days, including the last millisecond.
pub(super) const DEDUP_WINDOW: Duration = Duration::from_millis(7 * DAY.unsigned_abs() + 1);
/// Later ids of the same day are merged into a segment until it is full.
const IDS_PER_SEGMENT: usize = 500_000;
/// A lookup reads one page of a segment.
const IDS_PER_PAGE: usize = 1024;
/// A hash and the millisecond of the day.
const ENTRY_BYTES: usize = size_of::<Hash>() + size_of::<u32>();

/// Hashes with the time of their receipt.
pub(super) type Ids = HashMap<Hash, i64>;

#[derive(Default)]
pub(super) struct EventIds {
    /// Ids since the last compaction.
    pub(super) recent: Ids,
    segments: Vec<Segment>,
}

pub(super) struct Segment {
    id: i64,
    day: i64,
    filter: BloomFilter,
}

impl EventIds {
    pub(super) async fn load(reads: &ReadPool, project: i64, recent: Ids) -> Result<Self, Failure> {
        let all = sqlx::query_as("SELECT id, day FROM seen WHERE project = ? ORDER BY id");
        let mut connection = reads.acquire().await?;
        let mut transaction = connection.begin().await?;
        let all: Vec<(i64, i64)> = all.bind(project).fetch_all(&mut *transaction).await?;
        let mut segments = Vec::with_capacity(all.len());
        // One query per filter: a single query would read ahead and hold all filters twice.
        for (id, day) in all {
            let row = sqlx::query("SELECT filter FROM seen WHERE id = ?").bind(id);
            let row = row.fetch_one(&mut *transaction).await?;
            segments.push(Segment { id, day, filter: BloomFilter::from_bytes(row.get(0)) });
        }
        Ok(Self { recent, segments })
    }

    /// The hashes that were received within seven days. While the clock is not trusted, ids do not expire.
    pub(super) async fn find_known(
        &self,
        reads: &ReadPool,
        hashes: impl IntoIterator<Item = Hash>,
        expired: &Cutoff,
    ) -> Result<HashSet<Hash>, Failure> {
        let fresh = |received: i64| !expired.has_passed(received);
        let (mut known, mut others) = (HashSet::new(), Vec::new());
        for hash in hashes {
            if self.recent.get(&hash).is_some_and(|received| fresh(*received)) {
                known.insert(hash);
            } else {
                others.push(hash);
            }
        }
        // Sorted, so that each page is read once.
        others.sort_unstable();
        for segment in self.segments.iter().filter(|segment| !is_expired(segment.day, expired)) {
            let mut page = Page(Vec::new());
            for hash in others.iter().filter(|hash| segment.filter.may_contain(hash)) {
                if page.last().is_none_or(|last| hash > last) {
                    page = Page::find(reads, segment.id, hash).await?;
                }
                if page.received(hash, segment.day).is_some_and(fresh) {
                    known.insert(*hash);
                }
            }
        }
        Ok(known)
    }

    /// After compaction: replaces the recent ids by their new segments.
    pub(super) fn replace_recent(&mut self, segments: Vec<(Option<i64>, Segment)>) {
        self.recent = Ids::new();
        for (replaced, segment) in segments {
            self.segments.retain(|old| Some(old.id) != replaced);
            self.segments.push(segment);
        }
    }

    pub(super) fn remove_expired(&mut self, expired: &Cutoff) {
        self.segments.retain(|segment| !is_expired(segment.day, expired));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let filters: usize = self.segments.iter().map(|segment| segment.filter.memory_bytes()).sum();
        filters + self.recent.capacity() * 32
    }
}

/// Whether all ids of a day are expired.
fn is_expired(day: i64, expired: &Cutoff) -> bool {
    let Cutoff { before, kept_from, kept_to } = *expired;
    let kept = kept_from.div_euclid(DAY)..=kept_to.div_euclid(DAY);
    day < before.div_euclid(DAY) && !kept.contains(&day)
}

/// A page of a segment: entries, sorted by hash.
struct Page(Vec<u8>);

impl Page {
    async fn find(reads: &ReadPool, segment: i64, hash: &Hash) -> Result<Self, Failure> {
        let found: Option<Vec<u8>> = sqlx::query_scalar(
            "SELECT ids FROM seen_page WHERE seen = ? AND first <= ? ORDER BY first DESC LIMIT 1",
        )
        .bind(segment)
        .bind(hash.as_slice())
        .fetch_optional(&mut *reads.acquire().await?)
        .await?;
        Ok(Self(found.unwrap_or_default()))
    }

    fn last(&self) -> Option<&Hash> {
        self.0.as_chunks::<ENTRY_BYTES>().0.last()?.first_chunk()
    }

    fn received(&self, hash: &Hash, day: i64) -> Option<i64> {
        let entries = self.0.as_chunks::<ENTRY_BYTES>().0;
        let found = entries.binary_search_by(|entry| entry[..hash.len()].cmp(hash)).ok()?;
        let millisecond = entries[found].last_chunk().copied().map(u32::from_le_bytes)?;
        Some(day * DAY + i64::from(millisecond))
    }
}

/// The ids of a page, with the time of their receipt.
pub(super) fn page_entries(page: &[u8], day: i64) -> impl Iterator<Item = (Hash, i64)> {
    page.as_chunks::<ENTRY_BYTES>().0.iter().filter_map(move |entry| {
        let millisecond = entry.last_chunk().copied().map(u32::from_le_bytes)?;
        Some((entry.first_chunk().copied()?, day * DAY + i64::from(millisecond)))
    })
}

/// Writes ids to the segments of their days. Returns each new segment with the id of the one that it
/// replaces, if any.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    project: i64,
    ids: Ids,
) -> Result<Vec<(Option<i64>, Segment)>, Failure> {
    let mut days: BTreeMap<i64, Vec<[u8; ENTRY_BYTES]>> = BTreeMap::new();
    for (hash, received) in ids {
        days.entry(received.div_euclid(DAY)).or_default().push(entry(hash, received));
    }
    let mut written = Vec::new();
    for (day, mut entries) in days {
        let open = find_open_segment(connection, project, day).await?;
        if let Some(id) = open {
            entries.extend(take_entries(connection, id).await?);
        }
        entries.sort_unstable();
        entries.dedup_by(|later, first| later[..16] == first[..16]);
        written.push((open, insert_segment(connection, project, day, &entries).await?));
    }
    Ok(written)
}

fn entry(hash: Hash, received: i64) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    let (start, end) = entry.split_at_mut(hash.len());
    start.copy_from_slice(&hash);
    end.copy_from_slice(&(received.rem_euclid(DAY) as u32).to_le_bytes());
    entry
}

async fn find_open_segment(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
) -> Result<Option<i64>, Failure> {
    let open = "SELECT id FROM seen WHERE project = ? AND day = ? AND ids < ? ORDER BY id DESC LIMIT 1";
    let open = sqlx::query_scalar(open).bind(project).bind(day).bind(IDS_PER_SEGMENT as i64);
    Ok(open.fetch_optional(connection).await?)
}

/// Deletes a segment and returns its entries.
async fn take_entries(
    connection: &mut SqliteConnection,
    segment: i64,
) -> Result<Vec<[u8; ENTRY_BYTES]>, Failure> {
    let pages: Vec<Vec<u8>> = sqlx::query_scalar("SELECT ids FROM seen_page WHERE seen = ? ORDER BY first")
        .bind(segment)
        .fetch_all(&mut *connection)
        .await?;
    sqlx::query("DELETE FROM seen_page WHERE seen = ?").bind(segment).execute(&mut *connection).await?;
    sqlx::query("DELETE FROM seen WHERE id = ?").bind(segment).execute(connection).await?;
    Ok(pages.iter().flat_map(|page| page.as_chunks::<ENTRY_BYTES>().0).copied().collect())
}

async fn insert_segment(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    entries: &[[u8; ENTRY_BYTES]],
) -> Result<Segment, Failure> {
    let hashes: Vec<Hash> = entries.iter().filter_map(|entry| entry.first_chunk().copied()).collect();
    let filter = BloomFilter::from_hashes(hashes.iter());
    let id = sqlx::query("INSERT INTO seen (project, day, ids, filter) VALUES (?, ?, ?, ?)")
        .bind(project)
        .bind(day)
        .bind(entries.len() as i64)
        .bind(filter.to_bytes())
        .execute(&mut *connection)
        .await?
        .last_insert_rowid();
    for page in entries.chunks(IDS_PER_PAGE) {
        sqlx::query("INSERT INTO seen_page (seen, first, ids) VALUES (?, ?, ?)")
            .bind(id)
            .bind(&page[0][..size_of::<Hash>()])
            .bind(page.as_flattened())
            .execute(&mut *connection)
            .await?;
    }
    Ok(Segment { id, day, filter })
}

/// Deletes expired ids of all projects.
pub(super) async fn prune(connection: &mut SqliteConnection, expired: Cutoff) -> Result<(), Failure> {
    let days: Vec<i64> =
        sqlx::query_scalar("SELECT DISTINCT day FROM seen").fetch_all(&mut *connection).await?;
    for day in days.into_iter().filter(|day| is_expired(*day, &expired)) {
        let pages = "DELETE FROM seen_page WHERE seen IN (SELECT id FROM seen WHERE day = ?)";
        sqlx::query(pages).bind(day).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM seen WHERE day = ?").bind(day).execute(&mut *connection).await?;
    }
    Ok(())
}
