//! Limits the number of connections with slots.
//!
//! When all slots are in use, the connection that has waited longest for its client is closed. A connection
//! that the server works for is never closed. A connection that just started to wait isn't either, because a
//! busy server may not have read the client's bytes yet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, Instant, timeout};
use tokio_util::sync::CancellationToken;

/// A connection may always wait this long for its client.
const GRACE_PERIOD: Duration = Duration::from_millis(500);
/// How long a new connection waits for a slot.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Slots {
    semaphore: Arc<Semaphore>,
    waiting: Arc<Mutex<WaitList>>,
}

/// Connections that wait for their clients, by ticket. The lowest ticket has waited longest.
#[derive(Default)]
struct WaitList {
    last_ticket: u64,
    connections: BTreeMap<u64, (Instant, CancellationToken)>,
}

/// The slot of one connection, until it's dropped.
pub(super) struct Slot {
    waiting: Arc<Mutex<WaitList>>,
    /// The last ticket. Read and written under the lock of the list.
    ticket: AtomicU64,
    cut: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        Self { semaphore: Arc::new(Semaphore::new(max)), waiting: Arc::default() }
    }

    /// `None` when no slot becomes free, because the server works for all connections.
    pub(super) async fn acquire(&self) -> Option<Slot> {
        let permit = timeout(ACQUIRE_TIMEOUT, self.acquire_permit()).await.ok()??;
        let (waiting, cut) = (self.waiting.clone(), CancellationToken::new());
        let slot = Slot { waiting, ticket: AtomicU64::new(0), cut, _permit: permit };
        slot.wait_for_client();
        Some(slot)
    }

    async fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            let pause =
                if self.semaphore.available_permits() == 0 { self.cut_oldest() } else { GRACE_PERIOD };
            if let Ok(permit) = timeout(pause, self.semaphore.clone().acquire_owned()).await {
                return permit.ok();
            }
        }
    }

    /// Closes the connection that waited longest, if its grace period is over. Returns when to try again.
    fn cut_oldest(&self) -> Duration {
        let mut list = lock(&self.waiting);
        let Some(first) = list.connections.first_entry() else { return GRACE_PERIOD };
        match GRACE_PERIOD.checked_sub(first.get().0.elapsed()) {
            Some(left) if !left.is_zero() => left,
            _ => {
                first.remove().1.cancel();
                GRACE_PERIOD
            }
        }
    }
}

impl Slot {
    /// The server waits until the client sends or reads something.
    pub(super) fn wait_for_client(&self) {
        let mut list = lock(&self.waiting);
        list.last_ticket += 1;
        let ticket = list.last_ticket;
        let previous = self.ticket.swap(ticket, Relaxed);
        list.connections.remove(&previous);
        list.connections.insert(ticket, (Instant::now(), self.cut.clone()));
    }

    /// The server works for the client.
    pub(super) fn begin_work(&self) {
        lock(&self.waiting).connections.remove(&self.ticket.load(Relaxed));
    }

    /// Ends when another connection needs the slot.
    pub(super) fn cut(&self) -> CancellationToken {
        self.cut.clone()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.begin_work();
    }
}

fn lock(list: &Mutex<WaitList>) -> MutexGuard<'_, WaitList> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Adds a connection, and ends the connection that is closed for it, as its task does. Returns the index
    /// of that one.
    async fn connect(slots: &Slots, open: &mut Vec<Option<Slot>>) -> Option<usize> {
        let mut closed = None;
        let end_cut_connection = async {
            while closed.is_none() {
                tokio::time::sleep(GRACE_PERIOD / 10).await;
                let is_cut = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.cut.is_cancelled());
                closed = open.iter().position(is_cut);
            }
            open[closed.unwrap()] = None;
            std::future::pending().await
        };
        let acquired = tokio::select! {
            acquired = slots.acquire() => acquired,
            () = end_cut_connection => None,
        };
        open.push(Some(acquired?));
        closed
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_waited_longest_is_closed() {
        let (slots, mut open) = (Slots::new(3), Vec::new());
        for _ in 0..3 {
            assert_eq!(connect(&slots, &mut open).await, None);
        }
        open[0].as_ref().unwrap().wait_for_client(); // its request arrived
        assert_eq!(connect(&slots, &mut open).await, Some(1));
        open[2].as_ref().unwrap().begin_work();
        assert_eq!(connect(&slots, &mut open).await, Some(0));
        assert_eq!(connect(&slots, &mut open).await, Some(3), "a connection that the server works for stays");
        open[2].as_ref().unwrap().wait_for_client();
        assert_eq!(connect(&slots, &mut open).await, Some(4), "it has waited for the shortest time");
        assert_eq!(connect(&slots, &mut open).await, Some(5));
        assert_eq!(connect(&slots, &mut open).await, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn every_connection_has_a_grace_period() {
        let slots = Slots::new(1);
        let only = slots.acquire().await.unwrap();
        let (began, cut) = (Instant::now(), only.cut());
        let ending = async {
            cut.cancelled().await;
            drop(only);
        };
        let (acquired, ()) = tokio::join!(slots.acquire(), ending);
        assert!(acquired.is_some());
        assert_eq!(began.elapsed().as_millis(), GRACE_PERIOD.as_millis());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_refused_while_the_server_works_for_all_others() {
        let slots = Slots::new(1);
        let only = slots.acquire().await.unwrap();
        only.begin_work();
        let began = Instant::now();
        assert!(slots.acquire().await.is_none());
        assert_eq!(began.elapsed(), ACQUIRE_TIMEOUT);
        assert!(!only.cut().is_cancelled());
        drop(only);
        assert!(slots.acquire().await.is_some());
    }
}
