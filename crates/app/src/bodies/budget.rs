//! Divides a byte budget fairly between owners: organizations, or the addresses of clients without an API
//! key.
//!
//! An owner may use all free bytes. When none are free, an owner below an equal share evicts a body that is
//! still being received for an owner above it. A slow body is also evicted for the next body of its own
//! owner. A complete body keeps its bytes until the server is done with it.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use store::OrganizationId;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::BodyError;
use crate::address::client_address;
use crate::address_limit::network;
use crate::app::App;

/// How long an owner below its share waits for complete bodies to be processed.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// A body that needs longer than this for [`SLOW_BYTES`] is slow.
const SLOW_AFTER: Duration = Duration::from_secs(1);
const SLOW_BYTES: usize = 32 * 1024;

/// Who pays for a body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    Organization(OrganizationId),
    /// A client without an API key or a session. All clients without a known address are one owner.
    Address(Option<IpAddr>),
}

impl Owner {
    /// The organization, if an extractor stored one in the request; otherwise the client's address.
    pub fn of(parts: &Parts, app: &App) -> Self {
        let known = parts.extensions.get::<Self>().cloned();
        known.unwrap_or_else(|| Self::Address(client_address(parts, app).map(network)))
    }
}

#[derive(Clone)]
pub(super) struct Budget(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    freed: Notify,
}

struct State {
    capacity: usize,
    free: usize,
    /// Reserved bytes by owner. Owners without any are absent.
    reserved: HashMap<Owner, usize>,
    /// Bodies that are being received, by number.
    receiving: BTreeMap<u64, Entry>,
    last_number: u64,
    /// The number of bodies that wait for bytes, by owner. All owners are below their share.
    waiting: HashMap<Owner, usize>,
}

struct Entry {
    owner: Owner,
    bytes: usize,
    buffer: Arc<Mutex<Buffer>>,
    cut: CancellationToken,
}

/// The received part of a body.
struct Buffer {
    /// `None`: the body was evicted.
    bytes: Option<Vec<u8>>,
    /// When the last [`SLOW_BYTES`] were complete, and the number of bytes since then.
    progress_at: Instant,
    progress: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Granted,
    /// The owner is below its share, and the server will soon free bytes.
    Wait,
    Refused,
}

impl Budget {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State {
            capacity,
            free: capacity,
            reserved: HashMap::new(),
            receiving: BTreeMap::new(),
            last_number: 0,
            waiting: HashMap::new(),
        };
        Self(Arc::new(Shared { state: Mutex::new(state), freed: Notify::new() }))
    }

    pub(super) fn free(&self) -> usize {
        self.state().free
    }

    pub(super) fn receive(&self, owner: Owner) -> Receiving {
        let (buffer, cut) = (Arc::new(Mutex::new(Buffer::new())), CancellationToken::new());
        let entry = Entry { owner: owner.clone(), bytes: 0, buffer: buffer.clone(), cut: cut.clone() };
        let mut state = self.state();
        state.last_number += 1;
        let number = state.last_number;
        state.receiving.insert(number, entry);
        Receiving { budget: self.clone(), owner, number, buffer, cut, length: 0, reserved: 0 }
    }

    /// For bytes that the server produces itself.
    pub(super) fn reserve(&self, owner: Owner) -> Reservation {
        Reservation { budget: self.clone(), owner, bytes: 0 }
    }

    fn release(&self, owner: &Owner, bytes: usize) {
        self.state().release(owner, bytes);
        self.0.freed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn reserved_by(&self, owner: &Owner) -> usize {
        self.reserved.get(owner).copied().unwrap_or(0)
    }

    /// An equal share for `owner` and every other owner that has bytes or waits for some.
    fn share(&self, owner: &Owner) -> usize {
        let waiting = self.waiting.keys().filter(|other| !self.reserved.contains_key(other));
        let others = self.reserved.keys().chain(waiting).filter(|other| *other != owner).count();
        self.capacity / (others + 1)
    }

    /// Reserves `bytes` for `owner`. `number` is its body, if one is being received.
    fn reserve(&mut self, owner: &Owner, bytes: usize, number: Option<u64>) -> Decision {
        loop {
            let share = self.share(owner);
            let is_within = self.reserved_by(owner) + bytes <= share;
            if self.free >= bytes && (is_within || self.waiting.is_empty()) {
                self.free -= bytes;
                *self.reserved.entry(owner.clone()).or_default() += bytes;
                return Decision::Granted;
            }
            let other = if is_within { self.find_largest_above(share, owner) } else { None };
            match other.or_else(|| self.find_slow(owner, number)) {
                Some(victim) => self.evict(victim),
                None if is_within => return Decision::Wait,
                None => return Decision::Refused,
            }
        }
    }

    /// The body to evict of the owners above their share: a slow one, or the largest.
    fn find_largest_above(&self, share: usize, owner: &Owner) -> Option<u64> {
        let above = self.receiving.iter().filter(|(_, entry)| {
            entry.owner != *owner && entry.bytes > 0 && self.reserved_by(&entry.owner) > share
        });
        let chosen = above.max_by_key(|(_, entry)| (lock(&entry.buffer).is_slow(), entry.bytes));
        chosen.map(|(number, _)| *number)
    }

    fn find_slow(&self, owner: &Owner, except: Option<u64>) -> Option<u64> {
        let slow = self.receiving.iter().find(|(number, entry)| {
            entry.owner == *owner
                && entry.bytes > 0
                && Some(**number) != except
                && lock(&entry.buffer).is_slow()
        });
        slow.map(|(number, _)| *number)
    }

    /// Frees the bytes immediately, so that the budget holds. The client gets its error afterwards.
    fn evict(&mut self, number: u64) {
        let Some(entry) = self.receiving.remove(&number) else { return };
        lock(&entry.buffer).bytes = None;
        entry.cut.cancel();
        self.release(&entry.owner, entry.bytes);
    }

    fn release(&mut self, owner: &Owner, bytes: usize) {
        self.free += bytes;
        if let Some(reserved) = self.reserved.get_mut(owner) {
            *reserved -= bytes;
            if *reserved == 0 {
                self.reserved.remove(owner);
            }
        }
    }
}

impl Buffer {
    fn new() -> Self {
        Self { bytes: Some(Vec::new()), progress_at: Instant::now(), progress: 0 }
    }

    fn is_slow(&self) -> bool {
        self.progress_at.elapsed() >= SLOW_AFTER
    }

    fn append(&mut self, more: &[u8], capacity: usize) -> Result<(), BodyError> {
        let bytes = self.bytes.as_mut().ok_or(BodyError::OverBudget)?;
        bytes.reserve_exact(capacity.saturating_sub(bytes.len()).max(more.len()));
        bytes.extend_from_slice(more);
        self.progress += more.len();
        if self.progress >= SLOW_BYTES {
            (self.progress, self.progress_at) = (0, Instant::now());
        }
        Ok(())
    }
}

/// A body that is being received, until it is complete or dropped.
pub(super) struct Receiving {
    budget: Budget,
    owner: Owner,
    number: u64,
    buffer: Arc<Mutex<Buffer>>,
    /// Ends when the body is evicted.
    pub(super) cut: CancellationToken,
    length: usize,
    reserved: usize,
}

impl Receiving {
    pub(super) async fn push(&mut self, more: &[u8], limit: usize) -> Result<(), BodyError> {
        let needed = self.length + more.len();
        if needed > limit {
            return Err(BodyError::TooLarge);
        }
        if needed > self.reserved {
            let capacity = super::capacity_for(needed, limit);
            let waiting = timeout(MAX_WAIT, self.grow(capacity - self.reserved));
            waiting.await.unwrap_or(Err(BodyError::OverBudget))?;
            self.reserved = capacity;
        }
        lock(&self.buffer).append(more, self.reserved)?;
        self.length = needed;
        Ok(())
    }

    async fn grow(&self, bytes: usize) -> Result<(), BodyError> {
        let mut waiting = None;
        loop {
            let mut freed = std::pin::pin!(self.budget.0.freed.notified());
            freed.as_mut().enable();
            match self.try_grow(bytes)? {
                Decision::Granted => return Ok(()),
                Decision::Refused => return Err(BodyError::OverBudget),
                Decision::Wait => waiting = waiting.or_else(|| Some(Waiting::begin(self))),
            }
            freed.await;
        }
    }

    fn try_grow(&self, bytes: usize) -> Result<Decision, BodyError> {
        let mut state = self.budget.state();
        if !state.receiving.contains_key(&self.number) {
            return Err(BodyError::OverBudget);
        }
        let decision = state.reserve(&self.owner, bytes, Some(self.number));
        if decision == Decision::Granted
            && let Some(entry) = state.receiving.get_mut(&self.number)
        {
            entry.bytes += bytes;
        }
        Ok(decision)
    }

    /// Returns the whole body, which can't be evicted anymore.
    pub(super) fn finish(self) -> Result<(Vec<u8>, Reservation), BodyError> {
        let entry = self.budget.state().receiving.remove(&self.number).ok_or(BodyError::OverBudget)?;
        let reservation =
            Reservation { budget: self.budget.clone(), owner: self.owner.clone(), bytes: entry.bytes };
        let bytes = lock(&self.buffer).bytes.take().ok_or(BodyError::OverBudget)?;
        Ok((bytes, reservation))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let entry = self.budget.state().receiving.remove(&self.number);
        lock(&self.buffer).bytes = None;
        // Notifies waiters also after an eviction, which may have freed more than needed.
        self.budget.release(&self.owner, entry.map_or(0, |entry| entry.bytes));
    }
}

/// While a body waits, no owner gets more than its share.
struct Waiting<'a>(&'a Receiving);

impl<'a> Waiting<'a> {
    fn begin(body: &'a Receiving) -> Self {
        *body.budget.state().waiting.entry(body.owner.clone()).or_default() += 1;
        Self(body)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waiting = &mut self.0.budget.state().waiting;
        if let Some(count) = waiting.get_mut(&self.0.owner) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.0.owner);
            }
        }
    }
}

/// Bytes that are reserved for an owner until this is dropped.
pub struct Reservation {
    budget: Budget,
    owner: Owner,
    bytes: usize,
}

impl Reservation {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), BodyError> {
        match self.budget.state().reserve(&self.owner, bytes, None) {
            Decision::Granted => {
                self.bytes += bytes;
                Ok(())
            }
            Decision::Wait | Decision::Refused => Err(BodyError::OverBudget),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(&self.owner, self.bytes);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
