//! The one who writes. Whoever waits while one commit runs shares the next: a group of batches is
//! one row a project, and each sender is told after the fsync. Between groups it sorts what came
//! in, so that nothing else has to be kept from changing at the same time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base::sqlite::Database;
use base::{Clock, ClockGuard, Cutoff};
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use super::forget_paths::Selection;
use super::project::{DAY, InMemory, Shared};
use super::salts::Salts;
use super::seen::{self, Seen};
use super::sorted::Sorted;
use super::take::{Addition, Desk};
use super::{fold, forget, ledger, load};
use crate::event::Event;
use crate::reports::{Reclassified, Removed};
use crate::room::{Limits, Place};
use crate::share::NewPageShares;
use crate::views::{Failure, Part, Receipt};

/// Messages that are taken together.
const GROUP: usize = 2048;
const UPKEEP: Duration = Duration::from_secs(60);
/// What may wait to be sorted: half a million events, or fewer with long texts.
const MOST_WAITING: usize = 64 << 20;

type Answer<T> = oneshot::Sender<Result<T, Failure>>;

pub(super) enum Ask {
    Take(Batch),
    /// The project with the sums of its days, if there is one.
    Load(String, Answer<Option<Arc<Shared>>>),
    /// The project when all of its views are sorted, if there is one.
    Fold(String, Answer<Option<Sorted>>),
    /// Classifies the events of a day anew, the first from a moment on.
    Reclassify(String, i64, Answer<Reclassified>),
    Forget(String, Answer<()>),
    /// Removes the views of a day whose paths are selected, the first from a moment on.
    ForgetPaths(String, Arc<Selection>, i64, Answer<(u64, Removed)>),
    Tidy(Answer<()>),
    /// Ends the keeper once everything in the queue is answered. The sender is dropped then.
    Close(oneshot::Sender<()>),
}

/// What was taken, or up to which byte the file of a batch was read that is not its next part.
pub(super) type Taken = Result<Receipt, u64>;

pub(super) struct Batch {
    pub(super) project: String,
    pub(super) part: Option<Part>,
    pub(super) events: Vec<Event>,
    pub(super) answer: Answer<Taken>,
    /// Left when the batch is written, also if its sender is gone by then.
    pub(super) _place: Place,
}

impl Batch {
    pub(super) fn tell(self, result: Result<Taken, Failure>) {
        // A sender that went away does not need its answer.
        let _ = self.answer.send(result);
    }
}

pub(super) struct Keeper {
    pub(super) database: Database,
    pub(super) clock: Arc<dyn Clock>,
    /// Asked before anything is deleted because of its age.
    pub(super) guard: Arc<ClockGuard>,
    pub(super) limits: Limits,
    pub(super) memory: Arc<InMemory>,
    pub(super) seen: HashMap<String, Seen>,
    pub(super) salts: Salts,
    pub(super) shares: NewPageShares,
}

impl Keeper {
    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let mut upkeep = tokio::time::interval(UPKEEP);
        upkeep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        upkeep.reset();
        let (mut group, mut closing) = (Vec::new(), Vec::new());
        loop {
            tokio::select! {
                came = asks.recv_many(&mut group, GROUP) => match came {
                    0 => return,
                    _ => {
                        for ask in group.extract_if(.., |ask| matches!(ask, Ask::Close(_))) {
                            if let Ask::Close(sender) = ask {
                                closing.push(sender);
                                asks.close();
                            }
                        }
                        self.answer(group.drain(..)).await;
                    }
                },
                _ = upkeep.tick() => {
                    if let Err(failure) = self.tidy().await {
                        tracing::error!("page views could not be sorted: {}", because(&failure));
                    }
                }
            }
        }
    }

    async fn answer(&mut self, asks: impl Iterator<Item = Ask>) {
        let (mut batches, mut others) = (HashMap::<String, Vec<Batch>>::new(), Vec::new());
        for ask in asks {
            match ask {
                Ask::Take(batch) => batches.entry(batch.project.clone()).or_default().push(batch),
                other => others.push(other),
            }
        }
        self.take(batches).await;
        for ask in others {
            match ask {
                Ask::Take(_) | Ask::Close(_) => {}
                Ask::Load(name, answer) => drop(answer.send(self.load_whole(&name).await)),
                Ask::Fold(name, answer) => drop(answer.send(self.sorted(&name).await)),
                Ask::Reclassify(name, from, answer) => {
                    drop(answer.send(self.reclassify(&name, from).await));
                }
                Ask::ForgetPaths(name, selection, from, answer) => {
                    drop(answer.send(self.forget_paths(&name, &selection, from).await));
                }
                Ask::Forget(name, answer) => drop(answer.send(self.forget(&name).await)),
                Ask::Tidy(answer) => drop(answer.send(self.tidy().await)),
            }
        }
    }

    async fn take(&mut self, batches: HashMap<String, Vec<Batch>>) {
        let now = self.clock.now_ms();
        let forgotten = self.guard.cutoff(seen::REMEMBERED);
        self.shares.set_day(now.div_euclid(DAY));
        let (mut additions, mut writings) = (Vec::new(), Vec::new());
        for (name, batches) in batches {
            match self.ready(&name, batches, now, forgotten).await {
                Ok((addition, writing)) => {
                    additions.push((name, addition));
                    writings.push(writing);
                }
                Err((failure, batches)) => refuse(batches, &failure),
            }
        }
        let written = self.database.write(move |connection| {
            async move {
                for writing in writings {
                    writing.write(connection).await?;
                }
                Ok::<_, Failure>(())
            }
            .boxed()
        });
        match written.await {
            Ok(()) => self.done(additions).await,
            Err(failure) => additions.into_iter().for_each(|(_, addition)| {
                addition.undo();
                refuse(addition.batches, &failure);
            }),
        }
    }

    async fn ready(
        &mut self,
        name: &str,
        batches: Vec<Batch>,
        now: i64,
        forgotten: Cutoff,
    ) -> Result<(Addition, super::take::Writing), (Failure, Vec<Batch>)> {
        let shared = match self.at_hand(name, now).await {
            Ok(shared) => shared,
            Err(failure) => return Err((failure, batches)),
        };
        let project = shared.read().id;
        let batches = ledger::in_turn(self.database.reads(), project, batches).await?;
        let (reads, salts, shares) = (self.database.reads(), &self.salts, &self.shares);
        let desk = Desk { reads, salts, new_pages: self.limits.new_pages, shares, now, forgotten };
        let none = Seen::default();
        desk.ready(shared, self.seen.get(name).unwrap_or(&none), batches).await
    }

    /// A project that views can be taken for, made if it is not there, and the salts of the day.
    async fn at_hand(&mut self, name: &str, now: i64) -> Result<Arc<Shared>, Failure> {
        self.turn_salts(now).await?;
        if let Some(shared) = self.load(name).await? {
            return Ok(shared);
        }
        let project = name.to_owned();
        let made = self
            .database
            .write(move |connection| async move { load::create(connection, &project).await }.boxed());
        made.await?;
        let shared = self.load(name).await?;
        shared.ok_or_else(|| Failure::new("a project that was just made is not there"))
    }

    pub(super) async fn turn_salts(&mut self, now: i64) -> Result<(), Failure> {
        let day = |now: i64| now.div_euclid(DAY);
        let (today, trusted_day) = (day(now), self.guard.trusted_now().map(day));
        if !self.salts.ready(today, trusted_day) {
            let turned =
                self.database.write(move |connection| Salts::turn(connection, today, trusted_day).boxed());
            self.salts = turned.await?;
        }
        Ok(())
    }

    pub(super) async fn load(&mut self, name: &str) -> Result<Option<Arc<Shared>>, Failure> {
        if let Some(shared) = self.memory.get(name) {
            return Ok(Some(shared));
        }
        let Some(id) = load::project_id(self.database.reads(), name).await? else { return Ok(None) };
        let (shared, seen) = load::project(self.database.reads(), id).await?;
        self.memory.insert(name, shared.clone());
        self.seen.insert(name.to_owned(), seen);
        self.make_room(name);
        Ok(Some(shared))
    }

    async fn load_whole(&mut self, name: &str) -> Result<Option<Arc<Shared>>, Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(None) };
        let (id, pages, whole) = {
            let project = shared.read();
            (project.id, project.pages.len(), project.index.is_some())
        };
        if !whole {
            let mut index = load::index(self.database.reads(), id, pages).await?;
            let mut project = shared.write();
            for read in &project.recent {
                index.add(read.at.div_euclid(DAY), read.page, read.class, 1);
            }
            project.index = Some(index);
            drop(project);
            self.make_room(name);
        }
        Ok(Some(shared))
    }

    fn make_room(&mut self, but: &str) {
        let filters: usize = self.seen.values().map(Seen::bytes).sum();
        for name in self.memory.fit(self.limits.memory.saturating_sub(filters), but) {
            self.seen.remove(&name);
        }
    }

    async fn done(&mut self, additions: Vec<(String, Addition)>) {
        let mut full = Vec::new();
        for (name, addition) in additions {
            let shared = addition.shared.clone();
            let seen = self.seen.entry(name.clone()).or_default();
            addition.done(seen, &mut self.shares);
            if shared.read().waiting >= MOST_WAITING {
                full.push(name);
            }
        }
        for name in full {
            if let Err(failure) = self.fold(&name).await {
                tracing::error!("page views of {name} could not be sorted: {}", because(&failure));
            }
        }
    }

    /// Sorts what came in of a project.
    async fn fold(&mut self, name: &str) -> Result<(), Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(()) };
        let (project, raw_from) = {
            let project = shared.read();
            (project.id, project.raw_from)
        };
        let folded = self
            .database
            .write(move |connection| async move { fold::fold(connection, project, raw_from).await }.boxed());
        let segments = folded.await?;
        let mut project = shared.write();
        project.recent = Vec::new();
        project.waiting = 0;
        project.folds += 1;
        self.seen.entry(name.to_owned()).or_default().folded(segments);
        Ok(())
    }

    pub(super) async fn folded(&mut self, name: &str) -> Result<Option<Arc<Shared>>, Failure> {
        let Some(shared) = self.load(name).await? else { return Ok(None) };
        if shared.read().waiting > 0 {
            self.fold(name).await?;
        }
        Ok(Some(shared))
    }

    async fn forget(&mut self, name: &str) -> Result<(), Failure> {
        self.memory.remove(name);
        self.seen.remove(name);
        let project = name.to_owned();
        let forgotten = self
            .database
            .write(move |connection| async move { forget::forget(connection, &project).await }.boxed());
        forgotten.await
    }

    /// Sorts what waits for it, and lets go of what is too old.
    async fn tidy(&mut self) -> Result<(), Failure> {
        for name in fold::waiting(self.database.reads()).await? {
            self.fold(&name).await?;
        }
        self.let_go().await
    }
}

fn refuse(batches: Vec<Batch>, failure: &Failure) {
    batches.into_iter().for_each(|batch| batch.tell(Err(failure.clone())));
}

/// A failure with its cause, for the log.
pub(super) fn because(failure: &Failure) -> String {
    use std::error::Error;
    failure.source().map_or_else(|| failure.to_string(), |cause| format!("{failure}: {cause}"))
}
