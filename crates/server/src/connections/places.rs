//! Who has a place, and who gives it up when there is none left: the connection that has waited
//! for its client longest. One that the server works for is never cut off.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

pub(super) struct Places {
    free: Arc<Semaphore>,
    line: Arc<Mutex<Line>>,
}

/// Connections that wait for their clients, by ticket: the lowest has waited longest.
#[derive(Default)]
struct Line {
    last: u64,
    waiting: BTreeMap<u64, CancellationToken>,
}

/// One connection's place, until it is dropped.
pub(super) struct Place {
    line: Arc<Mutex<Line>>,
    /// Its last ticket. Read and written under the line's lock.
    ticket: AtomicU64,
    cut: CancellationToken,
    _free: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), line: Arc::default() }
    }

    /// `None` when every place is taken by somebody whom the server works for.
    pub(super) async fn enter(&self) -> Option<Place> {
        if self.free.available_permits() == 0 {
            let (_, cut) = lock(&self.line).waiting.pop_first()?;
            cut.cancel();
        }
        let free = self.free.clone().acquire_owned().await.ok()?;
        let (line, cut) = (self.line.clone(), CancellationToken::new());
        let place = Place { line, ticket: AtomicU64::new(0), cut, _free: free };
        place.wait();
        Some(place)
    }
}

impl Place {
    /// It is the client's turn: to send something, or to read.
    pub(super) fn wait(&self) {
        let mut line = lock(&self.line);
        line.last += 1;
        let ticket = line.last;
        let before = self.ticket.swap(ticket, Relaxed);
        line.waiting.remove(&before);
        line.waiting.insert(ticket, self.cut.clone());
    }

    /// It is the server's turn.
    pub(super) fn work(&self) {
        lock(&self.line).waiting.remove(&self.ticket.load(Relaxed));
    }

    /// Ends when the place is needed for another connection.
    pub(super) fn cut(&self) -> CancellationToken {
        self.cut.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.work();
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Ends the connection of each place that is cut off, as its task does.
    async fn newcomer(places: &Places, held: &mut Vec<Option<Place>>) -> Option<usize> {
        let before: Vec<_> = held.iter().map(|place| place.as_ref().map(Place::cut)).collect();
        let entering = places.enter();
        tokio::pin!(entering);
        let first = futures_util::future::poll_immediate(&mut entering).await;
        let out = before.iter().position(|cut| cut.as_ref().is_some_and(CancellationToken::is_cancelled));
        if let Some(out) = out {
            held[out] = None;
        }
        let entered = match first {
            Some(entered) => entered,
            None => entering.await,
        };
        held.push(Some(entered?));
        out
    }

    #[tokio::test]
    async fn who_waited_longest_gives_way() {
        let (places, mut held) = (Places::new(3), Vec::new());
        for _ in 0..3 {
            assert_eq!(newcomer(&places, &mut held).await, None);
        }
        held[0].as_ref().unwrap().wait(); // its request has come
        assert_eq!(newcomer(&places, &mut held).await, Some(1));
        held[2].as_ref().unwrap().work();
        assert_eq!(newcomer(&places, &mut held).await, Some(0));
        assert_eq!(newcomer(&places, &mut held).await, Some(3), "the one at work stays");
        held[2].as_ref().unwrap().wait();
        assert_eq!(newcomer(&places, &mut held).await, Some(4), "it is last in line again");
        assert_eq!(newcomer(&places, &mut held).await, Some(5));
        assert_eq!(newcomer(&places, &mut held).await, Some(2));
    }

    #[tokio::test]
    async fn when_all_are_at_work_nobody_enters() {
        let places = Places::new(1);
        let only = places.enter().await.unwrap();
        only.work();
        assert!(places.enter().await.is_none());
        drop(only);
        assert!(places.enter().await.is_some());
    }
}
