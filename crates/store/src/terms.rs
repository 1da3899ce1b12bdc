//! On what terms a request is taken: how often it may be made, and that it counts once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::encoding::from_ms;
use crate::id::sha256;
use crate::{Actor, Job, Result};

/// What limits are counted by, in milliseconds.
pub(crate) const HOUR: i64 = 3_600_000;
/// How long the answer to an idempotent request is kept.
pub(crate) const ANSWER_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// An `Idempotency-Key` with what it stands for.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub key: String,
    /// SHA-256 of the request's body: the key must not be used for another one.
    pub request: Vec<u8>,
}

impl IdempotencyKey {
    pub fn new(key: &str, body: &[u8]) -> Self {
        Self { key: key.to_owned(), request: sha256(body) }
    }
}

/// How often something may be done within an hour.
#[derive(Debug, Clone)]
pub struct Limit {
    /// What is counted together, such as the jobs of one project.
    pub bucket: String,
    pub max: u32,
}

impl Limit {
    pub(crate) fn usage(&self, used: u32, now: i64) -> Result<Usage> {
        let end = (now / HOUR + 1) * HOUR;
        Ok(Usage {
            max: self.max,
            left: self.max.saturating_sub(used),
            resets_at: from_ms(end)?,
            left_for: SignedDuration::from_millis(end - now),
        })
    }
}

/// How much of a limit is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub max: u32,
    pub left: u32,
    /// When the count begins anew, and how long that is from now.
    pub resets_at: Timestamp,
    pub left_for: SignedDuration,
}

/// Writes a job as the answer that is kept for a replay.
#[derive(Clone)]
pub struct Render(pub Arc<dyn Fn(&Job) -> String + Send + Sync>);

impl fmt::Debug for Render {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Render")
    }
}

#[derive(Debug, Clone, Default)]
pub struct Terms {
    pub once: Option<(IdempotencyKey, Render)>,
    pub limit: Option<Limit>,
    /// Who asks: recorded with a new job, and in the audit log of its organization.
    pub actor: Option<Actor>,
}

/// What became of a request that was made on terms.
#[derive(Debug, Clone)]
pub enum Receipt {
    Done {
        job: Box<Job>,
        usage: Option<Usage>,
    },
    /// The request was made before; this was the answer. It cost nothing.
    Replayed(String),
    /// The key was used before, for another request.
    KeyReused,
    LimitReached(Usage),
    /// The job's state forbids it; the sentence says what to do.
    Refused(String),
}

#[async_trait]
pub trait Rates: Send + Sync {
    /// Counts one more. `Err` when there was none left; that one is not counted.
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>>;
    /// The usage, if there is none left. Counts nothing.
    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>>;
}
