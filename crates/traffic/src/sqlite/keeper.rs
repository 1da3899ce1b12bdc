//! The keeper: the only task that writes page views, with group commit.
//!
//! Batches that arrive during a commit share the next one. A group writes one journal row per project, and
//! each sender gets its receipt after the fsync. The keeper also compacts the journal between groups, so no
//! locking is needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base::sqlite::Database;
use base::{Clock, ClockGuard, Cutoff};
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use super::event_ids::{self, EventIds};
use super::forget_paths::Selection;
use super::ingest::{IngestContext, PendingIngest};
use super::project::{DAY, ProjectCache, SharedProject};
use super::snapshot::Snapshot;
use super::{compaction, forget, import_progress, load};
use crate::event::Event;
use crate::limits::{IngestPermit, Limits};
use crate::new_name_quota::NewNameQuota;
use crate::new_page_quota::NewPageQuota;
use crate::ranges::AddressRanges;
use crate::reports::{ReclassifyProgress, RemovalProgress};
use crate::views::{Failure, FilePart, Receipt, with_cause};
use crate::visitor_salts::Salts;

/// Commands that are processed together.
const MAX_GROUP_SIZE: usize = 2048;
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(60);
/// A larger journal is compacted immediately. This is about half a million events, or fewer with long texts.
const MAX_JOURNAL_BYTES: usize = 64 << 20;

type Reply<T> = oneshot::Sender<Result<T, Failure>>;

pub(super) enum Command {
    Ingest(Batch),
    /// Loads a project with its prefix sums, if it exists.
    Load(String, Reply<Option<Arc<SharedProject>>>),
    /// Compacts a project's journal and returns a snapshot, if the project exists.
    Compact(String, Reply<Option<Snapshot>>),
    /// Reclassifies the events of the first day with events from a moment on.
    Reclassify(String, i64, Reply<ReclassifyProgress>),
    Forget(String, Reply<()>),
    /// Removes the selected paths from the first day with views from a moment on.
    ForgetPaths(String, Arc<Selection>, i64, Reply<(u64, RemovalProgress)>),
    RunMaintenance(Reply<()>),
    /// Stops the keeper after all queued commands. Then the sender is dropped.
    Close(oneshot::Sender<()>),
}

/// The receipt, or the imported bytes of the file if the batch is not its next part.
pub(super) type IngestResult = Result<Receipt, u64>;

pub(super) struct Batch {
    pub(super) project: String,
    pub(super) part: Option<FilePart>,
    pub(super) events: Vec<Event>,
    pub(super) reply: Reply<IngestResult>,
    /// Held until the batch is written, even if its sender is gone by then.
    pub(super) _permit: IngestPermit,
}

impl Batch {
    pub(super) fn respond(self, result: Result<IngestResult, Failure>) {
        // Sending fails when the sender is gone. It no longer needs the result.
        let _ = self.reply.send(result);
    }
}

pub(super) struct Keeper {
    pub(super) database: Database,
    pub(super) clock: Arc<dyn Clock>,
    /// Provides the cutoff for every deletion by age.
    pub(super) guard: Arc<ClockGuard>,
    pub(super) limits: Limits,
    pub(super) memory: Arc<ProjectCache>,
    pub(super) event_ids: HashMap<String, EventIds>,
    pub(super) salts: Salts,
    pub(super) quota: NewPageQuota,
    pub(super) names: NewNameQuota,
    pub(super) ranges: Arc<AddressRanges>,
}

impl Keeper {
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut maintenance = tokio::time::interval(MAINTENANCE_INTERVAL);
        maintenance.set_missed_tick_behavior(MissedTickBehavior::Delay);
        maintenance.reset();
        let (mut group, mut closing) = (Vec::new(), Vec::new());
        loop {
            tokio::select! {
                received = commands.recv_many(&mut group, MAX_GROUP_SIZE) => match received {
                    0 => return,
                    _ => {
                        for command in group.extract_if(.., |command| matches!(command, Command::Close(_))) {
                            if let Command::Close(sender) = command {
                                closing.push(sender);
                                commands.close();
                            }
                        }
                        self.process(group.drain(..)).await;
                    }
                },
                _ = maintenance.tick() => {
                    if let Err(failure) = self.run_maintenance().await {
                        tracing::error!("maintenance of page views failed: {}", with_cause(&failure));
                    }
                }
            }
        }
    }

    async fn process(&mut self, commands: impl Iterator<Item = Command>) {
        let (mut batches, mut others) = (HashMap::<String, Vec<Batch>>::new(), Vec::new());
        for command in commands {
            match command {
                Command::Ingest(batch) => batches.entry(batch.project.clone()).or_default().push(batch),
                other => others.push(other),
            }
        }
        self.ingest(batches).await;
        for command in others {
            match command {
                Command::Ingest(_) | Command::Close(_) => {}
                Command::Load(name, reply) => drop(reply.send(self.load_with_sums(&name).await)),
                Command::Compact(name, reply) => drop(reply.send(self.snapshot(&name).await)),
                Command::Reclassify(name, from, reply) => {
                    drop(reply.send(self.reclassify(&name, from).await));
                }
                Command::ForgetPaths(name, selection, from, reply) => {
                    drop(reply.send(self.forget_paths(&name, &selection, from).await));
                }
                Command::Forget(name, reply) => drop(reply.send(self.forget(&name).await)),
                Command::RunMaintenance(reply) => drop(reply.send(self.run_maintenance().await)),
            }
        }
    }

    async fn ingest(&mut self, batches: HashMap<String, Vec<Batch>>) {
        let now = self.clock.now_ms();
        let expired = self.guard.cutoff(event_ids::DEDUP_WINDOW);
        self.quota.set_day(now.div_euclid(DAY));
        self.names.set_day(now.div_euclid(DAY));
        let (mut pending, mut all_rows) = (Vec::new(), Vec::new());
        for (name, batches) in batches {
            match self.prepare(&name, batches, now, expired).await {
                Ok((ingest, rows)) => {
                    pending.push((name, ingest));
                    all_rows.push(rows);
                }
                Err((failure, batches)) => fail_batches(batches, &failure),
            }
        }
        let written = self.database.write(move |connection| {
            async move {
                for rows in all_rows {
                    rows.write(connection).await?;
                }
                Ok::<_, Failure>(())
            }
            .boxed()
        });
        match written.await {
            Ok(()) => self.finish_ingest(pending).await,
            Err(failure) => pending.into_iter().for_each(|(_, ingest)| {
                ingest.roll_back();
                fail_batches(ingest.batches, &failure);
            }),
        }
    }

    async fn prepare(
        &mut self,
        name: &str,
        batches: Vec<Batch>,
        now: i64,
        expired: Cutoff,
    ) -> Result<(PendingIngest, super::ingest::IngestRows), (Failure, Vec<Batch>)> {
        let shared = match self.load_or_create(name, now).await {
            Ok(shared) => shared,
            Err(failure) => return Err((failure, batches)),
        };
        let project = shared.read().id;
        let batches = import_progress::accept_next_parts(self.database.reads(), project, batches).await?;
        let context = IngestContext {
            reads: self.database.reads(),
            salts: &self.salts,
            new_pages: self.limits.new_pages,
            quota: &self.quota,
            names: &self.names,
            ranges: &self.ranges,
            now,
            expired,
        };
        let none = EventIds::default();
        context.prepare(shared, self.event_ids.get(name).unwrap_or(&none), batches).await
    }

    /// Loads a project, creates it if it does not exist, and rotates the salts.
    async fn load_or_create(&mut self, name: &str, now: i64) -> Result<Arc<SharedProject>, Failure> {
        self.rotate_salts(now).await?;
        if let Some(shared) = self.load(name).await? {
            return Ok(shared);
        }
        let project = name.to_owned();
        let created = self
            .database
            .write(move |connection| async move { load::create(connection, &project).await }.boxed());
        created.await?;
        let shared = self.load(name).await?;
        shared.ok_or_else(|| Failure::new("a new project is missing"))
    }

    pub(super) async fn rotate_salts(&mut self, now: i64) -> Result<(), Failure> {
        let day = |now: i64| now.div_euclid(DAY);
        let (today, trusted_day) = (day(now), self.guard.trusted_now().map(day));
        if !self.salts.are_current(today, trusted_day) {
            let rotated =
                self.database.write(move |connection| Salts::rotate(connection, today, trusted_day).boxed());
            self.salts = rotated.await?;
        }
        Ok(())
    }

    pub(super) async fn load(&mut self, name: &str) -> Result<Option<Arc<SharedProject>>, Failure> {
        if let Some(shared) = self.memory.get(name) {
            return Ok(Some(shared));
        }
        let Some(id) = load::project_id(self.database.reads(), name).await? else { return Ok(None) };
        let (shared, event_ids) = load::project(self.database.reads(), id).await?;
        self.memory.insert(name, shared.clone());
        self.event_ids.insert(name.to_owned(), event_ids);
        self.evict_projects(name);
        Ok(Some(shared))
    }

    async fn load_with_sums(&mut self, name: &str) -> Result<Option<Arc<SharedProject>>, Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(None) };
        let (id, pages, has_sums) = {
            let project = shared.read();
            (project.id, project.pages.len(), project.prefix_sums.is_some())
        };
        if !has_sums {
            let mut sums = load::prefix_sums(self.database.reads(), id, pages).await?;
            let mut project = shared.write();
            for read in &project.recent {
                sums.add(read.at.div_euclid(DAY), read.page, read.class, 1);
            }
            project.prefix_sums = Some(sums);
            drop(project);
            self.evict_projects(name);
        }
        Ok(Some(shared))
    }

    /// Evicts projects from memory until the others fit. `keep` stays.
    fn evict_projects(&mut self, keep: &str) {
        let filters: usize = self.event_ids.values().map(EventIds::memory_bytes).sum();
        for name in self.memory.evict_to_fit(self.limits.memory.saturating_sub(filters), keep) {
            self.event_ids.remove(&name);
        }
    }

    async fn finish_ingest(&mut self, pending: Vec<(String, PendingIngest)>) {
        let mut full = Vec::new();
        for (name, ingest) in pending {
            let shared = ingest.shared.clone();
            let event_ids = self.event_ids.entry(name.clone()).or_default();
            ingest.finish(event_ids, &mut self.quota, &mut self.names);
            if shared.read().journal_bytes >= MAX_JOURNAL_BYTES {
                full.push(name);
            }
        }
        for name in full {
            if let Err(failure) = self.compact(&name).await {
                tracing::error!("page views of {name} could not be compacted: {}", with_cause(&failure));
            }
        }
    }

    /// Compacts a project's journal.
    async fn compact(&mut self, name: &str) -> Result<(), Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(()) };
        let (project, raw_from) = {
            let project = shared.read();
            (project.id, project.raw_from)
        };
        let compacted = self.database.write(move |connection| {
            async move { compaction::compact(connection, project, raw_from).await }.boxed()
        });
        let segments = compacted.await?;
        let mut project = shared.write();
        project.recent = Vec::new();
        project.journal_bytes = 0;
        project.disk_version += 1;
        self.event_ids.entry(name.to_owned()).or_default().replace_recent(segments);
        Ok(())
    }

    /// Loads a project and compacts its journal.
    pub(super) async fn load_compacted(&mut self, name: &str) -> Result<Option<Arc<SharedProject>>, Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(None) };
        if shared.read().journal_bytes > 0 {
            self.compact(name).await?;
        }
        Ok(Some(shared))
    }

    async fn forget(&mut self, name: &str) -> Result<(), Failure> {
        self.memory.remove(name);
        self.event_ids.remove(name);
        let project = name.to_owned();
        let deleted = self
            .database
            .write(move |connection| async move { forget::forget(connection, &project).await }.boxed());
        deleted.await
    }

    /// Compacts all journals and deletes expired data.
    async fn run_maintenance(&mut self) -> Result<(), Failure> {
        for name in compaction::projects_with_journal(self.database.reads()).await? {
            self.compact(&name).await?;
        }
        self.delete_expired().await
    }
}

fn fail_batches(batches: Vec<Batch>, failure: &Failure) {
    batches.into_iter().for_each(|batch| batch.respond(Err(failure.clone())));
}
