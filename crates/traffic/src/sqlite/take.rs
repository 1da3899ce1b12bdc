//! What a group of batches adds to one project: made ready, written, and then known in memory.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use base::Cutoff;
use sha2::{Digest, Sha256};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool};

use super::keeper::Batch;
use super::ledger;
use super::project::{DAY, Project, Shared};
use super::salts::Salts;
use super::seen::Seen;
use crate::block::{Block, Hash, Place, Read, Row, Texts};
use crate::event::{Event, Kind};
use crate::share::{Network, NewPageShares, share_of};
use crate::views::{Failure, Part, Receipt};

/// Quick rather than small: a fold packs it again.
const LEVEL: i32 = 1;
/// Rows a statement: enough that statements cost little, few enough for SQLite's 32,766 values.
const CHUNK: usize = 500;

pub(super) struct Addition {
    pub(super) shared: Arc<Shared>,
    pub(super) batches: Vec<Batch>,
    pub(super) receipts: Vec<Receipt>,
    reads: Vec<Read>,
    weight: usize,
    ids: HashSet<Hash>,
    /// New pages by the network that named them.
    new_pages: HashMap<Network, u32>,
    /// How many pages there were before.
    known_pages: usize,
    now: i64,
}

/// The rows of an addition, for the writer.
pub(super) struct Writing {
    project: i64,
    now: i64,
    events: usize,
    block: Vec<u8>,
    pages: Vec<(u32, Arc<str>)>,
    parts: Vec<Part>,
}

/// What the keeper knows while it makes a group ready.
pub(super) struct Desk<'a> {
    pub(super) reads: &'a SqlitePool,
    pub(super) salts: &'a Salts,
    pub(super) new_pages: u32,
    pub(super) shares: &'a NewPageShares,
    pub(super) now: i64,
    /// What ids are too old to be known.
    pub(super) forgotten: Cutoff,
}

impl Desk<'_> {
    pub(super) async fn ready(
        &self,
        shared: Arc<Shared>,
        seen: &Seen,
        mut batches: Vec<Batch>,
    ) -> Result<(Addition, Writing), (Failure, Vec<Batch>)> {
        let events: Vec<Vec<Event>> =
            batches.iter_mut().map(|batch| std::mem::take(&mut batch.events)).collect();
        let hashes: Vec<Vec<Option<Hash>>> =
            events.iter().map(|batch| batch.iter().map(hash).collect()).collect();
        let asked = hashes.iter().flatten().flatten().copied();
        let known = match seen.known(self.reads, asked, &self.forgotten).await {
            Ok(known) => known,
            Err(failure) => return Err((failure, batches)),
        };
        let known_pages = shared.read().pages.len();
        let mut addition = Addition {
            shared,
            batches,
            receipts: Vec::new(),
            reads: Vec::new(),
            weight: 0,
            ids: HashSet::new(),
            new_pages: HashMap::new(),
            known_pages,
            now: self.now,
        };
        let block = self.rows(&mut addition, &events, &hashes, &known);
        match addition.writing(&block) {
            Ok(writing) => Ok((addition, writing)),
            Err(failure) => {
                addition.undo();
                Err((failure, addition.batches))
            }
        }
    }

    fn rows(
        &self,
        addition: &mut Addition,
        events: &[Vec<Event>],
        hashes: &[Vec<Option<Hash>>],
        known: &HashSet<Hash>,
    ) -> Block {
        let shared = addition.shared.clone();
        let mut project = shared.write();
        let mut block = Block::default();
        for (events, hashes) in events.iter().zip(hashes) {
            let mut receipt = Receipt { accepted: events.len() as u64, duplicates: 0 };
            for (event, hash) in events.iter().zip(hashes) {
                // The first event that bears a new id uses it up.
                if hash.is_some_and(|hash| known.contains(&hash) || !addition.ids.insert(hash)) {
                    receipt.duplicates += 1;
                } else {
                    let place = self.place(&mut project, &mut addition.new_pages, &mut block.texts, event);
                    let row = self.row(project.id, place, &mut block.texts, event, *hash);
                    block.rows.push(row);
                }
            }
            addition.receipts.push(receipt);
        }
        addition.weight = block.weight();
        addition.reads = block.rows.iter().filter_map(Row::read).collect();
        block
    }

    fn place(
        &self,
        project: &mut Project,
        new_pages: &mut HashMap<Network, u32>,
        texts: &mut Texts,
        event: &Event,
    ) -> Place {
        if event.kind != Kind::Read {
            return Place::Text(texts.number(&event.path));
        }
        let (id, today) = (project.id, self.now.div_euclid(DAY));
        let may_add = || self.may_add(id, event.address, new_pages);
        Place::Page(project.pages.number(&event.path, today, self.new_pages, may_add))
    }

    /// Whether a sender has some of its share left, which is counted then. Who has no address sends by a key.
    fn may_add(&self, project: i64, address: Option<IpAddr>, new_pages: &mut HashMap<Network, u32>) -> bool {
        let Some(network) = address.map(Network::of) else { return true };
        let added = new_pages.entry(network).or_default();
        let has_share = self.shares.used(project, network) + *added < share_of(self.new_pages);
        *added += u32::from(has_share);
        has_share
    }

    fn row(&self, project: i64, place: Place, texts: &mut Texts, event: &Event, id: Option<Hash>) -> Row {
        let today = self.now.div_euclid(DAY);
        let mut text = |text: &Option<String>| text.as_ref().map_or(0, |text| texts.number(text));
        Row {
            at: event.at,
            place,
            kind: event.kind,
            class: event.class,
            markdown: event.markdown,
            status: event.status.unwrap_or_default(),
            agent: text(&event.user_agent),
            referrer: text(&event.referrer),
            visitor: self.salts.visitor(project, event, today),
            id,
        }
    }
}

impl Addition {
    fn writing(&self, block: &Block) -> Result<Writing, Failure> {
        let project = self.shared.read();
        let new = project.pages.since(self.known_pages);
        Ok(Writing {
            project: project.id,
            now: self.now,
            events: block.rows.len(),
            block: block.encode(&block.rows, LEVEL)?,
            pages: new.map(|(number, path)| (number, path.clone())).collect(),
            parts: self.batches.iter().filter_map(|batch| batch.part.clone()).collect(),
        })
    }

    /// It is on disk: now it counts, and its senders are told.
    pub(super) fn done(self, seen: &mut Seen, shares: &mut NewPageShares) {
        let mut project = self.shared.write();
        self.new_pages.iter().for_each(|(network, pages)| shares.add(project.id, *network, *pages));
        project.waiting += self.weight;
        project.add(self.reads.into_iter());
        drop(project);
        seen.recent.extend(self.ids.into_iter().map(|hash| (hash, self.now)));
        for (batch, receipt) in self.batches.into_iter().zip(self.receipts) {
            batch.tell(Ok(Ok(receipt)));
        }
    }

    pub(super) fn undo(&self) {
        self.shared.write().pages.truncate(self.known_pages);
    }
}

impl Writing {
    pub(super) async fn write(self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        for part in &self.parts {
            ledger::note(connection, self.project, part, self.now).await?;
        }
        if self.events == 0 {
            return Ok(());
        }
        let day = self.now.div_euclid(DAY);
        for chunk in self.pages.chunks(CHUNK) {
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

fn hash(event: &Event) -> Option<Hash> {
    let digest = Sha256::digest(event.event_id.as_ref()?);
    digest.first_chunk().copied()
}
