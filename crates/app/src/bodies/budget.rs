//! Divides a number of bytes fairly between owners: organizations, or the addresses of clients without a key.
//!
//! An owner may use whatever is free. When nothing is free, an owner that has less than an equal share takes the bytes
//! of a body that is still being received for an owner that has more. A body that comes slowly also gives way to the
//! next body of its own owner. A body that was received keeps its bytes until the server is done with it.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use store::OrganizationId;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Unread;
use crate::address::client_address;
use crate::address_limit::network;
use crate::app::App;

/// How long an owner below its share waits for bytes that the server is working on.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// A body that needs longer than this for [`SLOW_BYTES`] is slow.
const SLOW_AFTER: Duration = Duration::from_secs(1);
const SLOW_BYTES: usize = 32 * 1024;

/// Who pays for a body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    Organization(OrganizationId),
    /// A client without a key or a session; those without a known address are one owner.
    Address(Option<IpAddr>),
}

impl Owner {
    /// The organization, if an extractor found one and left it in the request; otherwise the client's address.
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
    /// Bytes by owner; an owner without any is not in it.
    held: HashMap<Owner, usize>,
    /// Bodies that are being received, by number.
    receiving: BTreeMap<u64, Entry>,
    last_number: u64,
    /// Bodies by owner that wait for bytes, of owners below their share.
    waiting: HashMap<Owner, usize>,
}

struct Entry {
    owner: Owner,
    bytes: usize,
    buffer: Arc<Mutex<Buffer>>,
    cut: CancellationToken,
}

/// What came of a body so far.
struct Buffer {
    /// `None`: the bytes were taken for another body.
    bytes: Option<Vec<u8>>,
    /// When the last [`SLOW_BYTES`] were complete, and what came since.
    progress_at: Instant,
    progress: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Granted,
    /// The owner is below its share: the server will free bytes in a moment.
    Wait,
    Refused,
}

impl Budget {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State {
            capacity,
            free: capacity,
            held: HashMap::new(),
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

    /// For bytes that the server makes itself.
    pub(super) fn reserve(&self, owner: Owner) -> Reserved {
        Reserved { budget: self.clone(), owner, bytes: 0 }
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
    fn held(&self, owner: &Owner) -> usize {
        self.held.get(owner).copied().unwrap_or(0)
    }

    /// An equal part for each owner that has bytes or waits for some, and for `owner`.
    fn share(&self, owner: &Owner) -> usize {
        let waiting = self.waiting.keys().filter(|other| !self.held.contains_key(other));
        let others = self.held.keys().chain(waiting).filter(|other| *other != owner).count();
        self.capacity / (others + 1)
    }

    /// Gives `bytes` more to `owner`, for its body `number` if it is being received.
    fn reserve(&mut self, owner: &Owner, bytes: usize, number: Option<u64>) -> Decision {
        loop {
            let share = self.share(owner);
            let is_within = self.held(owner) + bytes <= share;
            if self.free >= bytes && (is_within || self.waiting.is_empty()) {
                self.free -= bytes;
                *self.held.entry(owner.clone()).or_default() += bytes;
                return Decision::Granted;
            }
            let of_others = if is_within { self.largest_above(share, owner) } else { None };
            match of_others.or_else(|| self.slow_of(owner, number)) {
                Some(victim) => self.evict(victim),
                None if is_within => return Decision::Wait,
                None => return Decision::Refused,
            }
        }
    }

    /// Of the owners above their share, the body that gives way: a slow one, or the largest.
    fn largest_above(&self, share: usize, owner: &Owner) -> Option<u64> {
        let above = self
            .receiving
            .iter()
            .filter(|(_, entry)| entry.owner != *owner && entry.bytes > 0 && self.held(&entry.owner) > share);
        let chosen = above.max_by_key(|(_, entry)| (lock(&entry.buffer).is_slow(), entry.bytes));
        chosen.map(|(number, _)| *number)
    }

    fn slow_of(&self, owner: &Owner, except: Option<u64>) -> Option<u64> {
        let slow = self.receiving.iter().find(|(number, entry)| {
            entry.owner == *owner
                && entry.bytes > 0
                && Some(**number) != except
                && lock(&entry.buffer).is_slow()
        });
        slow.map(|(number, _)| *number)
    }

    /// Frees the bytes here and now, so that the bound holds; the client hears of it afterwards.
    fn evict(&mut self, number: u64) {
        let Some(entry) = self.receiving.remove(&number) else { return };
        lock(&entry.buffer).bytes = None;
        entry.cut.cancel();
        self.release(&entry.owner, entry.bytes);
    }

    fn release(&mut self, owner: &Owner, bytes: usize) {
        self.free += bytes;
        if let Some(held) = self.held.get_mut(owner) {
            *held -= bytes;
            if *held == 0 {
                self.held.remove(owner);
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

    fn append(&mut self, more: &[u8], capacity: usize) -> Result<(), Unread> {
        let bytes = self.bytes.as_mut().ok_or(Unread::NoRoom)?;
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
    /// Ends when the bytes are needed for another body.
    pub(super) cut: CancellationToken,
    length: usize,
    reserved: usize,
}

impl Receiving {
    pub(super) async fn push(&mut self, more: &[u8], limit: usize) -> Result<(), Unread> {
        let needed = self.length + more.len();
        if needed > limit {
            return Err(Unread::TooLarge);
        }
        if needed > self.reserved {
            let capacity = super::capacity_for(needed, limit);
            let waiting = timeout(MAX_WAIT, self.grow(capacity - self.reserved));
            waiting.await.unwrap_or(Err(Unread::NoRoom))?;
            self.reserved = capacity;
        }
        lock(&self.buffer).append(more, self.reserved)?;
        self.length = needed;
        Ok(())
    }

    async fn grow(&self, bytes: usize) -> Result<(), Unread> {
        let mut waiting = None;
        loop {
            let mut freed = std::pin::pin!(self.budget.0.freed.notified());
            freed.as_mut().enable();
            match self.try_grow(bytes)? {
                Decision::Granted => return Ok(()),
                Decision::Refused => return Err(Unread::NoRoom),
                Decision::Wait => waiting = waiting.or_else(|| Some(Waiting::begin(self))),
            }
            freed.await;
        }
    }

    fn try_grow(&self, bytes: usize) -> Result<Decision, Unread> {
        let mut state = self.budget.state();
        if !state.receiving.contains_key(&self.number) {
            return Err(Unread::NoRoom);
        }
        let decision = state.reserve(&self.owner, bytes, Some(self.number));
        if decision == Decision::Granted
            && let Some(entry) = state.receiving.get_mut(&self.number)
        {
            entry.bytes += bytes;
        }
        Ok(decision)
    }

    /// The whole body; from now on its bytes are not taken for another one.
    pub(super) fn finish(self) -> Result<(Vec<u8>, Reserved), Unread> {
        let entry = self.budget.state().receiving.remove(&self.number).ok_or(Unread::NoRoom)?;
        let reserved =
            Reserved { budget: self.budget.clone(), owner: self.owner.clone(), bytes: entry.bytes };
        let bytes = lock(&self.buffer).bytes.take().ok_or(Unread::NoRoom)?;
        Ok((bytes, reserved))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let entry = self.budget.state().receiving.remove(&self.number);
        lock(&self.buffer).bytes = None;
        // Also after an eviction, which may have freed more than was needed.
        self.budget.release(&self.owner, entry.map_or(0, |entry| entry.bytes));
    }
}

/// While there is one, no owner gets more than its share.
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

/// Bytes that an owner has, until they are dropped.
pub struct Reserved {
    budget: Budget,
    owner: Owner,
    bytes: usize,
}

impl Reserved {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Unread> {
        match self.budget.state().reserve(&self.owner, bytes, None) {
            Decision::Granted => {
                self.bytes += bytes;
                Ok(())
            }
            Decision::Wait | Decision::Refused => Err(Unread::NoRoom),
        }
    }
}

impl Drop for Reserved {
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
