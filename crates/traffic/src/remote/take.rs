//! Takes batches of views: one transaction claims their event ids and keeps them in the outbox. Its commit acknowledges
//! them.
//!
//! Group commit: batches that arrive during a commit share the next one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::ledger::{IdHash, LedgerError, LedgerProject, LedgerTransaction};
use super::transaction::{MAX_TRIES, in_time};
use super::{DEDUP_WINDOW, Shared};
use crate::block::{Block, PathRef, Row};
use crate::classify::product;
use crate::event::{Event, Kind};
use crate::limits::IngestPermit;
use crate::name_counts::OTHER_NAMES;
use crate::new_name_quota::{NewNameQuota, NewNames};
use crate::new_page_quota::{Network, NewPageQuota, quota_per_network};
use crate::pages::OTHER_PAGES;
use crate::range_parts::DAY;
use crate::views::{Failure, FilePart, IngestError, Receipt};
use crate::visitor_salts::Salts;

/// Batches that share a transaction.
const MAX_GROUP_SIZE: usize = 512;
const COMPRESSION_LEVEL: i32 = 1;
/// Paths that are remembered as known pages, over all projects: about 50 MB.
const MAX_KNOWN_PAGES: usize = 1 << 19;

pub(super) struct Batch {
    pub(super) project: String,
    pub(super) part: Option<FilePart>,
    pub(super) events: Vec<Event>,
    pub(super) reply: oneshot::Sender<Result<Receipt, IngestError>>,
    /// Held until the batch is written, even if its sender is gone by then.
    pub(super) _permit: IngestPermit,
}

/// Takes batches one group after another.
pub(super) struct Taker {
    shared: Arc<Shared>,
    salts: Salts,
    quota: NewPageQuota,
    names: NewNameQuota,
    known_pages: KnownPages,
}

/// What a group changes in memory after its commit.
#[derive(Default)]
struct Pending {
    results: Vec<Result<Receipt, u64>>,
    events: u64,
    new_pages: Vec<(i64, Network, u32)>,
    new_names: NewNames,
    known: Vec<(LedgerProject, HashSet<String>)>,
}

impl Taker {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (quota, names) = (NewPageQuota::default(), NewNameQuota::default());
        Self { shared, salts: Salts::default(), quota, names, known_pages: KnownPages::default() }
    }

    pub(super) async fn run(mut self, mut batches: mpsc::Receiver<Batch>) {
        let mut group = Vec::new();
        while batches.recv_many(&mut group, MAX_GROUP_SIZE).await > 0 {
            self.take(std::mem::take(&mut group)).await;
        }
    }

    async fn take(&mut self, mut group: Vec<Batch>) {
        // Every transaction locks projects in the same order.
        group.sort_by(|one, next| one.project.cmp(&next.project));
        match self.take_all(&group).await {
            Ok(pending) => {
                self.shared.waiting.fetch_add(pending.events, Ordering::Relaxed);
                for (project, network, pages) in pending.new_pages {
                    self.quota.add(project, network, pages);
                }
                self.names.add(pending.new_names);
                for (project, paths) in pending.known {
                    self.known_pages.add(project, paths);
                }
                for (batch, result) in group.into_iter().zip(pending.results) {
                    // Sending fails when the sender is gone. It no longer needs the result.
                    let _ = batch.reply.send(result.map_err(IngestError::UnexpectedPart));
                }
            }
            Err(failure) => group.into_iter().for_each(|batch| {
                let _ = batch.reply.send(Err(IngestError::Failed(failure.clone())));
            }),
        }
    }

    /// Tries again when the database aborts the transaction. Nothing in memory but the salts changes before the commit.
    async fn take_all(&mut self, group: &[Batch]) -> Result<Pending, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let taken = in_time(self.try_take(group)).await;
            if taken.is_err() {
                // Salts that were created may not have been committed.
                self.salts = Salts::default();
            }
            match taken {
                Err(LedgerError::Aborted) if tries < MAX_TRIES => {}
                done => return Ok(done?),
            }
        }
    }

    async fn try_take(&mut self, group: &[Batch]) -> Result<Pending, LedgerError> {
        let mut tx = self.shared.ledger.begin().await?;
        let today = tx.now().div_euclid(DAY);
        self.quota.set_day(today);
        self.names.set_day(today);
        self.rotate_salts(&mut *tx, today).await?;
        let mut pending = Pending::default();
        for batches in group.chunk_by(|one, next| one.project == next.project) {
            self.take_project(&mut *tx, batches, &mut pending).await?;
        }
        tx.commit().await?;
        Ok(pending)
    }

    async fn take_project(
        &self,
        tx: &mut dyn LedgerTransaction,
        batches: &[Batch],
        pending: &mut Pending,
    ) -> Result<(), LedgerError> {
        let project = tx.project(&batches[0].project).await?;
        let mut accepted = Vec::new();
        for batch in batches {
            let offset = accept_part(tx, project.id, batch.part.as_ref()).await?;
            accepted.push(offset.map_or(Ok(batch.events.as_slice()), Err));
        }
        let hashes: Vec<Vec<Option<IdHash>>> = accepted
            .iter()
            .map(|events| events.iter().copied().flatten().map(hash_event_id).collect())
            .collect();
        let mut ids: Vec<IdHash> = hashes.iter().flatten().flatten().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let expired = self.shared.guard.database_cutoff(tx.now(), DEDUP_WINDOW);
        let free = tx.claim(project.id, &ids, &expired).await?;
        let new = keep_new(accepted, &hashes, free, &mut pending.results);
        if new.is_empty() {
            return Ok(());
        }
        let others = self.number_pages(tx, project, &new, pending).await?;
        let today = tx.now().div_euclid(DAY);
        let block = self.block(project.id, &new, &others, today, &mut pending.new_names);
        let packed = block.encode(&block.rows, COMPRESSION_LEVEL);
        let packed = packed.map_err(|error| LedgerError::Failed(error.to_string()))?;
        pending.events += new.len() as u64;
        tx.keep(project.id, new.len() as u64, packed).await
    }

    /// Adds the new pages, and returns the paths that count as other pages.
    async fn number_pages(
        &self,
        tx: &mut dyn LedgerTransaction,
        project: LedgerProject,
        events: &[&Event],
        pending: &mut Pending,
    ) -> Result<HashSet<String>, LedgerError> {
        let reads = || events.iter().filter(|event| event.kind == Kind::Read);
        let unknown: HashSet<&str> = reads()
            .map(|event| &*event.path)
            .filter(|path| !self.known_pages.contains(project, path))
            .collect();
        if unknown.is_empty() {
            return Ok(HashSet::new());
        }
        let unknown: Vec<&str> = unknown.into_iter().collect();
        let mut known = tx.known_pages(project.id, &unknown).await?;
        let mut others: HashSet<String> =
            unknown.into_iter().filter(|path| !known.contains(*path)).map(str::to_owned).collect();
        if !others.is_empty() {
            let today = tx.now().div_euclid(DAY);
            let added = tx.lock_added_pages(project.id, today).await?;
            // Another server may have added some before it released the lock.
            let missing: Vec<&str> = others.iter().map(String::as_str).collect();
            let now_known = tx.known_pages(project.id, &missing).await?;
            others.retain(|path| !now_known.contains(path));
            known.extend(now_known);
            let new = self.new_pages(project.id, reads().copied(), &others, added, pending);
            tx.add_pages(project.id, today, &new).await?;
            for path in &new {
                others.remove(path);
            }
            known.extend(new);
        }
        pending.known.push((project, known));
        Ok(others)
    }

    /// The pages that get a name, in order of arrival: the project and the sender's network have a quota per day.
    fn new_pages<'e>(
        &self,
        project: i64,
        reads: impl Iterator<Item = &'e Event>,
        unknown: &HashSet<String>,
        added: u32,
        pending: &mut Pending,
    ) -> Vec<String> {
        let max = self.shared.limits.new_pages;
        let (mut new, mut used) = (Vec::new(), HashMap::<Network, u32>::new());
        let mut found = HashSet::new();
        for event in reads.filter(|event| unknown.contains(&event.path)) {
            if found.contains(&event.path) || added as usize + new.len() >= max as usize {
                continue;
            }
            if self.may_add(project, event.address, max, &mut used) {
                found.insert(&event.path);
                new.push(event.path.clone());
            }
        }
        pending.new_pages.extend(used.into_iter().map(|(network, pages)| (project, network, pages)));
        new
    }

    /// Whether the sender's network has quota left for a new page, and uses it. Senders without an address use an API
    /// key and have no quota. Each server counts for itself.
    fn may_add(
        &self,
        project: i64,
        address: Option<IpAddr>,
        max: u32,
        used: &mut HashMap<Network, u32>,
    ) -> bool {
        let Some(network) = address.map(Network::of) else { return true };
        let added = used.entry(network).or_default();
        let has_quota = self.quota.used(project, network) + *added < quota_per_network(max);
        *added += u32::from(has_quota);
        has_quota
    }

    fn block(
        &self,
        project: i64,
        events: &[&Event],
        others: &HashSet<String>,
        today: i64,
        new_names: &mut NewNames,
    ) -> Block {
        let mut block = Block::default();
        for event in events {
            let is_other_page = event.kind == Kind::Read && others.contains(&event.path);
            let is_other_name = self.names.is_other(project, event, new_names);
            let path = match (is_other_page, is_other_name) {
                (true, _) => OTHER_PAGES,
                (false, true) => OTHER_NAMES,
                (false, false) => &event.path,
            };
            let texts = &mut block.texts;
            let path = PathRef::Text(texts.number(path));
            let mut text = |text: &Option<String>| text.as_ref().map_or(0, |text| texts.number(text));
            let (agent, referrer) = (text(&event.user_agent), text(&event.referrer));
            let referrer = if is_other_name { 0 } else { referrer };
            block.rows.push(Row {
                at: event.at,
                path,
                kind: event.kind,
                class: event.class,
                markdown: event.markdown,
                status: event.status.unwrap_or_default(),
                agent,
                referrer,
                verification: self.shared.ranges.verify(product(event.user_agent.as_deref()), event.address),
                visitor: self.salts.visitor(project, event, today),
                id: None,
            });
        }
        block
    }

    /// Creates the salts of today and of tomorrow, for senders whose clocks are ahead. While a clock is not trusted,
    /// no salt is deleted: it may be the salt of the real day.
    async fn rotate_salts(&mut self, tx: &mut dyn LedgerTransaction, today: i64) -> Result<(), LedgerError> {
        let is_current = self.salts.0.contains_key(&today) && self.salts.0.contains_key(&(today + 1));
        if !is_current || self.salts.0.keys().any(|day| *day < today) {
            self.salts = self.shared.rotate_salts(tx).await?;
        }
        Ok(())
    }
}

/// The events that count: those without an id, and the first one with each id that was free. Adds the receipts.
fn keep_new<'b>(
    accepted: Vec<Result<&'b [Event], u64>>,
    hashes: &[Vec<Option<IdHash>>],
    mut free: HashSet<IdHash>,
    results: &mut Vec<Result<Receipt, u64>>,
) -> Vec<&'b Event> {
    let mut new = Vec::new();
    for (events, hashes) in accepted.into_iter().zip(hashes) {
        results.push(events.map(|events| {
            let before = new.len();
            for (event, hash) in events.iter().zip(hashes) {
                if hash.is_none_or(|hash| free.remove(&hash)) {
                    new.push(event);
                }
            }
            let duplicates = events.len() - (new.len() - before);
            Receipt { accepted: events.len() as u64, duplicates: duplicates as u64 }
        }));
    }
    new
}

/// Locks the file of a part. Returns its imported bytes if the part does not begin there; otherwise records the part.
async fn accept_part(
    tx: &mut dyn LedgerTransaction,
    project: i64,
    part: Option<&FilePart>,
) -> Result<Option<u64>, LedgerError> {
    let Some(part) = part else { return Ok(None) };
    let bytes = tx.lock_import(project, &part.file).await?;
    if bytes != part.from {
        return Ok(Some(bytes));
    }
    tx.record_import(project, part).await?;
    Ok(None)
}

fn hash_event_id(event: &Event) -> Option<IdHash> {
    let digest = Sha256::digest(event.event_id.as_ref()?);
    digest.first_chunk().copied()
}

/// Pages that are known to be in the ledger, by project.
#[derive(Default)]
struct KnownPages {
    projects: BTreeMap<i64, (i64, HashSet<String>)>,
    paths: usize,
}

impl KnownPages {
    fn contains(&self, project: LedgerProject, path: &str) -> bool {
        let known = self.projects.get(&project.id);
        known.is_some_and(|(epoch, paths)| *epoch == project.pages_epoch && paths.contains(path))
    }

    fn add(&mut self, project: LedgerProject, paths: HashSet<String>) {
        if self.paths + paths.len() > MAX_KNOWN_PAGES {
            *self = Self::default();
        }
        let (epoch, known) = self.projects.entry(project.id).or_default();
        if *epoch != project.pages_epoch {
            self.paths -= known.len();
            (*epoch, *known) = (project.pages_epoch, HashSet::new());
        }
        self.paths -= known.len();
        known.extend(paths);
        self.paths += known.len();
    }
}
