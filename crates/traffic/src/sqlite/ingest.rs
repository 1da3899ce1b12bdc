//! Ingests a group of batches into one project: prepares the rows, writes them, and then updates memory.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use base::Cutoff;
use base::sqlite::ReadPool;
use sha2::{Digest, Sha256};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::event_ids::EventIds;
use super::import_progress;
use super::keeper::Batch;
use super::project::{DAY, Project, SharedProject};
use crate::block::{Block, Hash, PathRef, Read, Row, Texts};
use crate::classify::product;
use crate::event::{Event, Kind};
use crate::name_counts::OTHER_NAMES;
use crate::new_name_quota::{NewNameQuota, NewNames};
use crate::new_page_quota::{Network, NewPageQuota, quota_per_network};
use crate::ranges::AddressRanges;
use crate::views::{Failure, FilePart, Receipt};
use crate::visitor_salts::Salts;

/// Fast rather than small, because compaction compresses the events again.
const COMPRESSION_LEVEL: i32 = 1;
/// Enough to make statements cheap, and few enough for SQLite's limit of 32,766 values.
const ROWS_PER_STATEMENT: usize = 500;

/// A prepared group of batches, before its commit.
pub(super) struct PendingIngest {
    pub(super) shared: Arc<SharedProject>,
    pub(super) batches: Vec<Batch>,
    pub(super) receipts: Vec<Receipt>,
    reads: Vec<Read>,
    memory_bytes: usize,
    ids: HashSet<Hash>,
    /// New pages by the network that added them.
    new_pages: HashMap<Network, u32>,
    new_names: NewNames,
    /// The number of pages before this group.
    known_pages: usize,
    now: i64,
}

/// The rows to write.
pub(super) struct IngestRows {
    project: i64,
    now: i64,
    events: usize,
    block: Vec<u8>,
    pages: Vec<(u32, Arc<str>)>,
    parts: Vec<FilePart>,
}

/// What preparing a group needs from the keeper.
pub(super) struct IngestContext<'a> {
    pub(super) reads: &'a ReadPool,
    pub(super) salts: &'a Salts,
    pub(super) new_pages: u32,
    pub(super) quota: &'a NewPageQuota,
    pub(super) names: &'a NewNameQuota,
    pub(super) ranges: &'a AddressRanges,
    pub(super) now: i64,
    /// Event ids received before this cutoff no longer count as duplicates.
    pub(super) expired: Cutoff,
}

impl IngestContext<'_> {
    pub(super) async fn prepare(
        &self,
        shared: Arc<SharedProject>,
        event_ids: &EventIds,
        mut batches: Vec<Batch>,
    ) -> Result<(PendingIngest, IngestRows), (Failure, Vec<Batch>)> {
        let events: Vec<Vec<Event>> =
            batches.iter_mut().map(|batch| std::mem::take(&mut batch.events)).collect();
        let hashes: Vec<Vec<Option<Hash>>> =
            events.iter().map(|batch| batch.iter().map(hash_event_id).collect()).collect();
        let all_hashes = hashes.iter().flatten().flatten().copied();
        let known = match event_ids.find_known(self.reads, all_hashes, &self.expired).await {
            Ok(known) => known,
            Err(failure) => return Err((failure, batches)),
        };
        let known_pages = shared.read().pages.len();
        let mut pending = PendingIngest {
            shared,
            batches,
            receipts: Vec::new(),
            reads: Vec::new(),
            memory_bytes: 0,
            ids: HashSet::new(),
            new_pages: HashMap::new(),
            new_names: NewNames::default(),
            known_pages,
            now: self.now,
        };
        let block = self.rows(&mut pending, &events, &hashes, &known);
        match pending.rows_to_write(&block) {
            Ok(rows) => Ok((pending, rows)),
            Err(failure) => {
                pending.roll_back();
                Err((failure, pending.batches))
            }
        }
    }

    fn rows(
        &self,
        pending: &mut PendingIngest,
        events: &[Vec<Event>],
        hashes: &[Vec<Option<Hash>>],
        known: &HashSet<Hash>,
    ) -> Block {
        let shared = pending.shared.clone();
        let mut project = shared.write();
        let mut block = Block::default();
        for (events, hashes) in events.iter().zip(hashes) {
            let mut receipt = Receipt { accepted: events.len() as u64, duplicates: 0 };
            for (event, hash) in events.iter().zip(hashes) {
                // Only the first event with a new id counts.
                if hash.is_some_and(|hash| known.contains(&hash) || !pending.ids.insert(hash)) {
                    receipt.duplicates += 1;
                } else {
                    let row = match self.names.is_other(project.id, event, &mut pending.new_names) {
                        true => self.unnamed_row(project.id, &mut block.texts, event, *hash),
                        false => {
                            let path =
                                self.path(&mut project, &mut pending.new_pages, &mut block.texts, event);
                            self.row(project.id, path, &mut block.texts, event, *hash)
                        }
                    };
                    block.rows.push(row);
                }
            }
            pending.receipts.push(receipt);
        }
        pending.memory_bytes = block.memory_bytes();
        pending.reads = block.rows.iter().filter_map(Row::read).collect();
        block
    }

    fn path(
        &self,
        project: &mut Project,
        new_pages: &mut HashMap<Network, u32>,
        texts: &mut Texts,
        event: &Event,
    ) -> PathRef {
        if event.kind != Kind::Read {
            return PathRef::Text(texts.number(&event.path));
        }
        let (id, today) = (project.id, self.now.div_euclid(DAY));
        let may_add = || self.may_add(id, event.address, new_pages);
        PathRef::Page(project.pages.number(&event.path, today, self.new_pages, may_add))
    }

    /// Whether the sender's network has quota left for a new page, and uses it. Senders without an address
    /// use an API key and have no quota.
    fn may_add(&self, project: i64, address: Option<IpAddr>, new_pages: &mut HashMap<Network, u32>) -> bool {
        let Some(network) = address.map(Network::of) else { return true };
        let added = new_pages.entry(network).or_default();
        let has_quota = self.quota.used(project, network) + *added < quota_per_network(self.new_pages);
        *added += u32::from(has_quota);
        has_quota
    }

    /// The row of an event that counts under no name of its own.
    fn unnamed_row(&self, project: i64, texts: &mut Texts, event: &Event, id: Option<Hash>) -> Row {
        let path = PathRef::Text(texts.number(OTHER_NAMES));
        Row { referrer: 0, ..self.row(project, path, texts, event, id) }
    }

    fn row(&self, project: i64, path: PathRef, texts: &mut Texts, event: &Event, id: Option<Hash>) -> Row {
        let today = self.now.div_euclid(DAY);
        let mut text = |text: &Option<String>| text.as_ref().map_or(0, |text| texts.number(text));
        Row {
            at: event.at,
            path,
            kind: event.kind,
            class: event.class,
            markdown: event.markdown,
            status: event.status.unwrap_or_default(),
            agent: text(&event.user_agent),
            referrer: text(&event.referrer),
            verification: self.ranges.verify(product(event.user_agent.as_deref()), event.address),
            visitor: self.salts.visitor(project, event, today),
            id,
        }
    }
}

impl PendingIngest {
    fn rows_to_write(&self, block: &Block) -> Result<IngestRows, Failure> {
        let project = self.shared.read();
        let new = project.pages.since(self.known_pages);
        Ok(IngestRows {
            project: project.id,
            now: self.now,
            events: block.rows.len(),
            block: block.encode(&block.rows, COMPRESSION_LEVEL)?,
            pages: new.map(|(number, path)| (number, path.clone())).collect(),
            parts: self.batches.iter().filter_map(|batch| batch.part.clone()).collect(),
        })
    }

    /// After the commit: updates memory and sends the receipts.
    pub(super) fn finish(self, event_ids: &mut EventIds, quota: &mut NewPageQuota, names: &mut NewNameQuota) {
        names.add(self.new_names);
        let mut project = self.shared.write();
        self.new_pages.iter().for_each(|(network, pages)| quota.add(project.id, *network, *pages));
        project.journal_bytes += self.memory_bytes;
        project.add(self.reads.into_iter());
        drop(project);
        event_ids.recent.extend(self.ids.into_iter().map(|hash| (hash, self.now)));
        for (batch, receipt) in self.batches.into_iter().zip(self.receipts) {
            batch.respond(Ok(Ok(receipt)));
        }
    }

    pub(super) fn roll_back(&self) {
        self.shared.write().pages.truncate(self.known_pages);
    }
}

impl IngestRows {
    pub(super) async fn write(self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        for part in &self.parts {
            import_progress::record(connection, self.project, part, self.now).await?;
        }
        if self.events == 0 {
            return Ok(());
        }
        let day = self.now.div_euclid(DAY);
        for chunk in self.pages.chunks(ROWS_PER_STATEMENT) {
            let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO page (project, number, path, day) ");
            query.push_values(chunk, |mut row, (number, path)| {
                row.push_bind(self.project).push_bind(*number).push_bind(&**path).push_bind(day);
            });
            query.build().execute(&mut *connection).await?;
        }
        sqlx::query("INSERT INTO journal (project, received, events, block) VALUES (?, ?, ?, ?)")
            .bind(self.project)
            .bind(self.now)
            .bind(self.events as i64)
            .bind(self.block)
            .execute(connection)
            .await?;
        Ok(())
    }
}

fn hash_event_id(event: &Event) -> Option<Hash> {
    let digest = Sha256::digest(event.event_id.as_ref()?);
    digest.first_chunk().copied()
}
