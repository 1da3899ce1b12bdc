//! The ledger of page views: what must be transactional. A database implements these traits; `remote` uses them.
//!
//! Every method runs in the transaction that it belongs to. Days count from 1970, times are milliseconds since 1970.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use base::Cutoff;
use machine::Trouble;

use crate::views::{FilePart, Progress};

/// Half of the SHA-256 hash of an event id.
pub type IdHash = [u8; 16];

/// The database of the ledger. Its clock dates everything.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Begins a transaction. Dropping it rolls it back.
    async fn begin(&self) -> Result<Box<dyn LedgerTransaction>, LedgerError>;

    /// Begins a transaction that reads one snapshot.
    async fn begin_read(&self) -> Result<Box<dyn LedgerTransaction>, LedgerError>;
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// A deadlock or a serialization failure: try the transaction again.
    #[error("the database aborted the transaction (deadlock or serialization failure); retry it")]
    Aborted,
    #[error("the database did not answer: {0}")]
    Unavailable(String),
    #[error("the database cannot be used just now: {0}")]
    Machine(#[source] Trouble),
    #[error("the database refused a statement: {0}")]
    Failed(String),
}

#[async_trait]
pub trait LedgerTransaction: EngineBinding + Intake + Outbox + Days + Projects + Transfers {
    /// The database's clock at the beginning of the transaction.
    fn now(&self) -> i64;

    async fn commit(self: Box<Self>) -> Result<(), LedgerError>;
}

/// The id that the ledger and its database in ClickHouse share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub id: String,
    /// Whether ClickHouse got the id.
    pub is_bound: bool,
}

/// Records which database in ClickHouse belongs to the ledger.
#[async_trait]
pub trait EngineBinding: Send {
    /// Locks the binding and returns it. The first call creates it.
    async fn lock_binding(&mut self, new_id: &str) -> Result<Binding, LedgerError>;

    /// Records that ClickHouse has the id. Projects get higher numbers than `last_project` from now on: a database that
    /// was restored from a backup would give a new project the views of another one.
    async fn set_bound(&mut self, last_project: i64) -> Result<(), LedgerError>;

    /// Changes the id, which ClickHouse has not yet, and forgets the days of a database that was lost.
    async fn begin_anew(&mut self, new_id: &str) -> Result<(), LedgerError>;
}

/// A project that gets views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerProject {
    /// Never reused.
    pub id: i64,
    pub pages_epoch: i64,
}

/// Takes batches of views.
#[async_trait]
pub trait Intake: Send {
    /// Finds or creates a project, and keeps it from being deleted until the transaction ends.
    async fn project(&mut self, name: &str) -> Result<LedgerProject, LedgerError>;

    /// Locks the progress of a file, and returns its imported bytes.
    async fn lock_import(&mut self, project: i64, file: &str) -> Result<u64, LedgerError>;

    /// Records a part of a locked file.
    async fn record_import(&mut self, project: i64, part: &FilePart) -> Result<(), LedgerError>;

    /// Claims event ids and returns those that were free. An id that expired is free. `ids` must be sorted, so that
    /// two transactions lock them in the same order.
    async fn claim(
        &mut self,
        project: i64,
        ids: &[IdHash],
        expired: &Cutoff,
    ) -> Result<HashSet<IdHash>, LedgerError>;

    /// The known pages among some paths.
    async fn known_pages(&mut self, project: i64, paths: &[&str]) -> Result<HashSet<String>, LedgerError>;

    /// Locks the number of pages that were added on a day.
    async fn lock_added_pages(&mut self, project: i64, day: i64) -> Result<u32, LedgerError>;

    async fn add_pages(&mut self, project: i64, day: i64, paths: &[String]) -> Result<(), LedgerError>;

    /// Keeps a block of views until it is shipped.
    async fn keep(&mut self, project: i64, events: u64, block: Vec<u8>) -> Result<(), LedgerError>;

    /// Creates the salts of two days unless they exist, deletes those of earlier days than `expired_before`, and
    /// returns the others. The first server of a day decides on its salt.
    async fn salts(
        &mut self,
        new: &[(i64, [u8; 32])],
        expired_before: Option<i64>,
    ) -> Result<HashMap<i64, [u8; 32]>, LedgerError>;

    /// Empties the table of older ids if all of them expired, and lets it take the new ones. Leaves it for later while
    /// someone reads the whole table, such as a backup.
    async fn rotate_ids(&mut self, expired: &Cutoff) -> Result<(), LedgerError>;
}

/// How much waits to be shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    pub events: u64,
    pub bytes: u64,
    /// When the oldest was received.
    pub oldest: Option<i64>,
}

/// A shipment that was frozen: a retry sends the same rows under the same token.
#[derive(Debug, Clone, Default)]
pub struct Shipment {
    /// Blocks, each with its project.
    pub blocks: Vec<(i64, Vec<u8>)>,
    /// The generations of rewritten days, by project and day.
    pub generations: HashMap<(i64, i64), i64>,
    /// Where the raw events of each project begin.
    pub raw_from: HashMap<i64, i64>,
}

/// Which blocks a call ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShipmentScope<'a> {
    /// `None`: every project.
    pub project: Option<i64>,
    /// The lease of the caller; blocks of projects that others lease stay.
    pub lease: &'a str,
    pub max_events: u64,
    /// The last block: what arrives during a call is shipped by a later one.
    pub last: i64,
    /// Ships nothing unless a block has waited for so long.
    pub min_age_ms: i64,
}

/// Ships what was taken.
#[async_trait]
pub trait Outbox: Send {
    async fn backlog(&mut self) -> Result<Backlog, LedgerError>;

    /// The number of the newest block that waits, 0 if none does.
    async fn last_waiting(&mut self) -> Result<i64, LedgerError>;

    /// Freezes blocks that wait as a shipment, leased for `lease_ms`. Returns false if there are none.
    async fn freeze(
        &mut self,
        token: &str,
        scope: ShipmentScope<'_>,
        lease_ms: i64,
    ) -> Result<bool, LedgerError>;

    /// Leases the oldest shipment that no server sends.
    async fn lease_shipment(&mut self, lease_ms: i64) -> Result<Option<String>, LedgerError>;

    /// Ends the lease of a shipment that could not be sent.
    async fn release_shipment(&mut self, token: &str) -> Result<(), LedgerError>;

    /// The tokens of a project's shipments.
    async fn shipments_of(&mut self, project: i64) -> Result<Vec<String>, LedgerError>;

    async fn shipment(&mut self, token: &str) -> Result<Shipment, LedgerError>;

    /// Deletes a shipment with its blocks. Returns false if another server already did.
    async fn remove_shipment(&mut self, token: &str) -> Result<bool, LedgerError>;
}

/// A day of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DayRecord {
    pub day: i64,
    pub folds: i64,
    pub generation: i64,
    /// Encoded distinct readers; `None`: count them again.
    pub visitors: Option<Vec<u8>>,
}

/// What a report needs of the ledger, as of one moment.
#[derive(Debug, Clone, Default)]
pub struct LedgerSnapshot {
    pub project: i64,
    /// The ledger's clock.
    pub now: i64,
    pub version: i64,
    pub raw_from: i64,
    /// The rewritten days, with their generations.
    pub generations: Vec<(i64, i64)>,
    /// Whether some views are on their way to ClickHouse.
    pub is_shipping: bool,
    pub waiting_events: u64,
    /// The blocks that wait, unless there are too many events.
    pub blocks: Vec<Vec<u8>>,
    /// The first and the last day with reads.
    pub read_days: Option<(i64, i64)>,
}

impl LedgerSnapshot {
    /// The generation that counts on a day.
    pub(super) fn generation(&self, day: i64) -> i64 {
        let found = self.generations.binary_search_by_key(&day, |(day, _)| *day);
        found.map_or(0, |index| self.generations[index].1)
    }
}

/// Numbers by day.
#[async_trait]
pub trait Days: Send {
    async fn snapshot(
        &mut self,
        project: &str,
        max_events: u64,
    ) -> Result<Option<LedgerSnapshot>, LedgerError>;

    /// `None` when the project was deleted.
    async fn version(&mut self, project: i64) -> Result<Option<i64>, LedgerError>;

    /// The days from `first` to before `end` with reads, in order.
    async fn days(&mut self, project: i64, first: i64, end: i64) -> Result<Vec<DayRecord>, LedgerError>;

    /// The first day from `from` on that has or had views.
    async fn next_day(&mut self, project: i64, from: i64) -> Result<Option<i64>, LedgerError>;

    /// Records that views of these days were shipped; the value says whether some are reads.
    async fn touch_days(
        &mut self,
        project: i64,
        days: &[(i64, bool)],
        raw_from_day: i64,
    ) -> Result<(), LedgerError>;

    /// Locks a day's distinct readers.
    async fn lock_visitors(&mut self, project: i64, day: i64) -> Result<Option<Vec<u8>>, LedgerError>;

    async fn set_visitors(&mut self, project: i64, day: i64, visitors: &[u8]) -> Result<(), LedgerError>;

    /// Stores counted readers, unless the day changed since, or another server has stored them. It may have deleted the
    /// raw events after that.
    async fn store_visitors(
        &mut self,
        project: i64,
        day: &DayRecord,
        visitors: &[u8],
    ) -> Result<(), LedgerError>;
}

/// Changes projects and rewrites days, under a lease.
#[async_trait]
pub trait Projects: Send {
    async fn progress(&mut self, project: &str, file: &str) -> Result<Option<Progress>, LedgerError>;

    /// Leases a project. Returns its id, `None` if it does not exist; fails to lease with `Some(None)` while another
    /// server has it.
    async fn lease_project(
        &mut self,
        project: &str,
        lease: &str,
        lease_ms: i64,
    ) -> Result<Option<Option<i64>>, LedgerError>;

    /// Extends a lease, or ends it with 0. Returns false if the lease was lost.
    async fn extend_lease(&mut self, project: i64, lease: &str, lease_ms: i64) -> Result<bool, LedgerError>;

    /// A number that no earlier rewrite of the day had.
    async fn next_generation(&mut self, project: i64, day: i64) -> Result<i64, LedgerError>;

    /// Makes the rows of a generation the ones that count, and sets or clears the distinct readers.
    async fn set_generation(
        &mut self,
        project: i64,
        day: i64,
        generation: i64,
        visitors: Option<&[u8]>,
    ) -> Result<(), LedgerError>;

    /// The days that ClickHouse may have old rows of, with their generations.
    async fn dirty_days(&mut self, project: i64) -> Result<Vec<(i64, i64)>, LedgerError>;

    async fn clean_days(&mut self, project: i64, days: &[(i64, i64)]) -> Result<(), LedgerError>;

    /// The projects with raw events before a day, or with old rows.
    async fn due_projects(&mut self, raw_from_day: i64) -> Result<Vec<String>, LedgerError>;

    /// Moves where raw events begin. Never back.
    async fn move_raw_from(&mut self, project: i64, raw_from: i64) -> Result<(), LedgerError>;

    /// Records that a project has no raw events before `raw_from` any more.
    async fn raw_deleted(&mut self, project: i64, raw_from_day: i64) -> Result<(), LedgerError>;

    async fn pages(&mut self, project: i64) -> Result<Vec<String>, LedgerError>;

    async fn remove_pages(&mut self, project: i64, paths: &[String]) -> Result<(), LedgerError>;

    /// Deletes a project, and records that ClickHouse still has its views.
    async fn forget(&mut self, project: &str) -> Result<Option<i64>, LedgerError>;

    /// The projects that were deleted before a time.
    async fn purges(&mut self, before: i64) -> Result<Vec<i64>, LedgerError>;

    /// Deletes event ids of a deleted project. Returns false while there are more.
    async fn purge_ids(&mut self, project: i64) -> Result<bool, LedgerError>;

    async fn purged(&mut self, project: i64) -> Result<(), LedgerError>;
}

/// Receives the page views of another store.
#[async_trait]
pub trait Transfers: Send {
    /// Creates a project with this id, unless it exists. `raw_from` is where its raw events begin.
    async fn create_project(&mut self, id: i64, name: &str, raw_from: i64) -> Result<(), LedgerError>;

    /// Adds the progress of files.
    async fn add_imports(&mut self, project: i64, files: &[(String, Progress)]) -> Result<(), LedgerError>;

    /// Adds event ids with the time of their receipt. No id may occur twice.
    async fn add_ids(&mut self, project: i64, ids: &[(IdHash, i64)]) -> Result<(), LedgerError>;

    /// The progress of files after one, in byte order.
    async fn imports(
        &mut self,
        project: i64,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<(String, Progress)>, LedgerError>;

    /// How many of these event ids were added with this time of receipt, or a later one.
    async fn count_known_ids(&mut self, project: i64, ids: &[(IdHash, i64)]) -> Result<u64, LedgerError>;

    /// The number of event ids from one, and below another one.
    async fn count_ids(
        &mut self,
        project: i64,
        from: &[u8],
        below: Option<&[u8]>,
    ) -> Result<u64, LedgerError>;

    /// How far a step of the move is.
    async fn step(&mut self, step: &str) -> Result<Option<String>, LedgerError>;

    async fn save_step(&mut self, step: &str, state: &str) -> Result<(), LedgerError>;
}
