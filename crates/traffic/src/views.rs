//! What keeping page views promises, whatever keeps them. Every backend passes
//! `tests/it/views.rs`: a promise is written here once and tested there once.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use machine::Trouble;

use crate::event::Event;
use crate::portion::Portion;
use crate::range::Range;

#[async_trait]
pub trait Views: Send + Sync {
    /// Takes a batch, all or nothing; it is on disk when this returns. An event id counts once
    /// in a project within seven days of its first receipt, by the backend's clock, also within
    /// one batch. Events without an id always count.
    async fn take(&self, project: &str, events: Vec<Event>) -> Result<Receipt, TakeError>;

    /// Takes a batch as [`Views::take`] does, and notes with it that the part of the file that it
    /// is made of was read. Refuses every part but the next one of its file.
    async fn take_part(&self, project: &str, part: Part, events: Vec<Event>) -> Result<Receipt, TakeError>;

    /// Up to where a file was read; `None` if nothing of it was.
    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure>;

    /// Counts the reads in `range`. Pages come by total, if nothing else is asked for, the largest
    /// first, then by the bytes of their path; a page that nobody counted as human or AI read is not
    /// among them. The totals are those of every page that the portion's path fits, and not of the
    /// list's, and both are of one instant.
    async fn count(&self, project: &str, range: &Range, portion: &Portion) -> Result<Counts, Failure>;

    /// Counts the distinct readers of each UTC day that begins in `range`, and adds the days up:
    /// who comes on two days is two. Pages come as in [`Views::count`]; the totals are the site's,
    /// whatever path is asked for, because readers of several pages cannot be added up. Totals alone,
    /// with no page, cost much less.
    async fn visitors(&self, project: &str, range: &Range, portion: &Portion) -> Result<Visitors, Failure>;

    /// Leaves nothing of a project, its event ids and files included.
    async fn forget(&self, project: &str) -> Result<(), Failure>;

    /// Leaves nothing of what was deleted in the files, of which a log of writes may be one. False when a reader is in
    /// the way: try again later.
    async fn checkpoint(&self) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Writes what is queued and closes the database, for every holder. Bounded in time; what was acknowledged stays,
    /// also when the time runs out.
    async fn close(&self);
    /// Writes something that changes nothing, and returns when it is on the disk. Fails also when the file is not the
    /// one any more that was opened.
    async fn prove_write(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// `accepted` is what was stored and what was known already, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipt {
    pub accepted: u64,
    pub duplicates: u64,
}

/// How much of a file was read, and the hash of that much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub bytes: u64,
    pub hash: String,
}

/// A part of a file, from a byte to where its reader will be then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// By which the file's reader knows it again, whatever its name is.
    pub file: String,
    pub from: u64,
    pub to: Progress,
}

/// Reads by people, and by assistants acting for them.
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

    pub(crate) fn take(&mut self, human: u64, ai: u64) {
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

/// Distinct readers. Someone who is a human and an AI reader is one of `total`.
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visitors {
    pub totals: Readers,
    pub pages: Vec<(String, Readers)>,
    pub has_more: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Nothing of the batch was kept; the sender may try again.
    #[error("too many page views are waiting to be written: try again in a moment")]
    Busy,
    /// Nothing of the batch was kept: it is not the next part of its file.
    #[error("the file was read up to byte {0}")]
    NotNext(u64),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// The disk or the database failed. The cause is for the operator.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the page views could not be read or written")]
pub struct Failure(#[source] Arc<dyn Error + Send + Sync>);

impl Failure {
    pub(crate) fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(cause.into()))
    }

    /// The machine's, if that was the cause: the same works once it is over.
    pub fn trouble(&self) -> Option<Trouble> {
        Trouble::find(self)
    }
}
