//! Idempotency keys and rate limits of requests.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::encoding::from_ms;
use crate::id::sha256;
use crate::{Actor, Job, Result};

/// The window of rate limits, in milliseconds.
pub(crate) const HOUR: i64 = 3_600_000;
/// How long the answer to a request with an idempotency key is replayed.
pub(crate) const ANSWER_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// An `Idempotency-Key` with the hash of its request.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub key: String,
    /// SHA-256 of the request's body: another request must not use the same key.
    pub request: Vec<u8>,
}

impl IdempotencyKey {
    pub fn new(key: &str, body: &[u8]) -> Self {
        Self { key: key.to_owned(), request: sha256(body) }
    }
}

/// A rate limit: at most `max` in an hour.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The name of the counter, such as the jobs of one project.
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

/// The usage of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub max: u32,
    pub left: u32,
    /// When the counter is reset, and how long that is from now.
    pub resets_at: Timestamp,
    pub left_for: SignedDuration,
}

/// Renders a job as the answer that is stored for a replay.
#[derive(Clone)]
pub struct Render(pub Arc<dyn Fn(&Job) -> String + Send + Sync>);

impl fmt::Debug for Render {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Render")
    }
}

/// The conditions of a request.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    pub once: Option<(IdempotencyKey, Render)>,
    pub limit: Option<Limit>,
    /// Recorded with a new job, and in the audit log of its organization.
    pub actor: Option<Actor>,
}

/// The result of a request with [`Terms`].
#[derive(Debug, Clone)]
pub enum Receipt {
    Done {
        job: Box<Job>,
        usage: Option<Usage>,
    },
    /// The answer to an earlier request with the same key. It is not counted.
    Replayed(String),
    /// Another request used the key before.
    KeyReused,
    LimitReached(Usage),
    /// The job's state forbids the request. The sentence says what to do.
    Refused(String),
}

#[async_trait]
pub trait Rates: Send + Sync {
    /// Counts one request. `Err`, without counting it, when the limit is reached.
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>>;
    /// The usage, if the limit is reached. Counts nothing.
    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>>;
}
