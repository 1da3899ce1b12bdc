//! Stores page views in ClickHouse, with a ledger in a transactional database, so that any number of servers can take
//! them.
//!
//! The ledger claims event ids and keeps batches in an outbox: that commit acknowledges them (`take`). Any server ships
//! them to ClickHouse exactly once (`ship`). A report counts what ClickHouse has and what still waits, as of one moment
//! (`snapshot`).

mod binding;
mod count;
mod day_readers;
mod engine;
mod forget_paths;
mod lease;
pub mod ledger;
mod live;
mod name_folds;
mod names;
mod path_days;
mod reclassify;
mod reports;
mod retention;
mod rewrite;
mod rows;
mod schema;
mod series;
mod ship;
mod snapshot;
mod sql;
mod take;
mod transaction;
mod transfer;
mod url;
mod visitors;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use base::{Clock, ClockGuard};
use tokio::sync::{Mutex, OnceCell, Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::event::Event;
use crate::limits::{IngestLimiter, Limits};
use crate::list_query::ListQuery;
use crate::range::Range;
use crate::range_parts::DAY;
use crate::ranges::AddressRanges;
use crate::views::{Counts, Failure, FilePart, IngestError, Lag, Progress, Receipt, Views, Visitors};
use engine::Engine;
use ledger::Ledger;
use name_folds::NameFolds;
use take::{Batch, Taker};
use transaction::transact;
pub use transfer::{FoundViews, TransferredPart, ViewsToMove, ViewsTransfer, find_page_views};
pub use url::{ViewsUrl, is_clickhouse_name};
use visitors::DaysPerQuery;

/// Seven days, including the last millisecond.
const DEDUP_WINDOW: Duration = Duration::from_millis(7 * DAY.unsigned_abs() + 1);
/// Batches that may wait for a transaction. The limiter has a lower limit.
const MAX_QUEUED_BATCHES: usize = 4096;
/// Reports that are computed at the same time.
const MAX_CONCURRENT_REPORTS: usize = 8;
/// How long [`Views::health`] waits for ClickHouse.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a close waits for batches that are being written.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits of the outbox.
#[derive(Debug, Clone, Copy)]
pub struct RemoteLimits {
    /// Views that may wait for ClickHouse. Further batches are refused.
    pub max_waiting: u64,
    /// Whether this process ships, deletes, and completes rewrites in the background. Tests call
    /// [`RemoteViews::run_maintenance`], and drop a rewrite to cut it off.
    pub in_background: bool,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self { max_waiting: 5_000_000, in_background: true }
    }
}

/// Where the views are, and what this server may do.
pub struct RemoteSettings {
    pub ledger: Arc<dyn Ledger>,
    pub url: ViewsUrl,
    /// The name of the ClickHouse cluster, for replicated tables.
    pub cluster: Option<String>,
    pub clock: Arc<dyn Clock>,
    /// Must watch the database's clock: otherwise nothing is deleted, and no event id expires.
    pub guard: Arc<ClockGuard>,
    pub limits: Limits,
    pub remote: RemoteLimits,
    pub ranges: AddressRanges,
    /// Whether an empty database may replace the one that had the views so far. Its views are given up.
    pub may_begin_anew: bool,
}

/// What [`RemoteViews::inspect`] finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Of ClickHouse.
    pub version: String,
    /// The first server that starts creates them.
    pub has_tables: bool,
    pub lag: Lag,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct RemoteViews(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    limiter: IngestLimiter,
    taker: mpsc::Sender<Batch>,
    in_flight: AtomicU64,
    is_closed: AtomicBool,
    in_background: bool,
    tasks: Vec<AbortHandle>,
}

/// What the tasks and the reports share.
struct Shared {
    ledger: Arc<dyn Ledger>,
    engine: Engine,
    prepared: OnceCell<()>,
    clock: Arc<dyn Clock>,
    guard: Arc<ClockGuard>,
    limits: Limits,
    max_waiting: u64,
    ranges: AddressRanges,
    may_begin_anew: bool,
    reports: Semaphore,
    name_folds: Mutex<NameFolds>,
    days_per_query: DaysPerQuery,
    /// Views in the outbox, about: counted every second.
    waiting: AtomicU64,
    is_failing: AtomicBool,
}

impl RemoteViews {
    /// Connects to nothing: views are taken while ClickHouse is away. [`Self::check`] connects.
    pub fn open(settings: RemoteSettings) -> Result<Self, Failure> {
        if let Some(cluster) = settings.cluster.as_ref().filter(|name| !is_clickhouse_name(name)) {
            return Err(Failure::new(format!("`{cluster}` is not the name of a cluster")));
        }
        let shared = Arc::new(Shared {
            ledger: settings.ledger,
            engine: Engine::new(settings.url, settings.cluster)?,
            prepared: OnceCell::new(),
            clock: settings.clock,
            guard: settings.guard,
            limits: settings.limits,
            max_waiting: settings.remote.max_waiting,
            ranges: settings.ranges,
            may_begin_anew: settings.may_begin_anew,
            reports: Semaphore::new(MAX_CONCURRENT_REPORTS),
            name_folds: Mutex::default(),
            days_per_query: DaysPerQuery::default(),
            waiting: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        });
        let (taker, batches) = mpsc::channel(MAX_QUEUED_BATCHES);
        let mut tasks = vec![tokio::spawn(Taker::new(shared.clone()).run(batches)).abort_handle()];
        if settings.remote.in_background {
            tasks.push(tokio::spawn(ship::run(shared.clone())).abort_handle());
            tasks.push(tokio::spawn(retention::run(shared.clone())).abort_handle());
        }
        let limiter = IngestLimiter::new(settings.limits);
        let (in_flight, is_closed) = (AtomicU64::new(0), AtomicBool::new(false));
        let in_background = settings.remote.in_background;
        Ok(Self(Arc::new(Inner { shared, limiter, taker, in_flight, is_closed, in_background, tasks })))
    }

    /// Connects to ClickHouse, checks its version and creates or upgrades the tables.
    pub async fn check(&self) -> Result<(), Failure> {
        self.0.shared.ready().await.map(drop)
    }

    /// Checks ClickHouse and what waits for it, and changes nothing.
    pub async fn inspect(&self) -> Result<Inspection, Failure> {
        let shared = &self.0.shared;
        let version = schema::check_version(&shared.engine).await?;
        let has_tables = schema::has_tables(&shared.engine).await?;
        if has_tables {
            shared.check_binding().await?;
        }
        Ok(Inspection { version, has_tables, lag: shared.update_backlog().await? })
    }

    /// Ships what waits.
    pub async fn ship(&self) -> Result<(), Failure> {
        self.0.shared.ship(None).await
    }

    /// Ships what waits, if something has waited for a second. Servers do this every second.
    pub async fn ship_if_due(&self) -> Result<(), Failure> {
        self.0.shared.ship_if_due().await
    }

    /// Ships what waits and deletes expired data. Servers also do this every minute.
    pub async fn run_maintenance(&self) -> Result<(), Failure> {
        self.0.shared.run_maintenance().await
    }

    /// Where the raw events of a project begin, in milliseconds since 1970.
    pub async fn raw_from(&self, project: &str) -> Result<Option<i64>, Failure> {
        Ok(transact!(self.0.shared.ledger, |tx| tx.snapshot(project, 0).await)?
            .map(|snapshot| snapshot.raw_from))
    }

    async fn take(
        &self,
        project: &str,
        part: Option<FilePart>,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError> {
        let inner = &*self.0;
        if inner.shared.waiting.load(Ordering::Relaxed) >= inner.shared.max_waiting {
            return Err(IngestError::Busy);
        }
        let bytes = events.iter().map(Event::memory_bytes).sum();
        let permit = inner.limiter.try_acquire(bytes).ok_or(IngestError::Busy)?;
        let stopped = || IngestError::Failed(Failure::new("the page views are closed"));
        if inner.is_closed.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        let (reply, response) = oneshot::channel();
        inner.in_flight.fetch_add(1, Ordering::Relaxed);
        let batch = Batch { project: project.to_owned(), part, events, reply, _permit: permit };
        let taken = match inner.taker.send(batch).await {
            Ok(()) => response.await.unwrap_or_else(|_| Err(stopped())),
            Err(_) => Err(stopped()),
        };
        inner.in_flight.fetch_sub(1, Ordering::Relaxed);
        taken
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Shared {
    /// ClickHouse with its tables, if it is the database of this ledger.
    async fn ready(&self) -> Result<&Engine, Failure> {
        let prepare = async {
            schema::prepare(&self.engine).await?;
            self.bind().await
        };
        self.prepared.get_or_try_init(|| prepare).await?;
        Ok(&self.engine)
    }

    /// Counts what waits. Says nothing about ClickHouse.
    async fn update_backlog(&self) -> Result<Lag, Failure> {
        let (backlog, now) = transact!(self.ledger, |tx| Ok((tx.backlog().await?, tx.now())))?;
        self.waiting.store(backlog.events, Ordering::Relaxed);
        let age = backlog.oldest.map(|oldest| Duration::from_millis((now - oldest).max(0).unsigned_abs()));
        Ok(Lag { waiting_events: backlog.events, oldest_age: age, engine_is_away: false })
    }

    /// Whether ClickHouse answers.
    async fn ping(&self) -> Result<(), Failure> {
        Ok(self.ready().await?.ping(PING_TIMEOUT).await?)
    }
}

#[async_trait]
impl Views for RemoteViews {
    async fn ingest(&self, project: &str, events: Vec<Event>) -> Result<Receipt, IngestError> {
        match events.is_empty() {
            true => Ok(Receipt::default()),
            false => self.take(project, None, events).await,
        }
    }

    async fn ingest_part(
        &self,
        project: &str,
        part: FilePart,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError> {
        self.take(project, Some(part), events).await
    }

    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure> {
        Ok(transact!(self.0.shared.ledger, |tx| tx.progress(project, file).await)?)
    }

    async fn count(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Counts, Failure> {
        self.0.shared.count(project, range, query).await
    }

    async fn visitors(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Visitors, Failure> {
        self.0.shared.visitors(project, range, query).await
    }

    async fn forget(&self, project: &str) -> Result<(), Failure> {
        self.0.shared.forget(project).await
    }

    async fn health(&self) -> Result<Lag, Failure> {
        let shared = &self.0.shared;
        // Before the first answer, tables may have to be created.
        let answered = timeout(PING_TIMEOUT * 2, shared.ping()).await;
        let engine_is_away = !matches!(answered, Ok(Ok(())));
        Ok(Lag { engine_is_away, ..shared.update_backlog().await? })
    }

    async fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while self.0.in_flight.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        self.0.tasks.iter().for_each(AbortHandle::abort);
    }
}
