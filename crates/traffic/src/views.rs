//! The storage trait of page views. Every backend passes `tests/it/views.rs`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machine::Trouble;

use crate::event::Event;
use crate::list_query::ListQuery;
use crate::range::Range;

#[async_trait]
pub trait Views: Send + Sync {
    /// Ingests a batch, all or nothing; it is on disk when this returns. An event id counts once per project
    /// within seven days of its first receipt, by the backend's clock, also within one batch. Events without
    /// an id always count.
    async fn ingest(&self, project: &str, events: Vec<Event>) -> Result<Receipt, IngestError>;

    /// Like [`Views::ingest`], and records in the same transaction that this part of the file was imported.
    /// Refuses every part except the next one of its file.
    async fn ingest_part(
        &self,
        project: &str,
        part: FilePart,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError>;

    /// How far a file was imported; `None` if not at all.
    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure>;

    /// Counts the reads in `range`. Pages are in the order of the query, then in byte order of their paths.
    /// Pages without human or AI reads are left out. The totals include every page that matches the query,
    /// not only the listed ones. Totals and list are consistent with each other.
    async fn count(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Counts, Failure>;

    /// Counts the distinct readers of each UTC day that begins in `range`, and sums the days: a reader of two
    /// days counts twice. Pages are ordered as in [`Views::count`]. The totals are those of the site,
    /// whatever the path filter, because readers of several pages cannot be added up. A query for no pages
    /// costs much less.
    async fn visitors(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Visitors, Failure>;

    /// Deletes everything of a project, including event ids and import progress.
    async fn forget(&self, project: &str) -> Result<(), Failure>;

    /// Removes deleted data from the files, including the write-ahead log. Returns false when a reader blocks
    /// this: try again later.
    async fn checkpoint(&self) -> Result<bool, Failure> {
        Ok(true)
    }

    /// The epoch in which a server stored page views in this backend last. `None`: no server that shares a database with
    /// others has.
    async fn epoch(&self) -> Result<Option<i64>, Failure> {
        Ok(None)
    }

    async fn set_epoch(&self, _epoch: i64) -> Result<(), Failure> {
        Ok(())
    }

    /// How many acknowledged views no report could read from the column store yet. Always none for a backend that has
    /// only one store.
    async fn health(&self) -> Result<Lag, Failure> {
        Ok(Lag::default())
    }

    /// Writes the queued batches and closes the database for every clone. Bounded in time; acknowledged views
    /// are never lost.
    async fn close(&self);
    /// Tests whether the disk takes writes. Fails also when the database file was replaced.
    async fn probe_write(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The views that wait for the column store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lag {
    pub waiting_events: u64,
    /// How long ago the oldest of them was received.
    pub oldest_age: Option<Duration>,
    /// Whether the column store does not answer, so that reports fail.
    pub engine_is_away: bool,
}

/// `accepted` counts stored events and duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    pub accepted: u64,
    pub duplicates: u64,
}

/// How much of a file was imported, and the hash of these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub bytes: u64,
    pub hash: String,
}

/// A part of an imported file: its first byte, and the progress after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// Identifies the file independently of its name.
    pub file: String,
    pub from: u64,
    pub to: Progress,
}

/// Reads by humans and by AI assistants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub human: u64,
    pub ai: u64,
}

impl Tally {
    pub fn total(&self) -> u64 {
        self.human + self.ai
    }

    pub(crate) fn add(&mut self, human: u64, ai: u64) {
        self.human += human;
        self.ai += ai;
    }

    pub(crate) fn subtract(&mut self, human: u64, ai: u64) {
        self.human = self.human.saturating_sub(human);
        self.ai = self.ai.saturating_sub(ai);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCount {
    pub path: String,
    pub human: u64,
    pub ai: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    pub totals: Tally,
    pub pages: Vec<PageCount>,
    pub has_more: bool,
}

/// Distinct readers. A visitor that is both human and AI counts once in `total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readers {
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

impl Readers {
    pub(crate) fn add(&mut self, other: &Readers) {
        self.human += other.human;
        self.ai += other.ai;
        self.total += other.total;
    }
}

/// The distinct readers of the site and of each page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visitors {
    pub totals: Readers,
    pub pages: Vec<(String, Readers)>,
    pub has_more: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// Nothing of the batch was stored; the sender may retry.
    #[error("too many page views are waiting to be written. Try again in a moment")]
    Busy,
    /// Nothing of the batch was stored, because it is not the next part of its file.
    #[error("the file was imported up to byte {0}")]
    UnexpectedPart(u64),
    /// Nothing of the batch counts, because another server has taken the page views over.
    #[error("another server stores the page views now")]
    Elsewhere,
    /// The database that says which server stores page views doesn't answer.
    #[error(transparent)]
    Unavailable(Failure),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// The disk or the database failed. The cause is for the operator.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the page views could not be read or written")]
pub struct Failure(#[source] Arc<dyn Error + Send + Sync>);

impl Failure {
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(cause.into()))
    }

    /// Set when the machine was the cause, such as a full disk. A retry succeeds after that.
    pub fn trouble(&self) -> Option<Trouble> {
        Trouble::find(self)
    }

    /// Whether a database of the page views does not answer. A retry succeeds after that.
    pub fn is_unavailable(&self) -> bool {
        self.0.is::<Unavailable>()
    }

    /// Whether the cause of an error is that a database of the page views does not answer.
    pub fn is_unavailable_in(error: &(dyn Error + 'static)) -> bool {
        is_caused_by::<Unavailable>(error)
    }

    /// Whether the report has more rows than the server can read. One of a shorter range succeeds.
    pub fn is_too_large(&self) -> bool {
        self.0.is::<TooLarge>()
    }

    /// Whether the cause of an error is that a report is too large.
    pub fn is_too_large_in(error: &(dyn Error + 'static)) -> bool {
        is_caused_by::<TooLarge>(error)
    }
}

fn is_caused_by<E: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    let cause = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
    cause.is_some_and(|cause| cause.is::<E>()) || error.source().is_some_and(is_caused_by::<E>)
}

/// A database of the page views does not answer, or is not ready.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unavailable(pub(crate) String);

/// A report has too many rows.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TooLarge(pub(crate) String);

/// A failure with its cause, for the log.
pub(crate) fn with_cause(failure: &Failure) -> String {
    failure.source().map_or_else(|| failure.to_string(), |cause| format!("{failure}: {cause}"))
}
